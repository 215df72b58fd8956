import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { ApiError, type ErrorCode } from '../web/office/src/api/call.ts'
import { lackOf } from '../web/office/src/api/lack.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import {
  createPaid,
  newAddress,
  payoutEnv,
  refundReaches,
  revert,
  revertPlainly,
  withProof,
} from './harness/refunds.ts'
import { type Answer, eventually } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/* A refund of money that was paid out, or set aside for that, needs cover: balance, a reserve, a SuperAdmin's word. */

let shop: Shop
let desk: MoneyDesk

before(async () => {
  shop = await openShop({ env: payoutEnv })
  desk = await openMoneyDesk(shop)
  await change(sql`settlement_address = ${newAddress()}, settlement_network = 31337`)
})
after(() => shop?.stop())

type Settlement = { _id: string; amount: string; status: string }
const change = (fields: ReturnType<typeof sql>) =>
  shop.host.db.run(sql`update companies set ${fields}, version = version + 1 where id = ${shop.merchant.companyId}`)

async function settle(): Promise<string> {
  const { data, text } = await desk.admin.post<Settlement>('settlements', { companyId: shop.merchant.companyId })
  assert.ok(data, text)
  await desk.admin.post(`settlements/${data._id}/approve`)
  const look = async () => {
    await shop.chain.mine()
    return (await desk.admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === data._id)
  }
  await eventually(look, (seen) => seen?.status === 'paid')
  return data.amount
}
/** The company is owed nothing and owes nothing. */
async function settleAll(): Promise<void> {
  const owed = await desk.payable()
  if (owed < 0n) await createPaid(shop, { amount: Number(-owed / 1_080_000n) })
  if ((await desk.payable()) > 0n) await settle()
}
const refundsOf = ({ orderId }: Payable) =>
  shop.host.db.one<{ count: bigint }>(sql`select count(*) from refunds where order_id = ${orderId}`)

test('after the settlement a refund waits for new payments; a part that they cover goes out', async () => {
  const order = await createPaid(shop)
  await settle()
  const to = newAddress()
  const refused = await revert(shop, order.code, { address: to })
  assert.deepEqual([refused.status, refused.error.code], [409, 'REFUND_NOT_COVERED'])
  assert.match(refused.error.message, /needs 54\.000000 USDC, but only 0\.000000 USDC.* or ask the operator, who can/)
  assert.deepEqual([(await shop.story(order.orderId)).status, (await refundsOf(order)).count], ['PAID', 0n])
  const next = await createPaid(shop, { amount: 10 })
  const most = (next.units - 1n).toString().padStart(8, '0')
  const amount = `${most.slice(0, -6)}.${most.slice(-6)}`
  assert.equal((await revert(shop, order.code, { address: to, amount: '54' })).error.code, 'REFUND_NOT_COVERED')
  assert.equal((await revert(shop, order.code, { address: to, amount })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await shop.chain.balanceOf(to), next.units - 1n)
  assert.equal(await desk.payable(), 1n)
  await desk.checkBooks()
})

test('a refund that a prepared settlement leaves no cover for says so, and does not call that settlement paid', async () => {
  const order = await createPaid(shop)
  const { data, text } = await desk.admin.post<Settlement>('settlements', { companyId: shop.merchant.companyId })
  assert.ok(data, text)
  const { error } = await revert(shop, order.code, { address: newAddress() })
  assert.equal(error.code, 'REFUND_NOT_COVERED')
  assert.match(
    error.message,
    /is left: the rest was paid out, or is set aside for a settlement\. Wait for new payments/,
  )
  assert.equal((await desk.admin.post(`settlements/${data._id}/cancel`)).status, 200)
  assert.equal((await revert(shop, order.code, { address: newAddress() })).status, 200, 'nothing is set aside now')
  await refundReaches(shop, order.orderId, 'settled')
})

test('two refunds at once do not both spend the same cover', async () => {
  const [first, second] = [await createPaid(shop), await createPaid(shop)]
  await settle()
  await createPaid(shop)
  const answers = await Promise.all([first, second].map(({ code }) => revert(shop, code, { address: newAddress() })))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
  const done = answers[0]?.status === 200 ? first : second
  await refundReaches(shop, done.orderId, 'settled')
  await desk.checkBooks()
})

test('a reserve stays behind at the settlement and covers a refund', async () => {
  await change(sql`reserve_units = 60000000`)
  const [order] = [await createPaid(shop), await createPaid(shop)]
  await settle()
  assert.equal(await desk.payable(), 60_000_000n)
  await createPaid(shop, { amount: 10 })
  const path = `ledger?companyId=${shop.merchant.companyId}&limit=1`
  const { data } = await desk.admin.get<{ payout: Record<'ready' | 'kept', string> }>(path)
  const { ready, kept } = data.payout
  assert.deepEqual([ready, kept], ['10.800000', '60.000000'], 'what can be paid out, without the reserve')
  assert.equal((await revert(shop, order.code, { address: newAddress() })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  await change(sql`reserve_units = 0`)
  await settle()
  await desk.checkBooks()
})

test('a SuperAdmin’s word lets it go without cover, and only that', async () => {
  const order = await createPaid(shop)
  await settle()
  const to = newAddress()
  const plain = await withProof(shop, { code: order.code }, { address: to, withoutCover: true })
  const own = await revert(shop, order.code, plain)
  assert.deepEqual([own.status, own.error.code], [403, 'FORBIDDEN'])
  const path = `confirm_conversion/revert/${order.code}`
  const silent = await desk.admin.post(path, { ...plain, withoutCover: false })
  assert.equal(silent.error.code, 'REFUND_NOT_COVERED')
  assert.match(silent.error.message, /refund less, or refund without cover \(withoutCover\)/, 'told to who can')
  assert.equal((await desk.admin.post(path, plain)).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await desk.payable(), -54_000_000n)
  const owes = await desk.admin.get<{ payout: unknown }>(`ledger?companyId=${shop.merchant.companyId}&limit=1`)
  assert.deepEqual(owes.data.payout, {
    ...{ ready: '-54.000000', kept: '0.000000', owed: '-54.000000', undecided: '0.000000' },
  })
  const { data } = await desk.admin.get<{ refunds: { withoutCover: boolean }[]; total: number }>(
    `refunds?code=${order.code}`,
  )
  assert.deepEqual([data.total, data.refunds[0]?.withoutCover], [1, true])
  await desk.checkBooks()
})

/** The figures of a refusal, as the office reads them. */
const lackIn = ({ status, error: { code, message, details = [] } }: Answer<unknown>) =>
  lackOf(new ApiError(status, { code: code as ErrorCode, message, details }))

test('the debt that is shown before a refund without cover is what the company owes afterwards, earlier debts included', async () => {
  await settleAll()
  await change(sql`fee_bps = 150`)
  const orders = [await createPaid(shop), await createPaid(shop)]
  await settle()
  for (const [index, order] of orders.entries()) {
    const path = `confirm_conversion/revert/${order.code}`
    const plain = await withProof(shop, { code: order.code }, { address: newAddress() })
    const lack = lackIn(await desk.admin.post(path, plain))
    assert.deepEqual([lack?.needs, lack?.owedAfter], ['54.000000', `${54 * (index + 1)}.000000`])
    const sent = await desk.admin.post(path, { ...plain, withoutCover: true, mostOwed: lack?.owedAfter })
    assert.equal(sent.status, 200, sent.text)
    await refundReaches(shop, order.orderId, 'settled')
    assert.equal(await desk.payable(), -54_000_000n * BigInt(index + 1))
  }
  await change(sql`fee_bps = 0`)
})

test('a confirmation is for the figures that were shown: if the company would owe more by then, they are shown again', async () => {
  await settleAll()
  const [order] = [await createPaid(shop, { amount: 400 }), await createPaid(shop, { amount: 500 })]
  await settle()
  await createPaid(shop, { amount: 390 })
  const path = `confirm_conversion/revert/${order.code}`
  const plain = await withProof(shop, { code: order.code }, { address: newAddress() })
  const shown = lackIn(await desk.admin.post(path, plain))
  assert.deepEqual(shown, { needs: '432.000000', left: '421.200000', missing: '10.800000', owedAfter: '10.800000' })
  await settle() // a colleague pays out meanwhile
  const confirmed = { ...plain, withoutCover: true, mostOwed: shown?.owedAfter }
  const again = lackIn(await desk.admin.post(path, confirmed))
  assert.deepEqual(again, { needs: '432.000000', left: '0.000000', missing: '432.000000', owedAfter: '432.000000' })
  assert.equal((await refundsOf(order)).count, 0n)
  assert.equal((await desk.admin.post(path, { ...confirmed, mostOwed: '' })).status, 422, 'a bound that was lost')
  assert.equal((await desk.admin.post(path, { ...confirmed, mostOwed: again?.owedAfter })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await desk.payable(), -432_000_000n)
  await settleAll()
  await desk.checkBooks()
})

type Goal = {
  company: string
  channel: string | null
  network: number | null
  address: string | null
  proposedAddress: string | null
  statedAddresses: string[]
}
const goalOf = async (path: string): Promise<Goal> => (await desk.admin.get<Goal>(path)).data
const stateAddress = (code: string, userAddress: string) =>
  shop.host.call('POST', '/api/next/confirm_conversion/payer-information', {
    as: shop.merchant,
    body: { code, payerInformation: { userAddress } },
  })

test('who refunds reads before it where the money goes: the payer is asked, or confirms what was proposed later', async () => {
  const order = await createPaid(shop)
  const path = `confirm_conversion/revert/${order.code}`
  const open = { channel: 'crypto', network: 31337, address: null, statedAddresses: [] }
  const { company, ...asked } = await goalOf(path)
  assert.ok(company)
  assert.partialDeepStrictEqual(asked, { ...open, proposedAddress: null }, 'the payer is asked')
  const shown = newAddress()
  await stateAddress(order.code, shown)
  assert.partialDeepStrictEqual(await goalOf(path), { ...open, proposedAddress: shown }, 'after the payment')
  assert.equal((await revertPlainly(shop, order.code)).status, 200)
  const refund = await refundReaches(shop, order.orderId, 'needs_address', false)
  assert.deepEqual([refund.address, refund.proposedAddress], [null, shown])
  const none = { channel: null, network: null, address: null, proposedAddress: null, statedAddresses: [] }
  assert.partialDeepStrictEqual(await goalOf(path), { company, ...none }, 'one refund at a time')
})

test('who refunds reads the payer’s own addresses, and a refund to one of them goes there', async () => {
  const [stated, other] = [newAddress(), newAddress()]
  const order = await shop.createAwaiting()
  await stateAddress(order.code, stated)
  await shop.chain.pay({ to: order.toAddress, units: order.units + 4_000_000n })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const goal = { channel: 'crypto', network: 31337, address: stated, proposedAddress: null, statedAddresses: [stated] }
  const path = `confirm_conversion/revert/${order.code}`
  assert.partialDeepStrictEqual(await goalOf(path), goal)
  const above = await desk.openRecord(order, 'over', 4_000_000n)
  assert.partialDeepStrictEqual(await goalOf(`mispayments/${above._id}/refund`), goal, 'the money above the price')
  await revertPlainly(shop, order.code, { amount: '1', address: other })
  const proposed = await refundReaches(shop, order.orderId, 'needs_address', false)
  assert.equal(proposed.proposedAddress, other)
  await desk.admin.post(`refunds/${proposed._id}/reject`, { reason: 'another address' })
  await desk.until(order, ({ status }) => status === 'PAID')
  await revertPlainly(shop, order.code, { amount: '1', address: stated })
  assert.equal((await refundReaches(shop, order.orderId, 'settled')).address, stated)
})

test('a decision is about the money that was shown: once there is more or less of it, it is refused', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, order.units / 2n)
  const record = await desk.openRecord(order, 'under', order.units / 2n)
  const path = `mispayments/${record._id}`
  for (const [way, body] of [
    ['refund', { address: newAddress() }],
    ['accept', {}],
    ['ignore', { reason: 'asked' }],
  ] as const) {
    const { status, error } = await desk.admin.post(`${path}/${way}`, { ...body, units: `${order.units}` })
    assert.deepEqual([status, error.code], [409, 'OBJECT_CONFLICT'], way)
  }
  assert.equal((await desk.admin.post(`${path}/refund`, { units: `${order.units / 2n}` })).status, 200)
})

test('the fee on what was never settled is no lack of cover, and a tip above the price needs none', async () => {
  await createPaid(shop, { amount: 200 })
  await settle()
  await change(sql`fee_bps = 100`)
  const [first, second] = [await createPaid(shop), await createPaid(shop, {}, 6_000_000n)]
  for (const order of [first, second]) {
    assert.equal((await revert(shop, order.code, { amount: '0.000001', address: newAddress() })).status, 200)
    await refundReaches(shop, order.orderId, 'settled')
    assert.equal((await revert(shop, order.code, { address: newAddress() })).status, 200)
    await refundReaches(shop, order.orderId, 'settled')
    await desk.until(order, ({ status }) => status === 'FULL_REFUNDED')
  }
  await desk.checkBooks()
})
