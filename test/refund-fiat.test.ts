import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { acceptMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { findPayment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { recordForeignRefund } from '../src/refunds/foreign/foreign-refund.ts'
import { refundMispayment } from '../src/refunds/mispayment-refund.ts'
import { takeRefundNews } from '../src/refunds/refund-news.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/* What a refund is in the order's currency, for a provider that refunds in it: the share of what came. */

let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(() => world?.stop())

/** An order of 50 EUR, 54 USDC, of which so much came. */
async function receive(units: bigint) {
  const merchant = await world.host.createMerchant()
  const { id: orderId, code, from } = await world.makeOrder(merchant)
  assert.equal(from.units, 5000n)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  const { db } = world.host
  const { id, reference } = await db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  const key = { companyId: merchant.companyId, id }
  await applyReport(world.payments, key, paidReport(reference, { final: units, providerStatus: 'paid' }))
  const record = await db.maybe<{ id: string }>(sql`select id from mispayments where order_id = ${orderId}`)
  return { context, code, orderId, key, recordId: record?.id ?? '' }
}

/** An order of 50 EUR whose provider was asked for so many units. */
async function receiveDue(due: bigint) {
  const merchant = await world.host.createMerchant()
  const { id: orderId, code } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  const { db } = world.host
  await db.run(sql`update orders set to_units = ${String(due)}::numeric where id = ${orderId}`)
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  const report = (final: bigint) =>
    applyReport(
      world.payments,
      { companyId: merchant.companyId, id },
      { ...paidReport(reference, { final, providerStatus: 'part' }), isPart: true },
    )
  const openRecord = async (): Promise<string> =>
    (await db.one<{ id: string }>(sql`select id from mispayments where order_id = ${orderId} and status = 'open'`)).id
  return { context, code, orderId, due, report, openRecord }
}

type Received = Awaited<ReturnType<typeof receive>>

/** It becomes the price. */
async function receiveAccepted(units: bigint): Promise<Received> {
  const received = await receive(units)
  await acceptMispayment(world.mispayments, received.context, received.recordId, {})
  return received
}
const revert = ({ context, code }: Received, amount?: string) =>
  revertOrder(world.refunds, context, code, amount === undefined ? {} : { amount })
const refundsOf = ({ orderId }: Pick<Received, 'orderId'>) =>
  world.host.db.many<{ units: string; fiat: string }>(sql`
    select units::text, fiat_units::text as fiat from refunds where order_id = ${orderId} order by number`)

test('of half the price that was accepted, half is a quarter of the order in fiat', async () => {
  const received = await receiveAccepted(DUE / 2n)
  await revert(received, '13.5')
  assert.deepEqual(await refundsOf(received), [{ units: '13500000', fiat: '1250' }])
})

test('all of an accepted part is what came, to the cent, and not the whole price', async () => {
  const half = await receiveAccepted(DUE / 2n)
  await revert(half)
  assert.deepEqual(await refundsOf(half), [{ units: '27000000', fiat: '2500' }])
  // 12.35 EUR at a provider that takes fiat
  const rounded = await receiveAccepted((DUE * 1235n) / 5000n - 1n)
  await revert(rounded)
  assert.equal((await refundsOf(rounded))[0]?.fiat, '1235')
})

test('money above the price goes back in fiat too, unless it went back by itself', async () => {
  const over = await receive(DUE + 5_400_000n)
  await revert(over)
  assert.deepEqual(await refundsOf(over), [{ units: '59400000', fiat: '5500' }])
  const beside = await receive(DUE + 5_400_000n)
  await refundMispayment(world.refunds, beside.context, beside.recordId, { reason: 'too much' })
  await revert(beside)
  assert.deepEqual(await refundsOf(beside), [
    { units: '5400000', fiat: '500' },
    { units: '54000000', fiat: '5000' },
  ])
})

test('money that never paid goes back to the cent that came, all or in parts, and by the price that was asked for', async () => {
  // 12.35 EUR, then 12.34 EUR more, at a provider that takes fiat and whose report in USDC is rounded down
  const inUsdc = (cents: bigint): bigint => (received.due * cents) / 5000n
  const received = await receiveDue(54_321_987n)
  await received.report(inUsdc(1235n))
  await refundMispayment(world.refunds, received.context, await received.openRecord(), {})
  await received.report(inUsdc(1235n + 1234n))
  await refundMispayment(world.refunds, received.context, await received.openRecord(), {})
  assert.deepEqual(
    (await refundsOf(received)).map(({ fiat }) => fiat),
    ['1235', '1234'],
  )
  // priced anew since: the provider still counts by what it was asked for
  const before = await receiveDue(54_321_987n)
  await before.report(inUsdc(2500n))
  await world.host.db.run(sql`update orders set to_units = 60000000 where id = ${before.orderId}`)
  await refundMispayment(world.refunds, before.context, await before.openRecord(), {})
  assert.equal((await refundsOf(before))[0]?.fiat, '2500')
})

test('a refund from the provider’s console is its share of what came; the rest of that is all', async () => {
  const received = await receiveAccepted(DUE / 2n)
  const payment = await findPayment(world.host.db, received.key.companyId, received.key.id)
  assert.ok(payment)
  const told = (reference: string, units: bigint) =>
    recordForeignRefund(world.refunds, payment, {
      reference,
      fiat: { asset: 'EUR', units },
      providerStatus: 'refunded',
    })
  await told(`console-${received.orderId}-1`, 1000n)
  await told(`console-${received.orderId}-2`, 1500n)
  assert.deepEqual(await refundsOf(received), [
    { units: '10800000', fiat: '1000' },
    { units: '16200000', fiat: '1500' },
  ])
})

test('a provider that can be asked about its refunds is asked: no callback settles one of ours', async () => {
  const received = await receive(DUE)
  const { refundId } = await revert(received, '20')
  const payment = await findPayment(world.host.db, received.key.companyId, received.key.id)
  assert.ok(payment)
  const fiat = { asset: 'USDC', units: 20_000_000n } as const
  const news = { reference: 'kpr_1', refundId, outcome: 'settled', fiat, providerStatus: 'SUCCEEDED' } as const
  await takeRefundNews(world.refunds, payment, news)
  assert.notEqual(
    (await world.host.db.one<{ status: string }>(sql`select status from refunds where id = ${refundId}`)).status,
    'settled',
  )
  const { count } = await world.host.db.one<{ count: bigint }>(
    sql`select count(*) from ledger_differences where company_id = ${received.key.companyId}`,
  )
  assert.equal(count, 0n)
})
