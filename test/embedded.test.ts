import assert from 'node:assert/strict'
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { assertDurable } from '../src/db/durable.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { processMark } from '../src/db/embedded/process.ts'
import { canReach } from '../src/db/embedded/system-user.ts'
import { putCluster } from './harness/cluster.ts'

const HOLDER = join(import.meta.dirname, 'harness/embedded-holder.ts')
const NOBODY = { uid: 65534, gid: 65534 }

/** Closed to others, as mkdtemp makes it, and with spaces in its name. */
const base = mkdtempSync(join(tmpdir(), 'comptoir embedded '))
after(() => rmSync(base, { recursive: true, force: true }))

const start = (dataDir: string, log: (line: string) => void = () => {}) => startEmbeddedPostgres({ dataDir, log })

async function query(connectionString: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

type Holder = { child: ChildProcess; connectionString: string; acknowledged(): number }

/** A data directory of this name, as an earlier start left it. */
function startedBefore(name: string): string {
  const dataDir = join(base, name)
  putCluster(dataDir)
  return dataDir
}

/** Another process that owns the data directory and writes rows; resolves when it has written some. */
async function hold(dataDir: string, options: SpawnOptions = {}): Promise<Holder> {
  const child = spawn(process.execPath, [HOLDER, dataDir], { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
  assert.ok(child.stdout)
  const lines = createInterface(child.stdout)
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`the process that should hold ${dataDir} ended with ${code}`)
  })
  ended.catch(() => {})
  const [connectionString] = (await Promise.race([once(lines, 'line'), ended])) as [string]
  let last = 0
  lines.on('line', (line) => {
    last = Number(line)
  })
  while (last < 5 && child.exitCode === null) await sleep(10)
  return { child, connectionString, acknowledged: () => last }
}

async function end({ child }: Holder, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'close')
  child.kill(signal)
  await ended
}

test('the first start makes a durable UTF-8 database with checksums, never of root; the second finds its data', async () => {
  const dataDir = join(base, 'twice')
  const first = await start(dataDir)
  assert.equal(statSync(base).mode & 0o077, 0, 'the folders above are closed to that user')
  assert.notEqual(statSync(join(dataDir, 'postgres')).uid, 0, 'for root it runs under another user')
  await assertDurable(first.connectionString)
  await query(first.connectionString, `create table note as select 'déjà' as text`)
  const settings = await query(
    first.connectionString,
    `select current_setting('server_encoding') as encoding,
    current_setting('data_checksums') as checksums, current_setting('listen_addresses') as addresses`,
  )
  assert.deepEqual(settings, [{ encoding: 'UTF8', checksums: 'on', addresses: '' }])
  await first.stop()
  const second = await start(dataDir)
  assert.deepEqual(await query(second.connectionString, 'select text from note'), [{ text: 'déjà' }])
  await second.stop()
  assert.equal(existsSync(join(dataDir, 'comptoir.lock')), false)
})

test('kill -9 of the owner stops no later start and loses no acknowledged row', async () => {
  const dataDir = startedBefore('killed')
  for (let round = 0; round < 3; round += 1) {
    const holder = await hold(dataDir)
    await end(holder, 'SIGKILL')
    const next = await start(dataDir)
    const [row] = await query(next.connectionString, 'select max(id) as newest from rows')
    assert.ok(Number(row?.newest) >= holder.acknowledged(), `${row?.newest} of ${holder.acknowledged()}`)
    await next.stop()
  }
})

test('kill -9 of the owner and of PostgreSQL at once loses no acknowledged row', async () => {
  const dataDir = startedBefore('both killed')
  const holder = await hold(dataDir)
  process.kill(postmaster(dataDir), 'SIGKILL')
  await end(holder, 'SIGKILL')
  const next = await start(dataDir)
  const [row] = await query(next.connectionString, 'select max(id) as newest from rows')
  assert.ok(Number(row?.newest) >= holder.acknowledged())
  await next.stop()
})

test('a server that outlived its owner, as where the kernel sends no death signal, is ended by the next start', async () => {
  const dataDir = startedBefore('orphaned')
  const holder = await hold(dataDir, { env: { PATH: '/nowhere' } })
  const orphan = postmaster(dataDir)
  await end(holder, 'SIGKILL')
  assert.notEqual(processMark(orphan), undefined)
  const lines: string[] = []
  const next = await start(dataDir, (line) => lines.push(line))
  assert.deepEqual(lines, [`PostgreSQL of an earlier start still runs (process ${orphan}); it is shut down first.`])
  const [row] = await query(next.connectionString, 'select max(id) as newest from rows')
  assert.ok(Number(row?.newest) >= holder.acknowledged())
  await next.stop()
})

test('a postmaster.pid whose number a stranger got stops no start', async () => {
  const dataDir = startedBefore('stranger')
  writeFileSync(
    join(dataDir, 'postgres/postmaster.pid'),
    `${process.ppid}\n${dataDir}/postgres\n1\n5432\n.\n\n  1 1\nready   \n`,
  )
  const next = await start(dataDir)
  await next.stop()
})

test('a second start on one data directory is refused with one line that names the owner', async () => {
  const dataDir = startedBefore('shared')
  const holder = await hold(dataDir)
  await assert.rejects(start(dataDir), {
    message: `Comptoir already runs on ${dataDir} as process ${holder.child.pid}. Stop it first, or choose another DATA_DIR.`,
  })
  const before = holder.acknowledged()
  await query(holder.connectionString, 'select 1')
  while (holder.acknowledged() === before) await sleep(10)
  await end(holder, 'SIGTERM')
  assert.equal(holder.child.exitCode, 0)
})

test('a server that dies by itself is started again under the same address', async () => {
  const dataDir = startedBefore('restarted')
  const lines: string[] = []
  const server = await start(dataDir, (line) => lines.push(line))
  await query(server.connectionString, 'create table note as select 1 as number')
  process.kill(postmaster(dataDir), 'SIGKILL')
  const ask = () => query(server.connectionString, 'select number from note').catch(() => [])
  while ((await ask()).length === 0) await sleep(50)
  await server.stop()
  assert.match(lines.join('\n'), /ended unexpectedly \(signal SIGKILL\) and is started again/)
})

test('its log names no statement and no value, is cut while the server runs, and it takes the connections of all processes', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const dataDir = startedBefore('talkative')
  // as an earlier version leaves it
  const earlier = await start(dataDir)
  await query(earlier.connectionString, 'alter role all reset all')
  await earlier.stop()
  const server = await startEmbeddedPostgres({ dataDir, log: assert.fail, processes: 17 })
  const log = join(dataDir, 'postgres.log')
  const ask = (text: string) => query(server.connectionString, text)
  assert.deepEqual(await ask('show max_connections'), [{ max_connections: '564' }])
  await ask('create table payer (email text unique)')
  const repeat = () => assert.rejects(ask(`insert into payer values ('ada@shop.example'), ('ada@shop.example')`))
  await repeat()
  assert.match(readFileSync(log, 'utf8'), /duplicate key value violates/)
  assert.doesNotMatch(readFileSync(log, 'utf8'), /ada@shop|insert into/)
  appendFileSync(log, `${'x'.repeat(11_000_000)}\n`)
  t.mock.timers.tick(10_000)
  while (statSync(log).size > 0) await sleep(10)
  await repeat()
  assert.ok(statSync(log).size < 10_000, 'the server goes on at the beginning')
  assert.equal(statSync(`${log}.1`).size, 10_000_000)
  // for root: the user who runs PostgreSQL puts a link where the next copy goes
  const secret = join(base, 'kept by root')
  writeFileSync(secret, 'secret')
  rmSync(`${log}.1`)
  symlinkSync(secret, `${log}.1`)
  appendFileSync(log, `${'x'.repeat(11_000_000)}\n`)
  t.mock.timers.tick(10_000)
  while (statSync(log).size > 0) await sleep(10)
  assert.equal(readFileSync(secret, 'utf8'), 'secret')
  await server.stop()
})

test('a path too long for a socket works', async () => {
  const server = await start(startedBefore('x'.repeat(120)))
  assert.deepEqual(await query(server.connectionString, 'select 1 as one'), [{ one: 1 }])
  await server.stop()
  const socketDir = new URL(server.connectionString).searchParams.get('host') ?? ''
  assert.equal(statSync(socketDir).mode & 0o777, 0o700)
  rmSync(socketDir, { recursive: true })
})

test('root gives the user who runs PostgreSQL no file of root that a link in his folder names', async () => {
  if (process.getuid?.() !== 0) {
    console.log('left out: a link in place of postgres.log, because we are not root')
    return
  }
  const dataDir = startedBefore('linked')
  const secret = join(base, 'secret of root')
  writeFileSync(secret, '', { mode: 0o600 })
  symlinkSync(secret, join(dataDir, 'postgres.log'))
  await assert.rejects(start(dataDir), /postgres\.log/)
  assert.equal(statSync(secret).uid, 0)
})

test('a database that PostgreSQL cannot start is explained with its last words', async () => {
  const dataDir = startedBefore('broken')
  rmSync(join(dataDir, 'postgres/global/pg_control'))
  await assert.rejects(start(dataDir), /PostgreSQL did not start \(code 2\)\. Its last words.*\n.*pg_control/s)
  assert.equal(existsSync(join(dataDir, 'comptoir.lock')), false)
})

test('where PostgreSQL says in a detail why it does not start, the message has it', async () => {
  const dataDir = startedBefore('of another version')
  const control = join(dataDir, 'postgres/global/pg_control')
  const bytes = readFileSync(control)
  // its own version comes after the eight bytes of the identifier
  bytes.writeUInt32LE(1300, 8)
  writeFileSync(control, bytes)
  await assert.rejects(start(dataDir), /database files are incompatible.*\n.*DETAIL: .*PG_CONTROL_VERSION 1300/s)
})

test('a database that gives up durability is refused, whichever setting does it', async () => {
  const server = await start(startedBefore('careless'))
  const set = (text: string) => query(server.connectionString, text)
  await set('alter database comptoir set synchronous_commit = off')
  await assert.rejects(assertDurable(server.connectionString), /synchronous_commit is off/)
  await set('alter database comptoir reset synchronous_commit')
  for (const name of ['fsync', 'full_page_writes']) {
    await set(`alter system set ${name} = off`)
    await set('select pg_reload_conf()')
    while ((await set(`select current_setting('${name}') as value`))[0]?.value !== 'off') await sleep(10)
  }
  await assert.rejects(assertDurable(server.connectionString), /fsync, full_page_writes is off/)
  await server.stop()
})

const isRoot = (): boolean => process.getuid?.() === 0

const postmaster = (dataDir: string): number =>
  Number.parseInt(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8'), 10)

if (isRoot() && canReach(NOBODY, import.meta.dirname) && canReach(NOBODY, tmpdir())) {
  test('an ordinary user runs it himself, and root later leaves him his data', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-nobody-'))
    chownSync(dataDir, NOBODY.uid, NOBODY.gid)
    const holder = await hold(dataDir, NOBODY)
    await end(holder, 'SIGTERM')
    const byRoot = await start(dataDir)
    assert.equal((await query(byRoot.connectionString, 'select from rows')).length, holder.acknowledged())
    await byRoot.stop()
    assert.equal(statSync(join(dataDir, 'postgres')).uid, NOBODY.uid)
    await end(await hold(dataDir, NOBODY), 'SIGTERM')
    rmSync(dataDir, { recursive: true })
  })
}
