import assert from 'node:assert/strict'
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { processMark } from '../src/db/embedded/process.ts'
import { putCluster } from './harness/cluster.ts'

/* A server that replays its log is left alone, however long that takes. */

const base = mkdtempSync(join(tmpdir(), 'cr-'))
after(() => rmSync(base, { recursive: true, force: true }))

/** Far less than a replay here takes, and far more than a server that works needs for an answer. */
const PATIENCE = { silentMs: 1000, tellMs: 300 }

/** From its next start on it replays its log with this command, which PostgreSQL runs for each file it looks for. */
function replayWith(command: string, dataDir: string): void {
  const cluster = join(dataDir, 'postgres')
  const signal = join(cluster, 'recovery.signal')
  const { uid, gid } = statSync(cluster)
  appendFileSync(join(cluster, 'postgresql.auto.conf'), `restore_command = '${command}'\n`)
  writeFileSync(signal, '')
  chownSync(signal, uid, gid)
}

function startedBefore(name: string): string {
  const dataDir = join(base, name)
  putCluster(dataDir)
  return dataDir
}

async function isRecovering(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query<{ recovering: boolean }>('select pg_is_in_recovery() as recovering')
  await client.end()
  return rows[0]?.recovering ?? true
}

const postmaster = (dataDir: string): number | undefined => {
  const file = join(dataDir, 'postgres/postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) || undefined : undefined
}

async function awaitPostmaster(dataDir: string): Promise<number> {
  for (;;) {
    const pid = postmaster(dataDir)
    if (pid !== undefined) return pid
    await sleep(5)
  }
}

test('a start waits for a long replay, says how long it takes, and answers once all of it is replayed', async () => {
  const dataDir = startedBefore('slow')
  replayWith('sleep 1; false', dataDir)
  const lines: string[] = []
  const beganAt = Date.now()
  const server = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line), patience: PATIENCE })
  assert.ok(Date.now() - beganAt > PATIENCE.silentMs, 'the replay took longer than a silent server is given')
  assert.equal(await isRecovering(server.connectionString), false)
  assert.ok(lines.length > 1)
  for (const line of lines) assert.equal(line, 'PostgreSQL is replaying its log, 0 min so far.')
  await server.stop()
})

test('a server that dies in service replays its log for as long as it takes, and a stop does not wait for that', async () => {
  const dataDir = startedBefore('killed')
  const lines: string[] = []
  const server = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line), patience: PATIENCE })
  replayWith('sleep 600', dataDir)
  const first = await awaitPostmaster(dataDir)
  process.kill(first, 'SIGKILL')
  while (!lines.some((line) => /replaying its log/.test(line))) await sleep(50)
  const second = await awaitPostmaster(dataDir)
  assert.notEqual(second, first)
  await server.stop()
  assert.equal(processMark(second), undefined)
  assert.equal(lines.filter((line) => /did not start/.test(line)).length, 0)
})

test('a server that says nothing at all is ended, and the message tells so', async () => {
  const dataDir = startedBefore('silent')
  replayWith('sleep 600', dataDir)
  const starting = startEmbeddedPostgres({ dataDir, log: () => {}, patience: PATIENCE })
  const refused = assert.rejects(starting, /PostgreSQL did not start \(it did not answer\)\. Its last words/)
  const pid = await awaitPostmaster(dataDir)
  process.kill(pid, 'SIGSTOP')
  await refused
  assert.equal(processMark(pid), undefined)
  assert.equal(existsSync(join(dataDir, 'comptoir.lock')), false)
})
