import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport, type RefundNews } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { ignoreMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { findPayment, type Payment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { noticeForeignRefund } from '../src/refunds/foreign-refund.ts'
import { takeRefundNews } from '../src/refunds/refund-news.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/** Refunds that somebody started in the provider's console. */
let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(async () => {
  try {
    if (world) assert.equal((await verifyLedger(world.host.db)).difference, null)
  } finally {
    await world?.stop()
  }
})

type Sale = { companyId: string; orderId: string; code: string; payment: Payment }

async function sell(final = DUE): Promise<Sale> {
  const merchant = await world.host.createMerchant()
  const { companyId } = merchant
  const { id: orderId, code } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await world.host.db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  await applyReport(world.payments, { companyId, id }, paidReport(reference, { final, providerStatus: 'PAID' }))
  const payment = await findPayment(world.host.db, companyId, id)
  assert.ok(payment)
  return { companyId, orderId, code, payment }
}

const tell = ({ payment }: Sale, reference: string, units = 5000n) => {
  const fiat = { asset: 'EUR', units } as const
  const news: RefundNews = { reference, refundId: null, outcome: 'settled', fiat, providerStatus: 'transferred' }
  return takeRefundNews(world.refunds, payment, news)
}
const refundsOf = ({ orderId }: Sale) =>
  world.host.db.many<{ units: string; reference: string }>(sql`
    select units::text, provider_reference as reference from refunds where order_id = ${orderId} order by number`)
const differencesOf = ({ companyId }: Sale) =>
  world.host.db.many<{ subject: string; expected: string }>(sql`
    select subject, expected from ledger_differences where company_id = ${companyId} and status = 'open'`)

test('a refund above what its order still holds stops the company’s money until a person has looked', async () => {
  const sale = await sell()
  await tell(sale, 'r1')
  assert.deepEqual(await refundsOf(sale), [{ units: '54000000', reference: 'r1' }])
  await tell(sale, 'r1')
  assert.deepEqual(await differencesOf(sale), [], 'a repeated report is no news')
  for (let turn = 0; turn < 2; turn += 1) await tell(sale, 'r2', 2000n)
  assert.equal((await refundsOf(sale)).length, 1)
  assert.deepEqual(await differencesOf(sale), [
    { subject: `order ${sale.code}, refund r2`, expected: 'transferred: 20.00 EUR' },
  ])
  await assert.rejects(world.books.check(sale.companyId), { code: 'BOOKS_DIFFER' })
})

test('money above the price that was ignored hides no refund of the price', async () => {
  const sale = await sell(DUE + 6_000_000n)
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from mispayments where order_id = ${sale.orderId} and kind = 'over'`,
  )
  const admin = contextFor({ ...actorOf(sale), kind: 'user', role: 'SuperAdmin' })
  await ignoreMispayment(world.mispayments, admin, id, { reason: 'the payer gave it' })
  for (let turn = 0; turn < 2; turn += 1) await noticeForeignRefund(world.refunds, sale.payment, 10_000_000n)
  assert.deepEqual(
    (await refundsOf(sale)).map(({ units }) => units),
    ['10000000'],
  )
})

test('a refund of a payment that did not pay its order stops the company’s money until a person has looked', async () => {
  const sale = await sell()
  const second = { ...sale.payment, id: newId() }
  for (let turn = 0; turn < 2; turn += 1) await noticeForeignRefund(world.refunds, second, DUE)
  assert.deepEqual(await refundsOf(sale), [])
  assert.deepEqual(await differencesOf(sale), [
    { subject: `order ${sale.code}, payment ${second.id}`, expected: '54.000000 USDC' },
  ])
})
