import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { findSkippedDeposits } from '../src/chain/after-backup.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { claimDepositKey, listKeys, upsertKeyConfirmed } from '../src/chain/deposits/deposit-key-queries.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { findRestored, markRestored, skippedOf, updateReconciledRestore } from '../src/db/restored-queries.ts'
import { deriveAddress, parseXpub } from '../src/kernel/xpub.ts'
import { newTestXpub } from './harness/chain.ts'
import { createTestDatabase } from './harness/database.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* After a restore, no order gets an address that a lost one may have; `reconcile` looks at all of those. */

const watched = { companyId: 'c'.repeat(24), watchedUntil: new Date('2100-01-01') }
const at = (time: string): Date => new Date(`2030-01-${time}Z`)
const backupMadeAt = at('01T00:00:00')

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

type Test = { after(work: () => unknown): void }

const assign = (db: Db, xpub: string, reference: string) =>
  db.tx((tx) => assignDepositAddress(tx, { ...watched, xpub, reference }))

/** A database as one backup holds it: so many addresses of the key were assigned. */
async function openBackup(t: Test, xpub: string, used: number): Promise<Db> {
  const database = await createTestDatabase()
  const db = openDb({ connectionString: database.connectionString, max: 2 })
  t.after(async () => {
    await db.close()
    await database.drop()
  })
  await db.run(sql`insert into installation (mode, key_mark) values ('live', 'x')`)
  for (let n = 0; n < used; n += 1) await assign(db, xpub, `before ${n}`)
  return db
}

const restoreAt = (db: Db, restoredAt: Date, madeAt = backupMadeAt) =>
  db.tx((tx) => markRestored(tx, { backupMadeAt: madeAt, restoredAt }))

async function rangesOf(db: Db, xpub: string): Promise<[bigint, bigint][]> {
  const { facts } = (await findRestored(db)) ?? assert.fail()
  const its = skippedOf(facts, await listKeys(db)).filter((one) => one.xpub === xpub)
  return its.map(({ from, to }) => [BigInt(from), BigInt(to)])
}

async function isLookedAt(db: Db, xpub: string, { index }: { index: number }): Promise<boolean> {
  return (await rangesOf(db, xpub)).some(([from, to]) => from <= index && index < to)
}

for (const [when, again] of [
  ['three hours later', '01T09:00:00'],
  ['two minutes later', '01T06:02:00'],
  ['ten minutes later', '01T06:10:00'],
] as const)
  for (const used of [0, 3])
    test(`the same backup is restored again ${when}, with ${used} addresses in it: none of the life between is given out`, async (t) => {
      const xpub = newTestXpub()
      const first = await openBackup(t, xpub, used)
      await restoreAt(first, at('01T06:00:00'))
      const between = []
      for (let n = 0; n < 40; n += 1) between.push(await assign(first, xpub, `between ${n}`))
      const second = await openBackup(t, xpub, used)
      await restoreAt(second, at(again))
      const [last] = between.slice(-1)
      const next = await assign(second, xpub, 'another order')
      assert.ok(last && next.index > last.index, `${next.index}`)
      for (const one of between) assert.equal(await isLookedAt(second, xpub, one), true)
    })

test('a key that was first used after the backup begins beyond what the lost service may have used', async (t) => {
  const [xpub, operators] = [newTestXpub(), newTestXpub()]
  const lost = await openBackup(t, operators, 1)
  const before = await assign(lost, xpub, 'an order after the backup')
  assert.equal(before.index, 0)
  const restored = await openBackup(t, operators, 1)
  await restoreAt(restored, at('01T06:00:00'))
  for (const [name, setUp] of [
    ['used', (_key: string) => Promise.resolve()],
    ['claimed', (key: string) => restored.tx((tx) => claimDepositKey(tx, parseXpub(key), watched.companyId))],
    [
      'confirmed',
      (key: string) => restored.tx((tx) => upsertKeyConfirmed(tx, parseXpub(key), { at: new Date(), by: 'a person' })),
    ],
  ] as const) {
    const key = name === 'used' ? xpub : newTestXpub()
    await setUp(key)
    const next = await assign(restored, key, `of a key that was ${name}`)
    assert.ok(next.index >= 10_000, `${name}: ${next.index}`)
    assert.equal(await isLookedAt(restored, key, before), true, name)
    assert.equal(await isLookedAt(restored, key, next), false, name)
  }
})

test('a key that a restored service used first, and whose backup is lost, too, begins beyond that', async (t) => {
  const xpub = newTestXpub()
  const open = async () => {
    const db = await openBackup(t, newTestXpub(), 1)
    await restoreAt(db, at('01T06:00:00'))
    const restored = await findRestored(db)
    assert.ok(restored)
    await updateReconciledRestore(db, restored, at('01T07:00:00'))
    return db
  }
  const lost = await open()
  const before = await assign(lost, xpub, 'an order that is lost')
  const second = await open()
  await restoreAt(second, at('01T12:00:00'), at('01T08:00:00'))
  const next = await assign(second, xpub, 'another order')
  assert.ok(next.index > before.index)
  assert.equal(await isLookedAt(second, xpub, before), true)
})

test('a key that is set up between two marks of a restore is compared from its first index on', async (t) => {
  const xpub = newTestXpub()
  const db = await openBackup(t, newTestXpub(), 1)
  await restoreAt(db, at('01T06:00:00'))
  const between = await assign(db, xpub, 'between the marks')
  await restoreAt(db, at('01T12:00:00'), at('01T08:00:00'))
  for (const index of [0, between.index - 1, between.index + 1])
    assert.equal(await isLookedAt(db, xpub, { index }), true, `${index}`)
})

test('a backup of years ago leaves indexes for the orders to come', async (t) => {
  const xpub = newTestXpub()
  const db = await openBackup(t, xpub, 1)
  for (const year of [2030, 2040, 2050]) await restoreAt(db, new Date(`${year}-01-01`), new Date('2010-01-01'))
  const { index } = await assign(db, xpub, 'an order')
  assert.ok(index < 2 ** 31 - 100_000_000, `${index}`)
  assert.ok((await assign(db, newTestXpub(), 'of a new key')).index < 2 ** 31 - 100_000_000)
})

test('money is found behind thousands of unpaid addresses, and where an earlier restore went on', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const xpub = newTestXpub()
  const paid = [5, 7_000, 12_000, 20_249, 23_000, 30_500]
  for (const index of paid) await world.chain.pay({ to: deriveAddress(xpub, index), units: BigInt(index) })
  // one that this database has given out since is no lost order's
  await world.db.run(
    sql`insert into deposit_keys (id, xpub, next_index) values (${parseXpub(xpub).id}, ${xpub}, 12000)`,
  )
  await assign(world.db, xpub, 'known')
  const reader = { db: world.db, network: world.network, endpoints: nodes.endpoints, log: pino({ level: 'silent' }) }
  const range = { from: 0n, to: await world.chain.blockNumber() }
  const progress: number[] = []
  const found = await findSkippedDeposits(reader, range, {
    ...{ skipped: { xpub, from: '3', to: '30600' }, most: 13_000, earlier: 0n },
    progress: (done) => progress.push(done),
  })
  assert.deepEqual(
    found.map(({ index, units }) => [index, units]),
    [5, 7_000, 20_249, 23_000, 30_500].map((index) => [index, BigInt(index)]),
  )
  assert.deepEqual(progress, [19_997, 29_997, 30_597])
})

test('an earlier restore is looked for in the blocks since it may have been, the first orders in all', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const xpub = newTestXpub()
  const from = await world.chain.blockNumber()
  for (const index of [7, 20_100]) await world.chain.pay({ to: deriveAddress(xpub, index), units: 1n })
  const earlier = (await world.chain.blockNumber()) + 1n
  await world.chain.pay({ to: deriveAddress(xpub, 20_200), units: 1n })
  const reader = { db: world.db, network: world.network, endpoints: nodes.endpoints, log: pino({ level: 'silent' }) }
  const range = { from, to: await world.chain.blockNumber() }
  const skipped = { xpub, from: '5', to: '20600' }
  const found = await findSkippedDeposits(reader, range, { skipped, most: 100, earlier })
  assert.deepEqual(
    found.map(({ index }) => index),
    [7, 20_200],
  )
})
