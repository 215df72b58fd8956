import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport, type RefundReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { explainDifference } from '../src/ledger/difference-service.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { balanceOf, findPayable } from '../src/ledger/payable-queries.ts'
import { findOrderById } from '../src/orders/order-queries.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { findPayment, type Payment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { noticeForeignRefund } from '../src/refunds/foreign/foreign-refund.ts'
import { recordRefund } from '../src/refunds/foreign/recorded-refund.ts'
import { settleByHand } from '../src/refunds/manual-refund.ts'
import { refundMispayment } from '../src/refunds/mispayment-refund.ts'
import { refundPolls } from '../src/refunds/refund-jobs.ts'
import { findRefund } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { logInSuperAdmin } from './harness/accounts.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import type { Merchant } from './harness/service.ts'

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
after(async () => {
  try {
    if (world) assert.equal((await verifyLedger(world.host.db)).difference, null)
  } finally {
    await world?.stop()
  }
})

type Sale = { companyId: string; orderId: string; code: string; payment: Payment }

async function sell(final = DUE, shop?: Merchant): Promise<Sale> {
  const merchant = shop ?? (await world.host.createMerchant())
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

async function sendAnotherWay(sale: Sale, amount: string): Promise<void> {
  const one = await findRefund(world.host.db, await refund(sale, amount, 'manual'))
  assert.ok(one)
  const proof = { reference: `bank-${one.id}`, statement: 'seen as sent', file: null }
  await settleByHand(world.refunds, contextFor(actorOf(sale)), one, proof)
}

test('a refund that a person sent another way does not explain the part', async () => {
  const sale = await sell()
  await sendAnotherWay(sale, '10')
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

/* ---- a person records how much it was ---- */

const REASON = 'the statement of the console, line 7'

/** The difference about the part, open or explained; what `noticePart` has just found. */
async function partOf(sale: Sale): Promise<string> {
  await noticePart(sale)
  const { id } = await world.host.db.one<{ id: string }>(sql`
    select id from ledger_differences where company_id = ${sale.companyId} and status <> 'gone'
      and subject = ${`order ${sale.code}, part of payment ${sale.payment.id}`}`)
  return id
}
const record = (id: string, amount: string, reference?: string) =>
  recordRefund(world.refunds, contextFor(world.operator), id, {
    amount,
    reason: REASON,
    ...(reference !== undefined && { reference }),
  })
const explain = (id: string) =>
  explainDifference(world.refunds, contextFor(world.operator), id, { reason: 'somebody looks it up today' })
const settled = (...amounts: number[]) =>
  amounts.map((amount) => ({ units: String(amount * 1_000_000), status: 'settled' }))
const owedTo = async ({ companyId }: Sale): Promise<bigint> => balanceOf(await findPayable(world.host.db, companyId))

async function orderOf({ companyId, orderId }: Sale) {
  const order = await findOrderById(world.host.db, companyId, orderId)
  assert.ok(order)
  return order
}

test('what was explained cannot be recorded once the provider’s total holds refunds of ours alone', async () => {
  const sale = await sell()
  const id = await partOf(sale)
  await explain(id)
  await refund(sale, '10', 'settled')
  await noticeTotal(sale, 10_000_000n)
  await assert.rejects(record(id, '10'), { code: 'OBJECT_CONFLICT', message: /is known and booked/ })
  assert.deepEqual(await refundsOf(sale), settled(10))
})

test('what was explained before can still be recorded, once, also by two persons at once', async () => {
  for (let round = 0; round < 4; round += 1) {
    const sale = await sell()
    const id = await partOf(sale)
    await explain(id)
    const answers = await Promise.allSettled([record(id, '10'), record(id, '10')])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'], `round ${round}`)
    const refused = answers.find((answer) => answer.status === 'rejected')
    assert.equal(refused?.reason.code, 'OBJECT_CONFLICT')
    assert.deepEqual(await refundsOf(sale), settled(10))
    assert.equal(await owedTo(sale), DUE - 10_000_000n)
  }
})

test('of money above the price no company is owed anything: a recorded refund takes it first', async () => {
  const sale = await sell(DUE + 6_000_000n)
  await record(await partOf(sale), '10')
  assert.equal(await owedTo(sale), DUE - 4_000_000n)
  await record(await partOf(await sell()), '54')
})

test('all that is left can be recorded, and no more; nothing is no refund', async () => {
  const sale = await sell()
  const id = await partOf(sale)
  await assert.rejects(record(id, '54.000001'), { code: 'REFUND_TOO_LARGE' })
  for (const amount of ['0', '-1', '1.0000001', 'ten'])
    await assert.rejects(record(id, amount), { code: 'ILLEGAL_AMOUNT' })
  assert.deepEqual([await refundsOf(sale), (await openOf(sale)).length], [[], 1], 'a refusal changes nothing')
  await record(id, '54')
  assert.deepEqual([(await orderOf(sale)).status, await owedTo(sale)], ['FULL_REFUNDED', 0n])
})

test('a difference about something else takes no refund, nor does one whose refund the provider has told since', async () => {
  const sale = await sell()
  const id = await partOf(sale)
  await explain(id)
  await noticeTotal(sale, 10_000_000n)
  await assert.rejects(record(id, '10'), { code: 'OBJECT_CONFLICT', message: /known and booked/ })
  await noticeTotal(sale, 99_000_000n)
  const [other] = await openOf(sale)
  assert.ok(other)
  await assert.rejects(record(other.id, '10'), { code: 'OBJECT_CONFLICT', message: /has not said/ })
  await assert.rejects(record('0'.repeat(24), '10'), { code: 'OBJECT_NOT_FOUND' })
  assert.deepEqual(await refundsOf(sale), settled(10, 44))
})

test('a part of a payment that did not pay the order is no refund of the order', async () => {
  const sale = await sell()
  const id = await partOf(sale)
  await world.host.db.run(sql`update ledger_differences set subject = ${`order ${sale.code}, part of payment ${sale.orderId}`}
    where id = ${id}`)
  await assert.rejects(record(id, '10'), { code: 'OBJECT_CONFLICT', message: /did not pay this order/ })
})

test('while another refund is under way nothing is recorded; when it is over, both are booked', async () => {
  const sale = await sell()
  const id = await partOf(sale)
  await explain(id)
  const refundId = await refund(sale, '20', 'pending')
  await assert.rejects(record(id, '10'), { code: 'ORDER_STATE_CONFLICT', message: /under way/ })
  outcome = 'settled'
  await refundPolls(world.refunds).work(world.host.db, { companyId: sale.companyId, id: refundId })
  await noticePart(sale)
  await record(id, '10')
  assert.deepEqual(await refundsOf(sale), settled(20, 10))
})

test('one line of the console’s statement is one refund', async () => {
  const shop = await world.host.createMerchant()
  const [first, second] = [await sell(DUE, shop), await sell(DUE, shop)]
  const ids = [await partOf(first), await partOf(second)]
  const answers = await Promise.allSettled(ids.map((id) => record(id, '10', 'console-1')))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  const free = ids[answers.findIndex(({ status }) => status === 'rejected')]
  assert.ok(free)
  await record(free, '10', 'console-2')
  assert.deepEqual([...(await refundsOf(first)), ...(await refundsOf(second))], settled(10, 10))
})

test('a total that the provider says later books only what is above the recorded amount', async () => {
  const sale = await sell()
  await record(await partOf(sale), '10')
  await noticeTotal(sale, 10_000_000n)
  assert.deepEqual(await refundsOf(sale), settled(10), 'it confirms what was recorded')
  await noticeTotal(sale, 15_000_000n)
  assert.deepEqual(await refundsOf(sale), settled(10, 5))
  await noticeTotal(sale, DUE)
  assert.deepEqual(await refundsOf(sale), settled(10, 5, 39))
  assert.deepEqual(await openOf(sale), [])
})

const figuresOf = async (sale: Sale) =>
  world.host.db.many<{ subject: string; booked: string; expected: string }>(sql`
    select subject, booked, expected from ledger_differences where company_id = ${sale.companyId} and status = 'open'`)

test('a total below the recorded amount stops the company’s money until a person has looked', async () => {
  const sale = await sell()
  await record(await partOf(sale), '10')
  for (let turn = 0; turn < 2; turn += 1) await noticeTotal(sale, 8_000_000n)
  const subject = `order ${sale.code}, payment ${sale.payment.id}`
  assert.deepEqual(await figuresOf(sale), [{ subject, booked: '10.000000 USDC refunded', expected: '8.000000 USDC' }])
  await assert.rejects(world.books.check(sale.companyId), { code: 'BOOKS_DIFFER' })
  assert.deepEqual(await refundsOf(sale), settled(10))
})

test('a total from before our latest refunds says nothing of a recorded one; a day later it does', async () => {
  const sale = await sell()
  await record(await partOf(sale), '10')
  await refund(sale, '20', 'settled')
  await refund(sale, '5', 'settled')
  for (const told of [10_000_000n, 30_000_000n, 35_000_000n]) await noticeTotal(sale, told)
  assert.deepEqual(await figuresOf(sale), [], 'an answer may be late')
  await noticeTotal(sale, 28_000_000n)
  assert.deepEqual(
    (await figuresOf(sale)).map(({ expected }) => expected),
    ['28.000000 USDC'],
    '20 of ours and 8, or all of ours and 3: never 10',
  )
  const later = await sell()
  await record(await partOf(later), '10')
  await refund(later, '20', 'settled')
  world.clock.nowMs += 86_400_000
  await noticeTotal(later, 10_000_000n)
  assert.equal((await figuresOf(later)).length, 1)
})

test('a refund of money above the price that is still under way is in no total', async () => {
  const sale = await sell(DUE + 6_000_000n)
  const id = await partOf(sale)
  await explain(id)
  const { id: over } = await world.host.db.one<{ id: string }>(
    sql`select id from mispayments where order_id = ${sale.orderId} and kind = 'over'`,
  )
  const aside = await refundMispayment(world.refunds, contextFor(actorOf(sale)), over, {})
  await record(id, '10')
  await refund(sale, '20', 'settled')
  world.clock.nowMs += 86_400_000
  await noticeTotal(sale, 30_000_000n)
  assert.deepEqual(await figuresOf(sale), [])
  assert.equal((await findRefund(world.host.db, aside))?.status, 'ready')
  await noticeTotal(sale, 26_000_000n)
  assert.equal((await figuresOf(sale)).length, 1)
})

test('beside a refund sent another way, a person records what the console sent besides it', async () => {
  const sale = await sell()
  await sendAnotherWay(sale, '10')
  const id = await partOf(sale)
  await assert.rejects(record(id, '44.000001'), { code: 'REFUND_TOO_LARGE' })
  await record(id, '6')
  await noticePart(sale)
  await noticeTotal(sale, 6_000_000n)
  assert.deepEqual([await refundsOf(sale), await openOf(sale)], [settled(10, 6), []])
  // the one sent another way may have been sent in the console too: a person must say
  await noticeTotal(sale, 16_000_000n)
  assert.deepEqual(
    (await figuresOf(sale)).map(({ expected }) => expected),
    ['16.000000 USDC'],
  )
  assert.deepEqual(await refundsOf(sale), settled(10, 6))
})

test('a SuperAdmin records over the API how much it was: the company is owed less, and nobody looks again', async () => {
  const sale = await sell()
  const id = await partOf(sale)
  // its mail brings the code; for the tests above nobody else may poll
  await world.host.service.startWorkers()
  const admin = await logInSuperAdmin(world.host)
  const listed = await admin.get<{ _id: string; partRefundedOf: string | null }[]>('ledger/differences?status=open')
  assert.equal(listed.data.find(({ _id }) => _id === id)?.partRefundedOf, sale.code)
  const path = `ledger/differences/${id}/refunded`
  assert.equal((await admin.post(path, { amount: '10', reason: 'no' })).status, 422, 'a reason is needed')
  const answer = await admin.post<{ refundId: string }>(path, { amount: '10', reason: REASON, reference: 'console-77' })
  assert.equal(answer.status, 200, answer.text)
  const { data } = await admin.get<Record<string, unknown>>(`refunds/${answer.data.refundId}`)
  assert.deepEqual(
    [data.code, data.status, data.amount, data.reason, data.settledByHand],
    [sale.code, 'settled', '10.000000', REASON, false],
  )
  assert.match(String(data.requestedBy), /^user:/)
  const { status, refundedUnits } = await orderOf(sale)
  assert.deepEqual([status, refundedUnits, await owedTo(sale)], ['REFUNDED', 10_000_000n, DUE - 10_000_000n])
  const entries = await world.host.db.many<{ action: string; detail: string }>(
    sql`select action, detail from audit_log where object = ${`refund:${answer.data.refundId}`}`,
  )
  const { amount, reason, reference, differenceId } = JSON.parse(entries[0]?.detail ?? '{}')
  assert.deepEqual(
    [entries.length, entries[0]?.action, amount, reason, reference, differenceId],
    [1, 'refund.record', '10', REASON, 'console-77', id],
  )
  await noticePart(sale)
  assert.deepEqual(await openOf(sale), [], 'the refund explains what the provider goes on saying')
  await world.books.check(sale.companyId)
  assert.equal((await admin.post(path, { amount: '10', reason: REASON })).status, 409, 'it is known')
  assert.deepEqual(await refundsOf(sale), settled(10))
})
