import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Hex } from '../src/chain/endpoints/rpc.ts'
import { tokenOf } from '../src/chain/networks.ts'
import { type PayoutRequest, type Payouts, withdrawPayout } from '../src/chain/payout/payout.ts'
import { nonceOf } from '../src/chain/payout/payout-deps.ts'
import { insertPayout } from '../src/chain/payout/payout-queries.ts'
import { findOtherPayout } from '../src/chain/payout/payout-recheck.ts'
import { sql } from '../src/db/db.ts'
import { idFrom, newId } from '../src/kernel/ids.ts'
import { claimTransaction } from '../src/ledger/claim-queries.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import type { Client } from './harness/accounts.ts'
import { createPaid, listRefunds, newAddress, refundReaches, revert } from './harness/refunds.ts'
import { isMined, openKeyless, openRestoredShop, type RestoredShop } from './harness/restored.ts'
import type { RpcProxy } from './harness/rpc-proxy.ts'
import { eventually } from './harness/service.ts'
import type { Shop } from './harness/shop.ts'

/* How refunds end that left before a restore as something else, and what does not wait for what left. */

/** The token's question whether it knows an authorization. */
const AUTHORIZATION_STATE = '0xe94a0102'

let world: RestoredShop
let shop: Shop
let node: RpcProxy
let admin: Client

before(async () => {
  world = await openRestoredShop()
  ;({ shop, node, admin } = world)
})
after(() => world?.stop())

test('a refund that had left with another amount is rejected, and only what left settles the next one', async () => {
  const order = await createPaid(shop)
  const payer = newAddress()
  const id = idFrom('refund', shop.merchant.companyId, order.orderId, 1)
  const txHash = await world.leave({ id, to: payer, units: 10_000_000n })
  const reject = (refund: { _id: string }) =>
    admin.post(`refunds/${refund._id}/reject`, { reason: 'another amount left' })
  await revert(shop, order.code, { amount: '12', address: payer })
  const first = await eventually(
    () => refundReaches(shop, order.orderId, 'submitted'),
    ({ message }) => /has used its authorization/.test(message ?? ''),
  )
  const foreign = await shop.chain.pay({ to: payer, units: 12_000_000n })
  await shop.chain.mine(4)
  for (const one of [txHash, foreign]) {
    const { status, error } = await world.nameRefund(first, one)
    assert.equal(status, 422)
    assert.match(JSON.stringify(error), /reject this one, and ask for exactly that one/)
  }
  assert.equal((await reject(first)).status, 200)
  await revert(shop, order.code, { amount: '12', address: payer })
  const second = await world.refundWaits(order.orderId)
  assert.match(second.message ?? '', new RegExp(`rejected or cancelled here, left .* ${txHash} brought 10.000000`))
  assert.equal((await world.nameRefund(second, txHash)).status, 422)
  assert.equal((await reject(second)).status, 200)
  await revert(shop, order.code, { amount: '10', address: payer })
  assert.equal((await world.nameRefund(await world.refundWaits(order.orderId), txHash)).status, 200)
  assert.equal((await refundReaches(shop, order.orderId, 'settled')).txHash, txHash)
  await revert(shop, order.code, { amount: '5', address: payer })
  await eventually(
    () => refundReaches(shop, order.orderId, 'settled'),
    ({ amount }) => amount === '5.000000',
  )
  assert.equal(await shop.chain.balanceOf(payer), 27_000_000n, 'what left, what was sent by hand, and the last one')
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('a refund that had left to another address is not settled by what left', async () => {
  const order = await createPaid(shop)
  const id = idFrom('refund', shop.merchant.companyId, order.orderId, 1)
  const txHash = await world.leave({ id, to: newAddress(), units: 10_000_000n })
  await revert(shop, order.code, { amount: '10', address: newAddress() })
  const refund = await eventually(
    () => refundReaches(shop, order.orderId, 'submitted'),
    ({ message }) => /has used its authorization/.test(message ?? ''),
  )
  assert.equal((await world.nameRefund(refund, txHash)).status, 422)
  const [last] = await listRefunds(shop, order.orderId)
  assert.deepEqual([last?.status, last?.txHash], ['submitted', null])
})

test('of two refunds that had left, none is forgotten when the first is named for the second number', async () => {
  const order = await createPaid(shop)
  const payer = newAddress()
  const idOf = (number: number) => idFrom('refund', shop.merchant.companyId, order.orderId, number)
  const ten = await world.leave({ id: idOf(1), to: payer, units: 10_000_000n })
  const five = await world.leave({ id: idOf(2), to: payer, units: 5_000_000n })
  const reject = (refund: { _id: string }) =>
    admin.post(`refunds/${refund._id}/reject`, { reason: 'another amount left' })
  for (const amount of ['5', '10']) {
    await revert(shop, order.code, { amount, address: payer })
    const held = await eventually(
      () => refundReaches(shop, order.orderId, 'submitted'),
      ({ message }) => /has used its authorization/.test(message ?? ''),
    )
    const { status, error } = await world.nameRefund(held, ten)
    assert.deepEqual([status, JSON.stringify(error).includes('ask for exactly that one')], [422, true])
    assert.equal((await reject(held)).status, 200)
  }
  for (const [amount, txHash] of [
    ['10', ten],
    ['5', five],
  ] as const) {
    await revert(shop, order.code, { amount, address: payer })
    assert.equal((await world.nameRefund(await world.refundWaits(order.orderId), txHash)).status, 200)
    assert.equal((await refundReaches(shop, order.orderId, 'settled')).txHash, txHash)
  }
  assert.equal(await shop.chain.balanceOf(payer), 15_000_000n)
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('while a chain does not say what left, what waits names it; what was made since the restore does not wait', async (t) => {
  const { db } = shop.host
  const moveRestore = (by: string) => db.run(sql`update installation set restored_at = restored_at + ${by}::interval`)
  const order = await createPaid(shop)
  t.after(() => node.heal())
  // authorizationState
  node.faults.refuses = ({ params }) => JSON.stringify(params).includes('0xe94a0102')
  await revert(shop, order.code, { amount: '10', address: newAddress() })
  const { _id } = await world.refundWaits(order.orderId, /^waits: Sandbox chain: /)
  node.heal()
  await db.run(sql`insert into paying_wallets values (31339, ${newAddress().toLowerCase()})`)
  await moveRestore('-2 hours')
  t.after(async () => {
    await moveRestore('2 hours')
    await db.run(sql`delete from paying_wallets where chain_id = 31339`)
  })
  await db.run(sql`update refunds set next_check_at = now() where id = ${_id}`)
  await refundReaches(shop, order.orderId, 'settled')
  const { companyId } = shop.merchant
  await createPaid(shop)
  await db.run(sql`
    update companies set settlement_address = ${newAddress()}, settlement_network = 31337 where id = ${companyId}`)
  const { data: made } = await admin.post<{ _id: string }>('settlements', { companyId })
  await admin.post(`settlements/${made._id}/approve`)
  await eventually(
    async () => {
      await shop.chain.mine()
      return (await admin.get<{ status: string }>(`settlements/${made._id}`)).data
    },
    ({ status }) => status === 'paid',
  )
})

test('a refund that was rejected before its first poll had left: the next one waits, and is settled with what left', async () => {
  const { order, payer, txHash } = await world.leaveDropped()
  const { message, _id } = await world.refundWaits(order.orderId)
  assert.match(
    message ?? '',
    new RegExp(`which was then rejected or cancelled here, left .* ${txHash} brought 10.000000`),
  )
  assert.equal((await world.nameRefund({ _id }, txHash)).status, 200)
  assert.equal((await refundReaches(shop, order.orderId, 'settled')).txHash, txHash)
  assert.equal(await shop.chain.balanceOf(payer), 10_000_000n)
  await revert(shop, order.code, { amount: '5', address: payer })
  await eventually(
    () => refundReaches(shop, order.orderId, 'settled'),
    ({ amount }) => amount === '5.000000',
  )
  assert.equal(await shop.chain.balanceOf(payer), 15_000_000n, 'what left is accounted for')
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})

test('a refund whose transaction was named, and then the process ended, says that it is named again', async () => {
  const { db } = shop.host
  const order = await createPaid(shop)
  const payer = newAddress()
  const asked = { id: idFrom('refund', shop.merchant.companyId, order.orderId, 1), to: payer, units: 10_000_000n }
  const txHash = await world.leave(asked)
  const claimed = { network: 31337, txHash: txHash ?? '', causeId: asked.id, toAddress: payer }
  await db.tx((tx) => claimTransaction(tx, { companyId: shop.merchant.companyId, ...claimed }))
  assert.ok(
    await withdrawPayout(
      db,
      { ...asked, chainId: 31337 },
      { by: 'canBeNamed', providerStatus: 'withdrawn' },
      new Date(),
    ),
  )
  await revert(shop, order.code, { amount: '10', address: payer })
  const { _id } = await eventually(
    () => refundReaches(shop, order.orderId, 'ready'),
    ({ message }) => message?.startsWith(`Transaction ${txHash} was named for this`) === true,
  )
  assert.equal((await world.nameRefund({ _id }, txHash)).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
})

/** A payout of the present wallet, for which nothing is signed. */
const reserve = ({ id, to, units }: PayoutRequest): Promise<number> => {
  const wallets = { fromAddress: world.restored.address.toLowerCase() as Hex, toAddress: to.toLowerCase() as Hex }
  const stored = { ...wallets, status: 'reserved', providerStatus: 'Fund it.' } as const
  return insertPayout(
    shop.host.db,
    { ...stored, id, units, chainId: 31337, authorizationNonce: nonceOf(id), tokenAddress: tokenOf(shop.chain) },
    new Date(),
  )
}

test('a refund that was named in a block says that it is in one while that is not final, and is named again', async (t) => {
  t.after(() => node.heal())
  const order = await createPaid(shop)
  const payer = newAddress()
  const asked = { id: idFrom('refund', shop.merchant.companyId, order.orderId, 1), to: payer, units: 10_000_000n }
  // the service cannot see that it has left, and does not find it by itself
  node.faults.refuses = ({ params }) => JSON.stringify(params).includes(AUTHORIZATION_STATE)
  await revert(shop, order.code, { amount: '10', address: payer })
  const waiting = await world.refundWaits(order.orderId, /^waits: Sandbox chain: /)
  const lost = world.openLost()
  await lost.send(asked)
  await shop.chain.mine()
  const { txHash } = await lost.send(asked)
  node.heal()
  for (let time = 0; time < 2; time += 1) {
    assert.equal((await world.nameRefund(waiting, txHash)).status, 200)
    await shop.host.db.run(sql`update refunds set next_check_at = now() where id = ${waiting._id}`)
    // no block: with more of them it would be final
    await eventually(() => refundReaches(shop, order.orderId, 'submitted', false), isMined)
  }
  const { status, error } = await admin.post(`refunds/${waiting._id}/reject`, { reason: 'it seems to be lost' })
  assert.deepEqual([status, /was named for this and may have paid it/.test(error?.message ?? '')], [409, true])
  await shop.chain.mine(4)
  assert.equal((await refundReaches(shop, order.orderId, 'settled')).txHash, txHash)
})

test('a refund that had left is followed whatever holds others, and checked again once it shows as unused', async (t) => {
  const { db } = shop.host
  const [left, unused] = [await createPaid(shop), await createPaid(shop)]
  const idOf = ({ orderId }: { orderId: string }) => idFrom('refund', shop.merchant.companyId, orderId, 1)
  const to = newAddress()
  const units = 10_000_000n
  await world.leaveUnfinal({ id: idOf(left), to, units })
  await revert(shop, left.code, { amount: '10', address: to })
  await eventually(async () => (await listRefunds(shop, left.orderId))[0] ?? { message: null }, isMined)
  await revert(shop, unused.code, { amount: '10' })
  await refundReaches(shop, unused.orderId, 'needs_address', false)
  const reconcile = (at: Date | null) => db.run(sql`update installation set reconciled_at = ${at}`)
  t.after(() => reconcile(new Date()))
  await reconcile(null)
  const id = idOf(unused)
  const payer = newAddress()
  await reserve({ id, to: payer, units })
  await db.run(sql`update chain_payouts set used_at = now() where id = ${id}`)
  await db.run(sql`
    update refunds set status = 'ready', network = 31337, address = ${payer}, next_check_at = now() where id = ${id}`)
  await world.refundWaits(unused.orderId, / has not run yet\.$/)
  assert.equal(await shop.chain.balanceOf(payer), 0n)
  await refundReaches(shop, left.orderId, 'settled')
})

test('a payout that was stored before a backup and left after it is said without the keys, which do not follow it', async (t) => {
  const { db } = shop.host
  const asked = { id: newId(), to: newAddress(), units: 1_500_000n }
  const txHash = await world.leave(asked)
  await reserve(asked)
  const keyless = openKeyless(t, shop)
  const find = (payouts: Payouts | null) =>
    findOtherPayout(
      { db, chains: [{ ...keyless, payouts }], clock: Date.now, isFollowed: async () => false },
      { network: 31337, id: asked.id },
      async () => ({ since: new Date(0), known: [asked.id], next: [] }),
    )
  assert.match((await find(null)) ?? '', new RegExp(`^this one left .* ${txHash} brought 1.500000 USDC .* Name that`))
  assert.equal(await find(world.restored), null, 'its payout finds it')
})

type Made = { _id: string; amount: string; message: string | null }

const letRunOut = (id: string, inSeconds: number): Promise<number> => {
  const before = Math.floor(Date.now() / 1000) + inSeconds
  return shop.host.db.run(sql`update chain_payouts set valid_before = ${before}, signature = '0x' where id = ${id}`)
}

/** As if the wallet, or its relayer, had run short after it was signed. */
async function reserveSigned(asked: PayoutRequest, validForSeconds: number): Promise<void> {
  await reserve(asked)
  await letRunOut(asked.id, validForSeconds)
}

test('a refund whose signature just ran out waits for the one that left, and is not paid twice', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  const idOf = (number: number) => idFrom('refund', shop.merchant.companyId, order.orderId, number)
  const txHash = await world.leave({ id: idOf(2), to, units: 10_000_000n })
  await reserveSigned({ id: idOf(1), to, units: 10_000_000n }, -600)
  await revert(shop, order.code, { amount: '10', address: to })
  const { message } = await world.refundWaits(order.orderId)
  assert.match(message ?? '', new RegExp(`^waits: a later one left .* ${txHash} `))
  assert.equal(await shop.chain.balanceOf(to), 10_000_000n)
})

test('what is held while its signature runs out, unused, can then be rejected, or cancelled', async (t) => {
  const { db } = shop.host
  await db.run(sql`insert into paying_wallets values (31339, ${newAddress().toLowerCase()})`)
  t.after(() => db.run(sql`delete from paying_wallets where chain_id = 31339`))
  const order = await createPaid(shop)
  const to = newAddress()
  const id = idFrom('refund', shop.merchant.companyId, order.orderId, 1)
  await reserveSigned({ id, to, units: 10_000_000n }, 30)
  await revert(shop, order.code, { amount: '10', address: to })
  await db.run(sql`
    update companies set settlement_address = ${to}, settlement_network = 31337 where id = ${shop.merchant.companyId}`)
  await createPaid(shop)
  const { data: made } = await admin.post<Made>('settlements', { companyId: shop.merchant.companyId })
  await reserveSigned({ id: made._id, to, units: BigInt(made.amount.replace('.', '')) }, 30)
  await admin.post(`settlements/${made._id}/approve`)
  await world.refundWaits(order.orderId, /was restored/)
  await eventually(
    async () => (await admin.get<Made>(`settlements/${made._id}`)).data,
    ({ message }) => /was restored/.test(message ?? ''),
  )
  for (const one of [id, made._id]) await letRunOut(one, -600)
  for (const table of [sql`refunds`, sql`settlements`])
    await db.run(sql`update ${table} set next_check_at = now() where id in (${id}, ${made._id})`)
  const isDone = ({ status }: { status: number }) => status === 200
  await eventually(() => admin.post(`refunds/${id}/reject`, { reason: 'it waits' }), isDone)
  await eventually(() => admin.post(`settlements/${made._id}/cancel`), isDone)
  assert.equal(await shop.chain.balanceOf(to), 0n)
  assert.equal((await verifyLedger(db)).difference, null)
})
