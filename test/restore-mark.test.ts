import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { restoreMarkOf, writeRestoreMark } from '../src/db/backup/restore-mark.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { findEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { openVault } from '../src/kernel/vault.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder, openOperator } from './harness/installation.ts'
import { type Served, startServed } from './harness/served.ts'
import { eventually } from './harness/service.ts'

/* Who controls the database can write files next to it: the mark of a restore counts by its signature. */

const place = newFolder()
const [dataDir, anchor] = [join(place.path, 'data'), join(place.path, 'anchor')]
const cluster = join(dataDir, 'postgres')
const masterKey = randomBytes(32)
/** Live: beside a sandbox, each of the starts would start a chain and providers, which no one asks here. */
const env: Record<string, string> = {
  ...{ MODE: 'live', BASE_URL: 'https://pay.example', METRICS_TOKEN: 'scrape-me-please', LOG_LEVEL: 'warn' },
  ...{ DATA_DIR: dataDir, AUDIT_ANCHOR_FILE: anchor, MASTER_KEY: masterKey.toString('base64') },
  ACCEPT_RISK: 'no-mail,no-channel,embedded-database',
}
const operator = openOperator()
let served: Served | undefined
after(async () => {
  await Promise.all([operator.close(), served?.end()])
  place.remove()
})

async function serve(): Promise<Served> {
  served = startServed(env)
  await served.ready()
  return served
}

async function withDb<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
  const db = openDb({ connectionString: (await findEmbeddedPostgres(dataDir)) ?? '', max: 1 })
  return work(db).finally(() => db.close())
}

const readMark = () =>
  withDb((db) =>
    db.one<{ held: boolean; entries: bigint }>(sql`
      select restored_at is not null and reconciled_at is null as held,
        (select count(*) from audit_log where action = 'audit.restored') as entries from installation`),
  )

/** The newest noted entry is this one, or a later one. */
const awaitNoted = (seq: bigint) =>
  eventually(
    async () => BigInt((existsSync(anchor) && readFileSync(anchor, 'utf8').trim().split(' ').at(-2)) || 0),
    (noted) => noted >= seq,
    25_000,
  )

const cutBehind = (db: Db, seq: bigint): Promise<unknown> =>
  db.tx(async (tx) => {
    await tx.run(sql`alter table audit_log disable trigger all`)
    await tx.run(sql`delete from audit_log where seq > ${seq}`)
    await tx.run(sql`update audit_head set (seq, hash) = (select seq, hash from audit_log order by seq desc limit 1)`)
    await tx.run(sql`alter table audit_log enable trigger all`)
  })

const run = (...args: string[]) => operator.run(args, env, place.path)

/** Entries, noted outside the database. @returns the last one */
async function work(count: number): Promise<bigint> {
  for (let turn = 0; turn < count; turn += 1) assert.equal((await run('admin', 'rotate-keys', '--yes')).code, 0)
  const { seq } = await withDb((db) => db.one<{ seq: bigint }>(sql`select seq from audit_head`))
  await awaitNoted(seq)
  return seq
}

const verify = () => run('audit', 'verify', '--anchor', anchor)

test('whoever has the database alone, without the master key, cuts the audit log and cannot excuse it', async () => {
  env.PORT = String(await freePort())
  putCluster(dataDir)
  const first = await serve()
  await work(4)
  await withDb(async (db) => {
    await cutBehind(db, 2n)
    const mark = { backupMadeAt: '2020-01-01T00:00:00.000Z', restoredAt: new Date().toISOString(), mac: 'a'.repeat(64) }
    await db.pool.query(`copy (select '${JSON.stringify(mark)}') to program 'cat > comptoir.restored'`)
  })
  await first.end()
  const second = await serve()
  assert.match(second.words(), /mark of a restore without the signature of this master key/)
  assert.deepEqual(await readMark(), { held: true, entries: 0n })
  const verdict = await verify()
  assert.equal(verdict.code, 1, verdict.out)
  await withDb((db) => db.run(sql`update installation set reconciled_at = now()`))
  await second.end('SIGTERM')
  const third = await serve()
  assert.match(third.words(), /It stays until you remove it/)
  assert.deepEqual(await readMark(), { held: false, entries: 0n }, 'the mark that stays holds nothing again')
  await third.end('SIGTERM')
})

test('a mark by a clock that was behind counts from its backup on, and one that is recorded holds nothing again', async () => {
  const first = await serve()
  const [backupMadeAt, restoredAt] = [new Date('2029-01-01T01:00:00Z'), new Date('2029-01-01T00:00:00Z')]
  await withDb((db) =>
    db.pool.query(
      `copy (select '${JSON.stringify({ backupMadeAt, restoredAt })}') to program 'cat > comptoir.restored'`,
    ),
  )
  await first.end('SIGTERM')
  const second = await serve()
  const { at } = await withDb((db) => db.one<{ at: Date }>(sql`select restored_at as at from installation`))
  assert.deepEqual([at, (await readMark()).held], [backupMadeAt, true])
  for (const recorded of [backupMadeAt, restoredAt]) {
    // an earlier version recorded the time of the mark itself
    await withDb((db) => db.run(sql`update installation set restored_at = ${recorded}, reconciled_at = now()`))
    await served?.end('SIGTERM')
    await serve()
    assert.equal((await readMark()).held, false)
  }
  assert.notEqual(served, second)
  await withDb((db) => db.pool.query("copy (select 1) to program 'rm comptoir.restored'"))
  await served?.end('SIGTERM')
})

test('a mark by the master key is finished by the next start, once: put back, it excuses nothing', async () => {
  const times = { backupMadeAt: new Date('2030-01-01'), restoredAt: new Date('2030-01-02') }
  const vault = openVault(masterKey)
  await writeRestoreMark(cluster, times, vault)
  const mark = readFileSync(restoreMarkOf(cluster), 'utf8')
  const first = await serve()
  assert.deepEqual(await readMark(), { held: true, entries: 1n })
  assert.equal(existsSync(restoreMarkOf(cluster)), false)
  await withDb(async (db) => {
    await db.run(sql`update installation set restored_at = null`)
    await db.pool.query(`copy (select '${mark}') to program 'cat > comptoir.restored'`)
  })
  await first.end('SIGTERM')
  const second = await serve()
  assert.deepEqual(await readMark(), { held: true, entries: 1n })
  await second.end('SIGTERM')
})

test('the copied mark of an honest restore excuses no later cut', async () => {
  const first = await serve()
  rmSync(anchor)
  const kept = await work(2)
  // planted long before: who updates the row of the installation leaves a copy of the mark
  await withDb((db) =>
    db.pool.query(`
      create function keep_mark() returns trigger language plpgsql as $$ begin
        execute 'copy (select pg_read_file(''comptoir.restored'')) to program ''cat > copied-mark''';
        return new;
      end $$;
      create trigger keep_mark before update on installation for each row
        when (new.restored_at is distinct from old.restored_at) execute function keep_mark()`),
  )
  await first.end('SIGTERM')
  const now = Date.now()
  const times = { backupMadeAt: new Date(now), restoredAt: new Date(now + 1000) }
  await writeRestoreMark(cluster, times, openVault(masterKey))
  const owner = statSync(join(cluster, 'PG_VERSION')) // as restored files have it
  chownSync(restoreMarkOf(cluster), owner.uid, owner.gid)
  const second = await serve()
  const copied = readFileSync(join(cluster, 'copied-mark'), 'utf8').trim()
  await withDb((db) => db.pool.query('drop trigger keep_mark on installation; drop function keep_mark'))
  await work(2) // what somebody wants to hide
  const honest = await verify()
  assert.equal(honest.code, 0, honest.out)
  await withDb(async (db) => {
    await cutBehind(db, kept)
    await db.run(sql`update installation set restored_at = null, reconciled_at = null`)
    await db.pool.query(`copy (select '${copied}') to program 'cat > comptoir.restored'`)
  })
  await second.end()
  const third = await serve()
  const verdict = await verify()
  assert.equal(verdict.code, 1, verdict.out)
  await third.end('SIGTERM')
})

test('a mark by a newer master key stays at a start without it, and is recorded once the key is there', async () => {
  const newer = randomBytes(32)
  await writeRestoreMark(cluster, { backupMadeAt: new Date(), restoredAt: new Date() }, openVault(newer))
  const owner = statSync(join(cluster, 'PG_VERSION'))
  chownSync(restoreMarkOf(cluster), owner.uid, owner.gid)
  const first = await serve()
  const { entries } = await readMark()
  assert.match(first.words(), /restored with a newer master key/)
  await withDb((db) => db.run(sql`update installation set reconciled_at = now()`))
  await first.end('SIGTERM')
  env.MASTER_KEY_PREVIOUS = env.MASTER_KEY ?? ''
  env.MASTER_KEY = newer.toString('base64')
  const second = await serve()
  assert.deepEqual(await readMark(), { held: false, entries: entries + 1n })
  assert.equal(existsSync(restoreMarkOf(cluster)), false)
  await second.end('SIGTERM')
})
