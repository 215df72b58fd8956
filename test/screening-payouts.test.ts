import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { createPaid, newAddress, type RefundData, refundReaches, revert } from './harness/refunds.ts'
import { openScreeningWorld, type ScreeningWorld } from './harness/screening-world.ts'
import { eventually } from './harness/service.ts'
import type { Payable } from './harness/shop.ts'

/* Destinations are screened before money leaves. */
type Settlement = { _id: string; status: string; message: string | null }

let world: ScreeningWorld
before(async () => {
  world = await openScreeningWorld()
})
after(() => world?.stop())

const checkBooks = async (): Promise<void> => {
  const verdict = await verifyLedger(world.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
}
const settledIn = (order: Payable): Promise<RefundData> => refundReaches(world, order.orderId, 'settled')

test('a refund to a listed destination is never sent; rejected, it goes to another one', async () => {
  const order = await createPaid(world)
  const bad = newAddress()
  await world.list(bad, { oracle: true })
  await revert(world, order.code, { address: bad })
  const waiting = await eventually(
    async () => (await world.admin.get<{ refunds: RefundData[] }>(`refunds?code=${order.code}`)).data.refunds[0],
    (refund) => /did not pass the screening/.test(refund?.message ?? ''),
  )
  assert.equal(waiting?.status, 'ready')
  const rejected = await world.admin.post(`refunds/${waiting?._id}/reject`, { reason: 'another address' })
  assert.equal(rejected.status, 200, rejected.text)
  const good = newAddress()
  await revert(world, order.code, { address: good })
  await settledIn(order)
  assert.deepEqual([await world.chain.balanceOf(bad), await world.chain.balanceOf(good)], [0n, order.units])
  await checkBooks()
})

test('a refund waits while a source is away, and is sent by itself when it is back', async () => {
  const order = await createPaid(world)
  await world.fault('trm', '503')
  const to = newAddress()
  await revert(world, order.code, { address: to })
  await world.screened(order, 'held', 'refund')
  assert.equal(await world.chain.balanceOf(to), 0n)
  await world.fault('trm', null)
  await eventually(
    async () => {
      await world.askNow()
      return (await world.screeningsOf(order)).find(({ purpose }) => purpose === 'refund')?.status
    },
    (status) => status === 'clean',
  )
  await settledIn(order)
  assert.equal(await world.chain.balanceOf(to), order.units)
})

test('a settlement to a listed address is refused, and one to a clean address is sent', async () => {
  await createPaid(world)
  const { companyId } = world.merchant
  const setTarget = (address: string) =>
    world.host.db.run(
      sql`update companies set settlement_address = ${address}, settlement_network = 31337 where id = ${companyId}`,
    )
  const create = async () => (await world.admin.post<Settlement>('settlements', { companyId })).data
  const bad = newAddress()
  await world.list(bad, { trm: { riskType: 'OWNERSHIP', level: 15 } })
  await setTarget(bad)
  const first = await create()
  await world.admin.post(`settlements/${first._id}/approve`, {})
  const find = async (id: string) =>
    (await world.admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === id)
  await eventually(
    () => find(first._id),
    (seen) => /did not pass the screening/.test(seen?.message ?? ''),
  )
  assert.equal(await world.chain.balanceOf(bad), 0n)
  assert.equal((await world.admin.post(`settlements/${first._id}/cancel`, {})).status, 200)
  const good = newAddress()
  await setTarget(good)
  const second = await create()
  await world.admin.post(`settlements/${second._id}/approve`, {})
  await eventually(
    async () => {
      await world.chain.mine()
      return find(second._id)
    },
    (seen) => seen?.status === 'paid',
  )
  assert.ok((await world.chain.balanceOf(good)) > 0n)
  await checkBooks()
})
