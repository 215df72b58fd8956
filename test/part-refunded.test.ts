import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport, type RefundReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { explainDifference } from '../src/ledger/difference-service.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { findPayment, type Payment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { noticeForeignRefund } from '../src/refunds/foreign/foreign-refund.ts'
import { settleByHand } from '../src/refunds/manual-refund.ts'
import { refundPolls } from '../src/refunds/refund-jobs.ts'
import { findRefund } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'

/** A provider that says that a part was refunded, and not how much: Binance, of a refund from its console. */
let world: ModelWorld
let outcome: RefundReport['outcome'] = 'settled'
let calledBackAt: string | undefined

before(async () => {
  world = await startModelWorld({
    refundPayment: async ({ refundId, callbackUrl }) => {
      calledBackAt = callbackUrl
      return { outcome, reference: refundId, txHash: null, providerStatus: outcome }
    },
  })
})
after(() => world?.stop())

type Sale = { companyId: string; orderId: string; code: string; payment: Payment }

async function sell(): Promise<Sale> {
  const merchant = await world.host.createMerchant()
  const { companyId } = merchant
  const { id: orderId, code } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await world.host.db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  await applyReport(world.payments, { companyId, id }, paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  const payment = await findPayment(world.host.db, companyId, id)
  assert.ok(payment)
  return { companyId, orderId, code, payment }
}

const noticePart = ({ payment }: Sale) =>
  world.host.db.tx((tx) => noticeForeignRefund(world.refunds, tx, payment, { refundedPart: true }))
const noticeTotal = ({ payment }: Sale, refunded: bigint) =>
  world.host.db.tx((tx) => noticeForeignRefund(world.refunds, tx, payment, { refunded }))

const refundsOf = ({ orderId }: Sale) =>
  world.host.db.many<{ units: string; status: string }>(
    sql`select units::text, status from refunds where order_id = ${orderId} order by number`,
  )
const openOf = ({ companyId }: Sale) =>
  world.host.db.many<{ id: string; subject: string; expected: string }>(sql`
    select id, subject, expected from ledger_differences where company_id = ${companyId} and status = 'open'`)

/** A refund of ours that the provider answers with this. */
async function refund(sale: Sale, amount: string, answer: RefundReport['outcome']): Promise<string> {
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount })
  outcome = answer
  await refundPolls(world.refunds).work(world.host.db, { companyId: sale.companyId, id: refundId })
  return refundId
}

test('a part that nobody here refunded is never booked, and stops the company’s money until a person has looked', async () => {
  const sale = await sell()
  for (let turn = 0; turn < 2; turn += 1) await noticePart(sale)
  assert.deepEqual(await refundsOf(sale), [])
  const [difference, ...more] = await openOf(sale)
  assert.ok(difference)
  assert.deepEqual(more, [])
  assert.equal(difference.subject, `order ${sale.code}, part of payment ${sale.payment.id}`)
  assert.match(difference.expected, /partly refunded/)
  await assert.rejects(world.books.check(sale.companyId), { code: 'BOOKS_DIFFER' })
  const reason = '5 EUR in the console, by Ann'
  await explainDifference(world.refunds, contextFor(world.operator), difference.id, { reason })
  await noticePart(sale)
  assert.deepEqual(await openOf(sale), [], 'a person has explained it')
})

test('a refund of ours that the provider took explains the part, one that it refused does not', async () => {
  for (const answer of ['settled', 'pending', 'unknown'] as const) {
    const sale = await sell()
    await refund(sale, '10', answer)
    assert.equal(calledBackAt, `${world.host.baseUrl}/api/next/channels/binance/callback`)
    await noticePart(sale)
    assert.deepEqual(await openOf(sale), [], answer)
  }
  const refused = await sell()
  await refund(refused, '10', 'refused')
  await noticePart(refused)
  assert.equal((await openOf(refused)).length, 1)
})

test('a refund that a person sent another way does not explain the part', async () => {
  const sale = await sell()
  const refundId = await refund(sale, '10', 'manual')
  const one = await findRefund(world.host.db, refundId)
  assert.ok(one)
  const proof = { reference: 'bank-1', statement: 'seen as sent', file: null }
  await settleByHand(world.refunds, contextFor(actorOf(sale)), one, proof)
  await noticePart(sale)
  assert.equal((await openOf(sale)).length, 1)
})

test('once the provider says how much it was, the refund is booked, and the question about the part is closed', async () => {
  const sale = await sell()
  await noticePart(sale)
  await noticeTotal(sale, 10_000_000n)
  assert.deepEqual(await refundsOf(sale), [{ units: '10000000', status: 'settled' }])
  assert.deepEqual(await openOf(sale), [])
  await noticePart(sale)
  assert.deepEqual(await openOf(sale), [], 'the status stays')
})
