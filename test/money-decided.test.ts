import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin } from './harness/accounts.ts'
import { newAddress, payoutEnv, refundReaches, revert, withProof } from './harness/refunds.ts'
import { type Answer, eventually } from './harness/service.ts'
import { type OrderStory, openShop, type Payable, type Shop } from './harness/shop.ts'

/*
 * What a person decided about money never counts again: not on the page, not in the state, not in the books, not in a
 * settlement, before the order's end and after it.
 */

type Listed = { _id: string; kind: string; status: string; amount: string }

let shop: Shop
let admin: Client

before(async () => {
  shop = await openShop({ env: payoutEnv })
  admin = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

const recordsOf = async ({ code }: Payable): Promise<Listed[]> =>
  (await admin.get<{ mispayments: Listed[] }>(`mispayments?code=${code}`)).data.mispayments.toReversed()
const payFinally = async ({ toAddress: to }: Payable, units: bigint): Promise<void> => {
  await shop.chain.pay({ to, units })
  await shop.makeFinal()
}
const until = (order: Payable, isRight: (story: OrderStory) => boolean): Promise<OrderStory> =>
  eventually(() => shop.story(order.orderId), isRight)
const openRecord = async (order: Payable, kind: string, units: bigint): Promise<Listed> => {
  await until(order, ({ mispayments }) =>
    mispayments.some((one) => one.kind === kind && one.status === 'open' && one.units === String(units)),
  )
  const found = (await recordsOf(order)).find((one) => one.kind === kind && one.status === 'open')
  assert.ok(found)
  return found
}
const ignore = (record: Listed): Promise<Answer> => admin.post(`mispayments/${record._id}/ignore`, { reason: 'no' })
const refund = async ({ code }: Payable, record: Listed, to: string): Promise<Answer> =>
  admin.post(
    `mispayments/${record._id}/refund`,
    await withProof(shop, { code, mispaymentId: record._id }, { address: to, reason: 'sent back' }),
  )
const checkBooks = async (): Promise<void> => {
  const verdict = await verifyLedger(shop.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
}
const payable = async (): Promise<bigint> => {
  const { units } = await shop.host.db.one<{ units: string }>(sql`
    select coalesce(-sum(units), 0) as units from ledger_entries
    where company_id = ${shop.merchant.companyId} and account = 'company_payable'`)
  return BigInt(units)
}
/** What a payer reads. */
const pageOf = async ({ code }: Payable): Promise<string> => {
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}&lang=en`)).text()
  const main = /<main>(.*)<p class="note" id="lost"/s.exec(page)?.[1] ?? ''
  return main
    .replaceAll(/<svg.*?<\/svg>/gs, '')
    .replaceAll(/<[^>]+>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ')
}
/** All news of the chain reached the payments. */
const toldOf = (order: Payable, units: bigint): Promise<OrderStory> =>
  until(order, ({ payments }) => payments.some(({ receivedUnits }) => BigInt(receivedUnits) === units))
const MILLION = 1_000_000n

test('a refunded part does not pay the order with the rest, and the page asks for the whole price again', async () => {
  const order = await shop.createAwaiting()
  const before = await payable()
  await payFinally(order, 30n * MILLION)
  const record = await openRecord(order, 'under', 30n * MILLION)
  assert.match(await pageOf(order), /Still missing 24\.00/)
  const to = newAddress()
  assert.equal((await refund(order, record, to)).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  const page = await pageOf(order)
  assert.doesNotMatch(page, /Still missing/)
  assert.match(page, /54\.00/)
  await payFinally(order, 24n * MILLION)
  await toldOf(order, 54n * MILLION)
  const story = await shop.story(order.orderId)
  assert.deepEqual([story.status, story.paidUnits, story.deliveries.length], ['AWAITING', '0', 0])
  assert.match(await pageOf(order), /Arrived 24\.00.*Still missing 30\.00/)
  assert.equal(await payable(), before)
  await checkBooks()
  await payFinally(order, 30n * MILLION)
  const paid = await until(order, ({ status }) => status === 'PAID')
  assert.equal(paid.paidUnits, '54000000')
  assert.equal((await payable()) - before, 54n * MILLION)
  assert.equal(await shop.chain.balanceOf(to), 30n * MILLION)
  await checkBooks()
  const tooMuch = await revert(shop, order.code, { amount: '54.000001', address: to })
  assert.equal(tooMuch.error.code, 'REFUND_TOO_LARGE')
})

test('an ignored part pays nothing either, also when the rest comes after the order’s end', async () => {
  const order = await shop.createAwaiting()
  await payFinally(order, 30n * MILLION)
  assert.equal((await ignore(await openRecord(order, 'under', 30n * MILLION))).status, 200)
  await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })
  await payFinally(order, 24n * MILLION)
  await openRecord(order, 'under', 24n * MILLION)
  assert.equal((await shop.story(order.orderId)).status, 'EXPIRED')
  await checkBooks()
  assert.match(await pageOf(order), /24(\.00)? USDC have arrived/)
})

test('an ignored part is no part of a late full payment, which pays the order alone', async () => {
  const order = await shop.createAwaiting()
  await payFinally(order, 30n * MILLION)
  assert.equal((await ignore(await openRecord(order, 'under', 30n * MILLION))).status, 200)
  await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })
  await payFinally(order, 54n * MILLION)
  const paid = await until(order, ({ status }) => status === 'PAID')
  assert.equal(paid.paidUnits, '54000000')
  assert.deepEqual(
    paid.mispayments.map(({ kind, status, units }) => `${kind} ${status} ${units}`),
    ['under ignored 30000000'],
  )
  await checkBooks()
})

test('after a decision the payment waits as if nothing had come, also when more is on its way', async () => {
  const order = await shop.createAwaiting()
  await payFinally(order, 30n * MILLION)
  const record = await openRecord(order, 'under', 30n * MILLION)
  await shop.chain.pay({ to: order.toAddress, units: 24n * MILLION })
  await shop.reaches(order.code, 'WAITING_CHAIN_CONFIRMATION')
  assert.equal((await ignore(record)).status, 200)
  await shop.reaches(order.code, 'AWAITING')
  await shop.makeFinal()
  assert.equal((await ignore(await openRecord(order, 'under', 24n * MILLION))).status, 200)
  await until(order, ({ payments }) => payments[0]?.status === 'awaiting')
  await checkBooks()
})

test('a second part is accepted as the price of its own, without the part that was refunded', async () => {
  const order = await shop.createAwaiting()
  await payFinally(order, 30n * MILLION)
  await refund(order, await openRecord(order, 'under', 30n * MILLION), newAddress())
  await payFinally(order, 20n * MILLION)
  const second = await openRecord(order, 'under', 20n * MILLION)
  assert.equal((await admin.post(`mispayments/${second._id}/accept`, {})).status, 200)
  const paid = await shop.story(order.orderId)
  assert.deepEqual([paid.status, paid.paidUnits], ['PAID', '20000000'])
  await checkBooks()
})

test('a refund of a part that is rejected puts the part back: into the price, or above it', async () => {
  const { companyId } = shop.merchant
  const approval = (on: boolean) =>
    shop.host.db.run(sql`update companies set refund_approval = ${on} where id = ${companyId}`)
  const waitForRefund = async (order: Payable, record: Listed): Promise<string> => {
    await approval(true)
    const { data } = await refund(order, record, newAddress())
    await approval(false)
    return String(data.refundId)
  }
  const order = await shop.createAwaiting()
  await payFinally(order, 30n * MILLION)
  const first = await waitForRefund(order, await openRecord(order, 'under', 30n * MILLION))
  await payFinally(order, 24n * MILLION)
  await openRecord(order, 'under', 24n * MILLION)
  assert.equal((await admin.post(`refunds/${first}/reject`, { reason: 'no' })).status, 200)
  assert.equal((await until(order, ({ status }) => status === 'PAID')).paidUnits, '54000000')
  await checkBooks()
  const other = await shop.createAwaiting()
  await payFinally(other, 30n * MILLION)
  const second = await waitForRefund(other, await openRecord(other, 'under', 30n * MILLION))
  await payFinally(other, 54n * MILLION)
  await until(other, ({ status }) => status === 'PAID')
  assert.equal((await admin.post(`refunds/${second}/reject`, { reason: 'no' })).status, 200)
  await checkBooks()
  await openRecord(other, 'over', 30n * MILLION)
  assert.equal((await shop.story(other.orderId)).paidUnits, '84000000')
  await checkBooks()
})

test('ignored money above the price does not go back with the order', async () => {
  const order = await shop.createAwaiting()
  await payFinally(order, 60n * MILLION)
  assert.equal((await ignore(await openRecord(order, 'over', 6n * MILLION))).status, 200)
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { amount: '54.000001', address: to })).error.code, 'REFUND_TOO_LARGE')
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  await until(order, ({ status }) => status === 'FULL_REFUNDED')
  assert.equal(await shop.chain.balanceOf(to), 54n * MILLION)
  await checkBooks()
})

test('a settlement pays what the decided part never was', async () => {
  const order = await shop.createAwaiting()
  const before = await payable()
  await payFinally(order, 30n * MILLION)
  await refund(order, await openRecord(order, 'under', 30n * MILLION), newAddress())
  await payFinally(order, 54n * MILLION)
  await until(order, ({ status }) => status === 'PAID')
  await shop.host.db.run(sql`update companies set settlement_address = ${newAddress()}, settlement_network = 31337
    where id = ${shop.merchant.companyId}`)
  const made = await admin.post<{ amount: string }>('settlements', { companyId: shop.merchant.companyId })
  assert.equal(made.data.amount.replace('.', ''), String(before + 54n * MILLION))
  await checkBooks()
})
