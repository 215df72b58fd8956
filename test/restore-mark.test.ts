import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { restoreMarkOf, writeRestoreMark } from '../src/db/backup/restore-mark.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { findEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { openVault } from '../src/kernel/vault.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder, runOperator } from './harness/installation.ts'
import { type Served, startServed } from './harness/served.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'

/* Who controls the database can write files next to it: the mark of a restore counts by its signature. */

const place = newFolder()
const [dataDir, anchor] = [join(place.path, 'data'), join(place.path, 'anchor')]
const cluster = join(dataDir, 'postgres')
const env: Record<string, string> = {
  ...{ DATA_DIR: dataDir, AUDIT_ANCHOR_FILE: anchor, LOG_LEVEL: 'warn' },
  MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
}
let served: Served | undefined
after(async () => {
  await served?.end()
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

const verify = () => runOperator(['audit', 'verify', '--anchor', anchor], env)

test('whoever has the database alone, without the master key, cuts the audit log and cannot excuse it', async () => {
  env.PORT = String(await freePort())
  putCluster(dataDir)
  const first = await serve()
  for (let turn = 0; turn < 4; turn += 1)
    assert.equal((await runOperator(['admin', 'rotate-keys', '--yes'], env)).code, 0)
  const { seq } = await withDb((db) => db.one<{ seq: bigint }>(sql`select seq from audit_head`))
  await awaitNoted(seq)
  await withDb(async (db) => {
    await db.tx(async (tx) => {
      await tx.run(sql`alter table audit_log disable trigger all`)
      await tx.run(sql`delete from audit_log where seq > 2`)
      await tx.run(sql`update audit_head set (seq, hash) = (select seq, hash from audit_log order by seq desc limit 1)`)
      await tx.run(sql`alter table audit_log enable trigger all`)
    })
    const mark = { backupMadeAt: '2020-01-01T00:00:00.000Z', restoredAt: new Date().toISOString(), mac: 'a'.repeat(64) }
    await db.pool.query(`copy (select '${JSON.stringify(mark)}') to program 'cat > comptoir.restored'`)
  })
  await first.end()
  const second = await serve()
  assert.match(second.words(), /mark of a restore without the signature of this master key/)
  assert.equal(existsSync(restoreMarkOf(cluster)), false)
  assert.deepEqual(await readMark(), { held: true, entries: 0n })
  const verdict = await verify()
  assert.equal(verdict.code, 1, verdict.out)
  await second.end('SIGTERM')
})

test('a mark by the master key is finished by the next start, once: put back, it excuses nothing', async () => {
  const times = { backupMadeAt: new Date('2030-01-01'), restoredAt: new Date('2030-01-02') }
  const vault = openVault(TEST_MASTER_KEY)
  await writeRestoreMark(cluster, times, vault)
  const mark = readFileSync(restoreMarkOf(cluster), 'utf8')
  const first = await serve()
  assert.deepEqual(await readMark(), { held: true, entries: 1n })
  await withDb(async (db) => {
    await db.run(sql`update installation set restored_at = null`)
    await db.pool.query(`copy (select '${mark}') to program 'cat > comptoir.restored'`)
  })
  await first.end('SIGTERM')
  const second = await serve()
  assert.deepEqual(await readMark(), { held: true, entries: 1n })
  await second.end('SIGTERM')
})
