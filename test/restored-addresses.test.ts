import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { findSkippedDeposits, openAddresses } from '../src/chain/after-backup.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { claimDepositKey, listKeys, upsertKeyConfirmed } from '../src/chain/deposits/deposit-key-queries.ts'
import type { Endpoints } from '../src/chain/endpoints/endpoints.ts'
import { openPatient } from '../src/commands/backup/patience.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import {
  findRestored,
  markRestored,
  type RestoreTimes,
  skippedOf,
  updateReconciledRestore,
} from '../src/db/restored-queries.ts'
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

test('the same backup is restored again eight minutes later, thirty orders a minute in between', async (t) => {
  const xpub = newTestXpub()
  const first = await openBackup(t, xpub, 3)
  await restoreAt(first, at('01T06:00:00'))
  let last = await assign(first, xpub, 'between')
  for (let n = 1; n < 8 * 30; n += 1) last = await assign(first, xpub, `between ${n}`)
  const second = await openBackup(t, xpub, 3)
  await restoreAt(second, at('01T06:08:00'))
  const next = await assign(second, xpub, 'another order')
  assert.ok(next.index > last.index, `${next.index} is not above ${last.index}`)
})

test('a backup is restored, then one that was made after that, then the first one again: no address comes twice', async (t) => {
  const xpub = newTestXpub()
  const first = await openBackup(t, xpub, 3)
  await restoreAt(first, at('01T06:00:00'))
  await assign(first, xpub, 'an order')
  await restoreAt(first, at('01T07:00:00'), at('01T06:01:00'))
  const lost = await assign(first, xpub, 'an order after 07:00')
  const again = await openBackup(t, xpub, 3)
  await restoreAt(again, at('01T07:19:00'))
  const next = await assign(again, xpub, 'an order after 07:19')
  assert.ok(next.index > lost.index, `${next.index} is not above ${lost.index}`)
})

for (const [what, older, newer] of [
  ['an older backup', ['01T00:00:00', '01T09:00:00'], ['01T08:40:00', '01T09:30:00']],
  ['a point in time too early', ['01T08:00:00', '01T09:00:00'], ['01T08:50:00', '01T09:20:00']],
] as const)
  test(`${what} is restored by mistake, then a newer one: the orders of that life are looked at, and go on behind`, async (t) => {
    const xpub = newTestXpub()
    const mistaken = await openBackup(t, xpub, 3)
    await restoreAt(mistaken, at(older[1]), at(older[0]))
    const between = await assign(mistaken, xpub, 'an order of that life')
    const newest = await openBackup(t, xpub, 13)
    await restoreAt(newest, at(newer[1]), at(newer[0]))
    assert.equal(await isLookedAt(newest, xpub, between), true)
    const next = await assign(newest, xpub, 'another order')
    assert.ok(next.index > between.index, `${next.index} is not above ${between.index}`)
    const nodes = await world.openNodes(t, 1)
    const txHash = await world.chain.pay({ to: between.address, units: 1n })
    const found = await look(nodes.endpoints, newest)
    assert.deepEqual(
      found.map((one) => [one.txHash, one.index]),
      [[txHash, between.index]],
    )
  })

test('a key far ahead of its time, as after a restore by an earlier version, goes on by the same rule', async (t) => {
  const xpub = newTestXpub()
  const open = async (used: number) => {
    const db = await openBackup(t, xpub, 1)
    await db.run(sql`update deposit_keys set next_index = 1500000000 + ${used}::bigint`)
    return db
  }
  const [first, second] = [await open(0), await open(20)]
  await restoreAt(first, at('01T06:00:00'))
  const lost = await assign(first, xpub, 'an order')
  await restoreAt(second, at('01T06:20:00'), at('01T05:00:00'))
  const next = await assign(second, xpub, 'another order')
  assert.ok(next.index > lost.index && lost.index > 1_500_000_000, `${next.index}, ${lost.index}`)
  const again = await open(0)
  await restoreAt(again, at('01T06:30:00'))
  assert.ok((await assign(again, xpub, 'another one')).index > next.index)
})

test('a service whose clock is years behind gives out no address of the backup again', async (t) => {
  const xpub = newTestXpub()
  const db = await openBackup(t, xpub, 3)
  await restoreAt(db, new Date(0))
  assert.ok((await assign(db, xpub, 'an order')).index >= 3)
})

/** What `reconcile` finds of the lost orders of this restore. */
async function look(endpoints: Endpoints, db: Db) {
  const restored = (await findRestored(db)) ?? assert.fail()
  const ranges = skippedOf(restored.facts, await listKeys(db))
  return lookAt(endpoints, ranges, restored)
}

async function lookAt(
  endpoints: Endpoints,
  ranges: Parameters<typeof findSkippedDeposits>[2]['ranges'],
  times: RestoreTimes,
  since: { findBlock?: () => Promise<bigint>; from?: bigint } = {},
) {
  const { findBlock = () => assert.fail('nothing is that long ago'), from = 0n } = since
  const patient = openPatient(world.network, endpoints) // as the command is
  const reader = { db: world.db, network: world.network, endpoints: patient, log: pino({ level: 'silent' }) }
  const range = { from, to: await world.chain.blockNumber() }
  return findSkippedDeposits(reader, range, { ranges, times, findBlock, addressesOf: openAddresses() })
}

const fiveMinutes = { backupMadeAt: at('01T05:55:00'), restoredAt: at('01T06:00:00') }

test('money is found behind hundreds of unpaid addresses, and where an earlier restore went on', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const xpub = newTestXpub()
  const paid = [5, 700, 990, 1_800, 19_609, 20_300]
  for (const index of paid) await world.chain.pay({ to: deriveAddress(xpub, index), units: BigInt(index) })
  // one that this database has given out since is no lost order's
  await world.db.run(sql`insert into deposit_keys (id, xpub, next_index) values (${parseXpub(xpub).id}, ${xpub}, 700)`)
  await assign(world.db, xpub, 'known')
  const found = await lookAt(nodes.endpoints, [{ xpub, from: '3', to: '20600' }], fiveMinutes)
  assert.deepEqual(
    found.map(({ index, units }) => [index, units]),
    [5, 990, 1_800, 19_609, 20_300].map((index) => [index, BigInt(index)]),
  )
})

test('the addresses of many keys are asked for in one question, and derived once for all chains', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const keys = Array.from({ length: 40 }, () => newTestXpub())
  const ranges = keys.map((xpub) => ({ xpub, from: '5', to: '25' }))
  const [last = ''] = keys.slice(-1)
  await world.chain.pay({ to: deriveAddress(last, 24), units: 9n })
  const { counts } = nodes.proxy(1)
  counts.clear()
  const found = await lookAt(nodes.endpoints, ranges, fiveMinutes)
  assert.deepEqual([found.map(({ index }) => index), counts.get('eth_getLogs')], [[24], 1])
  const addressesOf = openAddresses()
  for (const indexes of [[49, 50], [48, 49, 0], []])
    assert.deepEqual(
      addressesOf(last, indexes),
      indexes.map((index) => deriveAddress(last, index).toLowerCase()),
    )
})

test('a key of many orders is looked at behind more unpaid ones', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const xpub = newTestXpub()
  await assign(world.db, xpub, 'the first')
  await world.db.run(sql`
    insert into deposit_addresses (address, company_id, reference, key_id, key_index, watched_until)
    select '0xe' || lpad(to_hex(n), 39, '0'), ${watched.companyId}, 'order ' || n, ${parseXpub(xpub).id}, n, now()
    from generate_series(1, 149) as n`)
  await world.chain.pay({ to: deriveAddress(xpub, 1_600), units: 7n })
  const found = await lookAt(nodes.endpoints, [{ xpub, from: '150', to: '1700' }], fiveMinutes)
  assert.deepEqual(
    found.map(({ index }) => index),
    [1_600],
  )
})

test('an earlier restore is looked for in the blocks since it may have been, the first orders in all', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const xpub = newTestXpub()
  const from = await world.chain.blockNumber()
  for (const index of [7, 2_000]) await world.chain.pay({ to: deriveAddress(xpub, index), units: 1n })
  const earlier = (await world.chain.blockNumber()) + 1n
  await world.chain.pay({ to: deriveAddress(xpub, 2_200), units: 1n })
  const times = { backupMadeAt: at('01T00:00:00'), restoredAt: at('03T00:00:00') }
  const findBlock = async () => earlier
  const found = await lookAt(nodes.endpoints, [{ xpub, from: '5', to: '3000' }], times, { findBlock, from })
  assert.deepEqual(
    found.map(({ index }) => index),
    [7, 2_200],
  )
})
