import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { withdrawPayout } from '../src/chain/payout/payout.ts'
import { sql } from '../src/db/db.ts'
import { idFrom } from '../src/kernel/ids.ts'
import { claimTransaction } from '../src/ledger/claim-queries.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import type { Client } from './harness/accounts.ts'
import { createPaid, newAddress, refundReaches, revert } from './harness/refunds.ts'
import { openRestoredShop, type RestoredShop } from './harness/restored.ts'
import type { RpcProxy } from './harness/rpc-proxy.ts'
import { eventually } from './harness/service.ts'
import type { Shop } from './harness/shop.ts'

/* How refunds end that left before a restore as something else, and what does not wait for what left. */

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
    await withdrawPayout(db, { ...asked, chainId: 31337 }, { isPaid: true, providerStatus: 'withdrawn' }, new Date()),
  )
  await revert(shop, order.code, { amount: '10', address: payer })
  const { _id } = await eventually(
    () => refundReaches(shop, order.orderId, 'ready'),
    ({ message }) => message?.startsWith(`Transaction ${txHash} was named for this`) === true,
  )
  assert.equal((await world.nameRefund({ _id }, txHash)).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
})
