import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import {
  findRestored,
  findUnreconciled,
  markRestored,
  noteServer,
  skippedOf,
  updateReconciledRestore,
} from '../src/db/restored-queries.ts'
import { MINUTE } from '../src/kernel/clock.ts'
import { waitForMail } from './harness/accounts.ts'
import { newTestXpub } from './harness/chain.ts'
import { putCluster } from './harness/cluster.ts'
import { newFolder } from './harness/installation.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'
import { copyAsStandby } from './harness/standby.ts'

/*
 * Real servers that fail over, one after the other: the service goes on at the same address. Its standbys lack what the
 * server before committed last.
 */
const places = newFolder()
const folderOf = (number: number): string => join(places.path, `${number}`)
const log = (): void => {}
const xpub = newTestXpub()

let number = 0
let primary: EmbeddedPostgres
let connectionString: string
let db: Db
let service: TestService

/** Where the service finds the server. */
function pointTo(server: EmbeddedPostgres): void {
  const draft = join(places.path, 'draft')
  symlinkSync(new URL(server.connectionString).searchParams.get('host') ?? assert.fail(), draft)
  renameSync(draft, join(places.path, 'now'))
}

async function ask<Row>({ connectionString }: EmbeddedPostgres, ...statements: string[]): Promise<Row | undefined> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    let row: Row | undefined
    for (const statement of statements) row = (await client.query(statement)).rows[0]
    return row
  } finally {
    await client.end()
  }
}

const assign = (reference: string) => {
  const watched = { companyId: 'c'.repeat(24), watchedUntil: new Date('2100-01-01') }
  return db.tx((tx) => assignDepositAddress(tx, { ...watched, xpub, reference }))
}

/** The primary ends after `last`, and a standby takes over that lacks it, unless commits wait for it. */
async function failOver<Last>(last: () => Promise<Last>, { isWaitedFor = false } = {}): Promise<Last> {
  const [from, to] = [folderOf(number), folderOf(number + 1)]
  mkdirSync(to, { mode: 0o711 })
  await copyAsStandby(primary, from, to)
  const standby = await startEmbeddedPostgres({ dataDir: to, log })
  const { lsn } = (await ask<{ lsn: string }>(primary, 'select pg_current_wal_lsn() as lsn')) ?? assert.fail()
  await eventually(
    () => ask<{ yes: boolean }>(standby, `select pg_last_wal_replay_lsn() >= '${lsn}' as yes`),
    (row) => row?.yes === true,
  )
  if (isWaitedFor) {
    await ask(primary, "alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()')
  } else {
    await ask(standby, "alter system set primary_conninfo = ''", 'select pg_reload_conf()')
    await eventually(
      () => ask<{ count: string }>(primary, 'select count(*) from pg_stat_replication'),
      (row) => row?.count === '0',
    )
  }
  const result = await last()
  await primary.stop()
  await ask(standby, 'select pg_promote()')
  primary = standby
  number += 1
  pointTo(standby)
  return result
}

before(async () => {
  // run by root, the servers belong to another account, which must reach each other's socket
  chmodSync(places.path, 0o711)
  putCluster(folderOf(0))
  primary = await startEmbeddedPostgres({ dataDir: folderOf(0), log })
  pointTo(primary)
  const url = new URL(primary.connectionString)
  url.searchParams.set('host', join(places.path, 'now'))
  connectionString = url.href
  db = openDb({ connectionString, max: 4 })
  await db.run(sql`insert into installation (mode, key_mark) values ('live', 'x')`)
  await noteServer(db)
  service = await startTestService({ connectionString, env: { OPERATOR_EMAIL: 'ops@shop.example' } })
})
after(async () => {
  await service?.stop()
  await db?.close()
  await primary?.stop()
  places.remove()
})

/** A server that has just taken over may take a moment. */
const afterwards = <Result>(work: () => Promise<Result>): Promise<Result | null> =>
  eventually(
    () => work().catch(() => null),
    (result) => result !== null,
  )

const alarms = () => service.logLines.filter((line) => line.includes('ALARM: Another database server took over'))
const waits = async () =>
  (await service.service.metrics.getSingleMetric('comptoir_restore_unreconciled')?.get())?.values[0]?.value

test('what a forgotten order was shown is given to no other, money waits for reconcile, and the operator is told once', async () => {
  const early = await assign('early')
  const lost = await failOver(() => assign('lost'))
  assert.equal(lost.index, early.index + 1)
  // before any node has marked it
  const held = await afterwards(() => findUnreconciled(db))
  assert.ok(held?.isTakeover && held.backupMadeAt < new Date())
  const given = await Promise.all(['one', 'two', 'three', 'four'].map(assign))
  const indexes = given.map(({ index }) => index).sort((left, right) => left - right)
  const [first = 0] = indexes
  assert.ok(first > lost.index + 1000, `${indexes}`)
  assert.deepEqual(indexes, [first, first + 1, first + 2, first + 3])
  const restored = (await findRestored(db)) ?? assert.fail()
  const [skipped] = skippedOf(restored.facts, [xpub])
  assert.deepEqual([skipped?.from, skipped?.to], [`${lost.index}`, `${first}`])

  await service.service.startWorkers()
  await waitForMail(service.baseUrl, 'ops@shop.example', /no refund and no settlement leaves.*comptoir reconcile/)
  assert.equal(await waits(), 1)
  assert.equal((await findUnreconciled(db))?.isTakeover, true)
  await updateReconciledRestore(db, restored, new Date())
  assert.deepEqual([await findUnreconciled(db), await waits()], [undefined, 0])
  assert.equal((await assign('later')).index, first + 4)
  assert.equal(alarms().length, 1)
})

test('a switchover for which commits waited skips numbers and stops nothing', async () => {
  const switchedAt = new Date()
  const last = await failOver(
    async () => {
      await noteServer(db)
      return assign('kept')
    },
    { isWaitedFor: true },
  )
  await eventually(
    async () => alarms().length,
    (count) => count === 2,
  )
  assert.equal(await findUnreconciled(db), undefined)
  const next = await assign('next')
  assert.ok(next.index > last.index + 1)
  assert.equal((await assign('after it')).index, next.index + 1)
  const { restoredAt } = (await findRestored(db)) ?? assert.fail()
  assert.ok(restoredAt < switchedAt, 'payouts wait for no mempool')
  // it was another standby after all
  const at = { backupMadeAt: new Date(switchedAt.getTime() - MINUTE), restoredAt: new Date() }
  assert.equal(await db.tx((tx) => markRestored(tx, at)), true)
  const { facts } = (await findRestored(db)) ?? assert.fail()
  const ranges = skippedOf(facts, [xpub]).map(({ from, to }) => [Number(from), Number(to)])
  assert.ok(
    ranges.some(([from, to]) => from === last.index + 1 && to === next.index),
    JSON.stringify(ranges),
  )
})

test('a role that may not ask which server it is works as before', async () => {
  await ask(
    primary,
    'create role plain',
    'revoke execute on function pg_control_system() from public',
    'grant select on installation to plain',
  )
  const row = await ask(primary, 'set role plain', 'select is_promoted(installation) from installation')
  assert.deepEqual(row, { is_promoted: false })
})
