import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { sql } from '../src/db/db.ts'
import { type Listed, type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/*
 * What a person decided about money never counts again: not on the page, not in the state, not in the books, not in a
 * settlement, before the order's end and after it.
 */

let shop: Shop
let desk: MoneyDesk

before(async () => {
  shop = await openShop({ env: payoutEnv })
  desk = await openMoneyDesk(shop)
})
after(() => shop?.stop())

const MILLION = 1_000_000n

test('a refunded part does not pay the order with the rest, and the page asks for the whole price again', async () => {
  const order = await shop.createAwaiting()
  const before = await desk.payable()
  await desk.payFinally(order, 30n * MILLION)
  const record = await desk.openRecord(order, 'under', 30n * MILLION)
  assert.match(await desk.pageOf(order), /Still to pay 24\.00/)
  const to = newAddress()
  assert.equal((await desk.refund(order, record, to)).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  const page = await desk.pageOf(order)
  assert.doesNotMatch(page, /Still to pay/)
  assert.match(page, /54\.00/)
  await desk.payFinally(order, 24n * MILLION)
  await desk.toldOf(order, 54n * MILLION)
  const story = await shop.story(order.orderId)
  assert.deepEqual([story.status, story.paidUnits, story.deliveries.length], ['AWAITING', '0', 0])
  assert.match(await desk.pageOf(order), /Received 24\.00.*Still to pay 30\.00/)
  assert.equal(await desk.payable(), before)
  await desk.checkBooks()
  await desk.payFinally(order, 30n * MILLION)
  const paid = await desk.until(order, ({ status }) => status === 'PAID')
  assert.equal(paid.paidUnits, '54000000')
  assert.equal((await desk.payable()) - before, 54n * MILLION)
  assert.equal(await shop.chain.balanceOf(to), 30n * MILLION)
  await desk.checkBooks()
  const tooMuch = await revert(shop, order.code, { amount: '54.000001', address: to })
  assert.equal(tooMuch.error.code, 'REFUND_TOO_LARGE')
})

test('an ignored part pays nothing either, also when the rest comes after the order’s end', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 30n * MILLION)
  assert.equal((await desk.ignore(await desk.openRecord(order, 'under', 30n * MILLION))).status, 200)
  await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })
  await desk.payFinally(order, 24n * MILLION)
  await desk.openRecord(order, 'under', 24n * MILLION)
  assert.equal((await shop.story(order.orderId)).status, 'EXPIRED')
  await desk.checkBooks()
  assert.match(await desk.pageOf(order), /We received 24\.00 USDC/)
})

test('an ignored part is no part of a late full payment, which pays the order alone', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 30n * MILLION)
  assert.equal((await desk.ignore(await desk.openRecord(order, 'under', 30n * MILLION))).status, 200)
  await shop.host.call('POST', `expire/${order.code}`, { as: shop.merchant })
  await desk.payFinally(order, 54n * MILLION)
  const paid = await desk.until(order, ({ status }) => status === 'PAID')
  assert.equal(paid.paidUnits, '54000000')
  assert.deepEqual(
    paid.mispayments.map(({ kind, status, units }) => `${kind} ${status} ${units}`),
    ['under ignored 30000000'],
  )
  await desk.checkBooks()
})

test('after a decision the payment waits as if nothing had come, also when more is on its way', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 30n * MILLION)
  const record = await desk.openRecord(order, 'under', 30n * MILLION)
  await shop.chain.pay({ to: order.toAddress, units: 24n * MILLION })
  await shop.reaches(order.code, 'WAITING_CHAIN_CONFIRMATION')
  assert.equal((await desk.ignore(record)).status, 200)
  await shop.reaches(order.code, 'AWAITING')
  await shop.makeFinal()
  assert.equal((await desk.ignore(await desk.openRecord(order, 'under', 24n * MILLION))).status, 200)
  await desk.until(order, ({ payments }) => payments[0]?.status === 'awaiting')
  await desk.checkBooks()
})

test('a second part is accepted as the price of its own, without the part that was refunded', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 30n * MILLION)
  await desk.refund(order, await desk.openRecord(order, 'under', 30n * MILLION), newAddress())
  await desk.payFinally(order, 20n * MILLION)
  const second = await desk.openRecord(order, 'under', 20n * MILLION)
  assert.equal((await desk.admin.post(`mispayments/${second._id}/accept`, {})).status, 200)
  const paid = await shop.story(order.orderId)
  assert.deepEqual([paid.status, paid.paidUnits], ['PAID', '20000000'])
  await desk.checkBooks()
})

test('what can be refunded is what arrived, not the price, and no more once it went back', async () => {
  const refundable = async ({ code }: Payable): Promise<string> => {
    const path = `/api/next/confirm_conversion/revert/${code}`
    return (await shop.host.call<{ refundableAmount: string }>('GET', path, { as: shop.merchant })).data
      .refundableAmount
  }
  const part = await shop.createAwaiting()
  await desk.payFinally(part, 20n * MILLION)
  assert.equal(await refundable(part), '0.000000')
  const under = await desk.openRecord(part, 'under', 20n * MILLION)
  assert.equal((await desk.admin.post(`mispayments/${under._id}/accept`, {})).status, 200)
  assert.equal(await refundable(part), '20.000000')
  assert.equal((await revert(shop, part.code, { amount: '5', address: newAddress() })).status, 200)
  await refundReaches(shop, part.orderId, 'settled')
  assert.match(await desk.pageOf(part), /5\.00 USDC of 20\.00 USDC have been sent back to you\./)
  const more = await shop.createAwaiting()
  await desk.payFinally(more, 60n * MILLION)
  const over = await desk.openRecord(more, 'over', 6n * MILLION)
  assert.equal(await refundable(more), '60.000000')
  assert.equal((await desk.ignore(over)).status, 200)
  assert.equal(await refundable(more), '54.000000')
  assert.equal((await revert(shop, more.code, { amount: '4', address: newAddress() })).status, 200)
  await refundReaches(shop, more.orderId, 'settled')
  assert.equal(await refundable(more), '50.000000')
  assert.equal((await revert(shop, more.code, { address: newAddress() })).status, 200)
  const rest = await refundReaches(shop, more.orderId, 'settled')
  assert.deepEqual([rest.amount, await refundable(more)], ['50.000000', '0.000000'])
})

test('a refund of a part that is rejected puts the part back: into the price, or above it', async () => {
  const { companyId } = shop.merchant
  const approval = (on: boolean) =>
    shop.host.db.run(sql`update companies set refund_approval = ${on} where id = ${companyId}`)
  const waitForRefund = async (order: Payable, record: Listed): Promise<string> => {
    await approval(true)
    const { data } = await desk.refund(order, record, newAddress())
    await approval(false)
    return String(data.refundId)
  }
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 30n * MILLION)
  const first = await waitForRefund(order, await desk.openRecord(order, 'under', 30n * MILLION))
  await desk.payFinally(order, 24n * MILLION)
  await desk.openRecord(order, 'under', 24n * MILLION)
  assert.equal((await desk.admin.post(`refunds/${first}/reject`, { reason: 'no' })).status, 200)
  assert.equal((await desk.until(order, ({ status }) => status === 'PAID')).paidUnits, '54000000')
  await desk.checkBooks()
  const other = await shop.createAwaiting()
  await desk.payFinally(other, 30n * MILLION)
  const second = await waitForRefund(other, await desk.openRecord(other, 'under', 30n * MILLION))
  await desk.payFinally(other, 54n * MILLION)
  await desk.until(other, ({ status }) => status === 'PAID')
  assert.equal((await desk.admin.post(`refunds/${second}/reject`, { reason: 'no' })).status, 200)
  await desk.checkBooks()
  await desk.openRecord(other, 'over', 30n * MILLION)
  assert.equal((await shop.story(other.orderId)).paidUnits, '84000000')
  await desk.checkBooks()
})

test('ignored money above the price does not go back with the order', async () => {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 60n * MILLION)
  assert.equal((await desk.ignore(await desk.openRecord(order, 'over', 6n * MILLION))).status, 200)
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { amount: '54.000001', address: to })).error.code, 'REFUND_TOO_LARGE')
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  await desk.until(order, ({ status }) => status === 'FULL_REFUNDED')
  assert.equal(await shop.chain.balanceOf(to), 54n * MILLION)
  await desk.checkBooks()
})

type Row = Record<'code' | 'transactionHash' | 'feeAmount' | 'refundedAmount', string> &
  Record<'paidAmount' | 'overpaidAmount' | 'refundedExcessAmount' | 'lostAmount', string>

async function exportRows(): Promise<Row[]> {
  const url = `${shop.host.baseUrl}/api/next/confirm_conversion/download`
  return parse(await (await fetch(url, { headers: shop.merchant.headers })).text(), { columns: true })
}

test('the export names the transaction that completed the price, not dust nor what was sent back', async () => {
  const rowOf = async ({ code }: Payable) => (await exportRows()).find((row) => row.code === code)
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 20n * MILLION)
  await desk.refund(order, await desk.openRecord(order, 'under', 20n * MILLION), newAddress())
  await refundReaches(shop, order.orderId, 'settled')
  await desk.payFinally(order, 1n)
  assert.equal((await rowOf(order))?.transactionHash, '', 'nothing has paid it yet')
  const paidBy = await desk.payFinally(order, 60n * MILLION)
  await desk.until(order, ({ status }) => status === 'PAID')
  await desk.payFinally(order, 3n * MILLION)
  await desk.toldOf(order, 83n * MILLION + 1n)
  assert.equal((await rowOf(order))?.transactionHash, paidBy)
  // as long as the transfer would not be final if it were large
  await shop.host.db.run(sql`update chain_transfers set final_at = null where tx_hash = ${paidBy}`)
  assert.equal((await rowOf(order))?.transactionHash, paidBy, 'paid, and not settled by the chain yet')
  const old = await shop.createAwaiting()
  await shop.host.db.run(sql`update orders set expires_at = now() - interval '1 second' where id = ${old.orderId}`)
  await shop.chain.mine(3)
  await shop.reaches(old.code, 'EXPIRED')
  const { data } = await shop.accept(old.code, { network: 31337, requote: true })
  await desk.payFinally(old, 20n * MILLION)
  await desk.openRecord(old, 'under', 20n * MILLION)
  const whole = await desk.payFinally({ ...old, toAddress: data?.toAddress ?? '' }, 54n * MILLION)
  await desk.until(old, ({ status }) => status === 'PAID')
  assert.equal((await rowOf(old))?.transactionHash, whole, 'the part went to the attempt before')
})

async function loseAndBear(order: Payable, units: bigint): Promise<void> {
  await shop.chain.reorg(4)
  const { _id } = await desk.openRecord(order, 'orphaned', units)
  assert.equal((await desk.admin.post(`mispayments/${_id}/bear`, { by: 'company', reason: 'agreed' })).status, 200)
}

/** Paid with two transfers; the second left the chain, the company bears it, and 10 of it came back. */
async function payAndLose(): Promise<Payable> {
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 30n * MILLION)
  await shop.chain.mine(10)
  await desk.payFinally(order, 31n * MILLION)
  await desk.until(order, ({ status }) => status === 'PAID')
  await loseAndBear(order, 24n * MILLION)
  await desk.payFinally(order, 10n * MILLION)
  await desk.until(order, ({ mispayments }) => mispayments.some(({ units }) => units === String(14n * MILLION)))
  return order
}

test('the export adds up to the books: less than the price, more than it, refunds of both, and a loss', async () => {
  const { companyId } = shop.merchant
  await shop.host.db.run(sql`update companies set fee_bps = 137, version = version + 1 where id = ${companyId}`)
  const [under, over] = [await shop.createAwaiting(), await shop.createAwaiting()]
  await desk.payFinally(under, 20n * MILLION + 3n)
  const { _id } = await desk.openRecord(under, 'under', 20n * MILLION + 3n)
  assert.equal((await desk.admin.post(`mispayments/${_id}/accept`, { reason: 'agreed' })).status, 200)
  await desk.payFinally(over, 61n * MILLION + 1n)
  await desk.until(over, ({ status }) => status === 'PAID')
  assert.equal((await revert(shop, over.code, { amount: '10.5', address: newAddress() })).status, 200)
  await refundReaches(shop, over.orderId, 'settled')
  const unpaid = await shop.createAwaiting()
  await shop.chain.mine(10)
  await desk.payFinally(unpaid, 5n * MILLION)
  await desk.ignore(await desk.openRecord(unpaid, 'under', 5n * MILLION))
  await loseAndBear(unpaid, 5n * MILLION)
  const lost = await payAndLose()
  assert.equal((await revert(shop, lost.code, { amount: '10', address: newAddress() })).status, 200)
  await refundReaches(shop, lost.orderId, 'settled')
  const rows = await exportRows()
  const moneyOf = ({ code }: Payable) => {
    const row = rows.find((one) => one.code === code)
    return [row?.paidAmount, row?.overpaidAmount, row?.refundedAmount, row?.refundedExcessAmount]
  }
  assert.deepEqual(moneyOf(under), ['20.000003', '0.000000', '0.000000', '0.000000'])
  assert.deepEqual(moneyOf(over), ['54.000000', '7.000001', '10.500000', '7.000001'])
  const lossOf = (order: Payable) => rows.find(({ code }) => code === order.code)?.lostAmount
  assert.deepEqual([under, unpaid, lost].map(lossOf), ['0.000000', '5.000000', '14.000000'])
  const sum = (name: keyof Row): number =>
    rows.reduce((total, row) => total + Math.round(Number(row[name]) * 1_000_000), 0)
  type Fees = { months: Record<'received' | 'fees' | 'refunded' | 'losses', string>[] }
  const [month] = (await desk.admin.get<Fees>(`ledger/fees?companyId=${companyId}`)).data.months
  assert.deepEqual(
    [sum('paidAmount'), sum('feeAmount'), sum('refundedAmount') - sum('refundedExcessAmount'), sum('lostAmount')],
    [month?.received, month?.fees, month?.refunded, month?.losses].map((amount) =>
      Math.round(Number(amount) * 1_000_000),
    ),
  )
  await shop.host.db.run(sql`update companies set fee_bps = 0, version = version + 1 where id = ${companyId}`)
})

test('a settlement pays what the decided part never was', async () => {
  const order = await shop.createAwaiting()
  const before = await desk.payable()
  await desk.payFinally(order, 30n * MILLION)
  await desk.refund(order, await desk.openRecord(order, 'under', 30n * MILLION), newAddress())
  await desk.payFinally(order, 54n * MILLION)
  await desk.until(order, ({ status }) => status === 'PAID')
  await shop.host.db.run(sql`update companies set settlement_address = ${newAddress()}, settlement_network = 31337
    where id = ${shop.merchant.companyId}`)
  const made = await desk.admin.post<{ amount: string }>('settlements', { companyId: shop.merchant.companyId })
  assert.equal(made.data.amount.replace('.', ''), String(before + 54n * MILLION))
  await desk.checkBooks()
})

test('two parts that go back are told apart: each refund has its title, its amount and its own way to name the address', async () => {
  const order = await shop.createAwaiting()
  for (const units of [30n, 10n]) {
    await desk.payFinally(order, units * MILLION)
    const part = await desk.openRecord(order, 'under', units * MILLION)
    assert.equal((await desk.admin.post(`mispayments/${part._id}/refund`, { reason: 'sent back' })).status, 200)
  }
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}&lang=en`)).text()
  const boxes = [...page.matchAll(/<section class="box"><h3>([^<]*)<\/h3>(.*?)<\/section>/gs)].map(
    ([, title, text]) => ({
      title,
      amount: /[\d.]+ USDC/.exec(text ?? '')?.[0],
      link: /href="([^"]*)"/.exec(text ?? '')?.[1],
    }),
  )
  const asked = boxes.filter(({ title }) => title === 'Where should your refund go?')
  assert.deepEqual(
    asked.map(({ amount }) => amount),
    ['30.00 USDC', '10.00 USDC'],
    JSON.stringify(boxes),
  )
  assert.equal(new Set(asked.map(({ link }) => link)).size, 2)
})
