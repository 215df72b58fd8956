import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import pino from 'pino'
import { openWatchPayout } from '../src/chain/payout/payout.ts'
import { sql } from '../src/db/db.ts'
import { idFrom } from '../src/kernel/ids.ts'
import type { Client } from './harness/accounts.ts'
import { createPaid, listRefunds, newAddress, type RefundData, revert } from './harness/refunds.ts'
import { openKeyless, openRestoredShop, type RestoredShop } from './harness/restored.ts'
import { eventually } from './harness/service.ts'
import type { Payable, Shop } from './harness/shop.ts'

/*
 * Refunds whose transaction was lost, and whose authorization ran out, or for which no transaction was signed yet: all
 * checks are repeated before anything is signed again, and a person can take them back. What the engine does is in
 * payouts-run-out.test.ts.
 */

let world: RestoredShop
let shop: Shop
let admin: Client
before(async () => {
  world = await openRestoredShop()
  ;({ shop, admin } = world)
})
after(() => world?.stop())

type Row = { status: string; validBefore: bigint | null }
const rowOf = (id: string) =>
  shop.host.db.maybe<Row>(sql`select status, valid_before from chain_payouts where id = ${id}`)
const idOf = ({ orderId }: Payable, number = 1): string => idFrom('refund', shop.merchant.companyId, orderId, number)

/** Its newest refund, polled again and again until it is as expected. */
const reaches = (order: Payable, isThere: (refund: RefundData) => boolean): Promise<RefundData> =>
  eventually(
    async () => {
      await shop.host.db.run(sql`update refunds set next_check_at = now() where next_check_at is not null`)
      await shop.chain.mine()
      return (await listRefunds(shop, order.orderId)).at(-1) as RefundData
    },
    (refund) => refund !== undefined && isThere(refund),
  )

/** What is under way was signed an hour earlier, and its transaction is lost. */
async function runsOut(t: TestContext): Promise<void> {
  // the token still takes its bytes, which a poll may hand in again
  t.after(() => world.node.heal())
  world.node.faults.refuses = ({ method }) => method === 'eth_sendRawTransaction'
  await shop.host.db.run(sql`update chain_payouts set valid_before = valid_before - 3700 where status <> 'final'`)
  await shop.chain.call('anvil_dropAllTransactions')
}

/** A refund of 10 USDC that is sent and not mined. */
async function startRefund(): Promise<{ order: Payable; id: string; to: string }> {
  const order = await createPaid(shop)
  const [id, to] = [idOf(order), newAddress()]
  await revert(shop, order.code, { amount: '10', address: to })
  await eventually(
    () => rowOf(id),
    (row) => row?.status === 'sent',
  )
  return { order, id, to }
}

test('a refund that was sent, and ran out unmined, is checked again before it is signed again', async (t) => {
  const { order, id, to } = await startRefund()
  await holdAll(t)
  await runsOut(t)
  const held = () => reaches(order, isHeld).then(() => rowOf(id))
  const { status } = (await eventually(held, (row) => row?.validBefore === null)) ?? {}
  assert.equal(status, 'reserved')
  assert.equal(await shop.chain.balanceOf(to), 0n)
})

/** A check that holds all payouts. */
async function holdAll(t: TestContext): Promise<{ release(): Promise<number> }> {
  const { db } = shop.host
  const release = () => db.run(sql`update installation set reconciled_at = now()`)
  t.after(release)
  await db.run(sql`update installation set reconciled_at = null`)
  return { release }
}
const isHeld = ({ message }: { message: string | null }): boolean => /^waits: .*reconcile/.test(message ?? '')

/** Its authorization is signed, and no transaction is. @param isLost as if the signer had not answered */
async function isAuthorized(id: string, isLost: boolean): Promise<void> {
  await eventually(
    () => shop.host.db.maybe<{ words: string }>(sql`select words from chain_payouts where id = ${id}`),
    (row) => /^The token refuses the authorization/.test(row?.words ?? ''),
  )
  if (isLost) await shop.host.db.run(sql`update chain_payouts set signature = '0x' where id = ${id}`)
}
const refuseGas = ({ method }: { method: string }): boolean => method === 'eth_estimateGas'

for (const isLost of [true, false]) {
  const what = isLost ? 'announced and never signed' : 'signed and never submitted'
  test(`a refund that was ${what} waits while a check holds it, and goes on after that`, async (t) => {
    const { chain, node } = { ...shop, ...world }
    t.after(() => node.heal())
    node.faults.refuses = refuseGas
    const order = await createPaid(shop)
    const [id, to] = [idOf(order), newAddress()]
    await revert(shop, order.code, { amount: '10', address: to })
    await isAuthorized(id, isLost)
    const { release } = await holdAll(t)
    node.heal()
    for (let poll = 0; poll < 3; poll += 1) await reaches(order, isHeld)
    assert.equal((await rowOf(id))?.status, 'reserved')
    assert.equal((await admin.post(`refunds/${id}/reject`, { reason: 'what is signed can pay it' })).status, 409)
    assert.equal(await chain.balanceOf(to), 0n)
    await release()
    await reaches(order, ({ status }) => status === 'settled')
    assert.equal(await chain.balanceOf(to), 10_000_000n)
  })
}

test('a settlement that was announced and never signed waits while a check holds it', async (t) => {
  const { db } = shop.host
  t.after(() => world.node.heal())
  await createPaid(shop)
  const to = newAddress()
  await db.run(sql`
    update companies set settlement_address = ${to}, settlement_network = 31337 where id = ${shop.merchant.companyId}`)
  world.node.faults.refuses = refuseGas
  const { data: made } = await admin.post<{ _id: string }>('settlements', { companyId: shop.merchant.companyId })
  await admin.post(`settlements/${made._id}/approve`)
  await isAuthorized(made._id, true)
  const { release } = await holdAll(t)
  world.node.heal()
  const settlementReaches = (isThere: (seen: { status: string; message: string | null }) => boolean) =>
    eventually(async () => {
      await db.run(sql`update settlements set next_check_at = now() where next_check_at is not null`)
      await shop.chain.mine()
      return (await admin.get<{ status: string; message: string | null }>(`settlements/${made._id}`)).data
    }, isThere)
  for (let poll = 0; poll < 3; poll += 1) await settlementReaches(isHeld)
  assert.equal(await shop.chain.balanceOf(to), 0n)
  await release()
  await settlementReaches(({ status }) => status === 'paid')
})

test('a refund that another caller forgets, while its poll waits to go on, is checked before it is signed again', async (t) => {
  const { db } = shop.host
  const { order, id, to } = await startRefund()
  await eventually(
    async () => {
      await db.run(sql`update refunds set next_check_at = now() + interval '1 hour' where id = ${id}`)
      return db.many(sql`select 1 from refunds where id = ${id} and lease_until > now()`)
    },
    (polls) => polls.length === 0,
  )
  await runsOut(t)
  await holdAll(t)
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holder = db.tx(async (tx) => {
    await tx.one(sql`select id from orders where id = ${order.orderId} for update`)
    held.resolve()
    await over.promise
  })
  await held.promise
  await db.run(sql`update refunds set next_check_at = now() where id = ${id}`)
  await eventually(
    () => db.many(sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'orders'`),
    (waiting) => waiting.length > 0,
  )
  const log = pino({ level: 'silent' })
  await openWatchPayout({ db, clock: Date.now, log, ...openKeyless(t, shop) })(id)
  assert.deepEqual(await rowOf(id), { status: 'reserved', validBefore: null })
  over.resolve()
  await holder
  await reaches(order, isHeld)
  assert.deepEqual(await rowOf(id), { status: 'reserved', validBefore: null })
  assert.equal(await shop.chain.balanceOf(to), 0n)
})

test('a refund that was sent, and ran out, waits for the one that left before the restore', async (t) => {
  const order = await createPaid(shop)
  const to = newAddress()
  // in the lost database the first was rejected after it ran out, and the second was paid
  await world.leave({ id: idOf(order, 2), to, units: 10_000_000n })
  await world.restored.send({ id: idOf(order), to, units: 10_000_000n })
  await runsOut(t)
  await shop.chain.mine()
  await revert(shop, order.code, { amount: '10', address: to })
  await reaches(order, ({ message }) => /^waits: a later one left before the database was restored/.test(message ?? ''))
  assert.equal(await shop.chain.balanceOf(to), 10_000_000n, 'paid once')
})

test('a refund that was sent, ran out unused and lacks money can be paid by hand', async (t) => {
  const { chain } = shop
  const { order, id, to } = await startRefund()
  await runsOut(t)
  const wallet = world.restored.address
  await chain.call('anvil_impersonateAccount', wallet)
  await chain.call('anvil_setBalance', wallet, '0x8ac7230489e80000')
  await chain.pay({ to: newAddress(), units: await chain.balanceOf(wallet), from: wallet })
  await runsOut(t)
  await reaches(order, ({ message }) => /Fund it/.test(message ?? ''))
  assert.deepEqual(await rowOf(id), { status: 'reserved', validBefore: null })
  const txHash = await chain.pay({ to, units: 10_000_000n })
  await chain.mine(4)
  const named = await world.nameRefund({ _id: id }, txHash)
  assert.equal(named.status, 200, named.text)
  const rejected = await admin.post(`refunds/${id}/reject`, { reason: 'it was paid' })
  assert.equal(rejected.status, 409)
})
