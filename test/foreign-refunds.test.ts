import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  paidReport,
  type RefundNews,
  type RefundReport,
  type RefundRequest,
  type SeenReport,
} from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { HOUR, MINUTE } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { createSettlement } from '../src/ledger/settlements/settlement-service.ts'
import { findOrderById } from '../src/orders/order-queries.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { ignoreMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { findPayment, type Payment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { pollPayment } from '../src/payments/payment-service.ts'
import { noticeForeignRefund } from '../src/refunds/foreign/foreign-refund.ts'
import { settleByHand } from '../src/refunds/manual-refund.ts'
import { dropRefund } from '../src/refunds/refund-decisions.ts'
import { refundPolls } from '../src/refunds/refund-jobs.ts'
import { takeRefundNews } from '../src/refunds/refund-news.ts'
import { findRefund } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { openChannels } from './harness/one-channel-set.ts'

/** Refunds that somebody started in the provider's console. */
let world: ModelWorld
let asked: RefundRequest[] = []
/** What the provider answers to a refund. */
const BY_HAND: RefundReport = {
  ...{ outcome: 'manual', reference: null, txHash: null },
  providerStatus: 'send it another way',
}
let answer = BY_HAND

before(async () => {
  world = await startModelWorld({
    async refundPayment(refund) {
      asked.push(refund)
      return answer
    },
    refundsByCallback: true,
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

const tell = (sale: Sale, reference: string, units = 5000n, asset: 'EUR' | 'USDC' = 'EUR') =>
  tellNews(sale, { reference, fiat: { asset, units } })
const tellNews = ({ payment }: Sale, news: Pick<RefundNews, 'reference' | 'fiat'> & Partial<RefundNews>) =>
  takeRefundNews(world.refunds, payment, { refundId: null, outcome: 'settled', providerStatus: 'transferred', ...news })
const notice = (payment: Payment, refunded: bigint) =>
  world.host.db.tx((tx) => noticeForeignRefund(world.refunds, tx, payment, { refunded }))
const refundsOf = ({ orderId }: Sale) =>
  world.host.db.many<{ units: string; reference: string }>(sql`
    select units::text, provider_reference as reference from refunds where order_id = ${orderId} order by number`)
const differencesOf = ({ companyId }: Sale) =>
  world.host.db.many<{ subject: string; expected: string }>(sql`
    select subject, expected from ledger_differences where company_id = ${companyId} and status = 'open'`)

test('a refund of money that was settled already says that it lacks cover, one before the settlement does not', async () => {
  const sale = await sell()
  const { companyId } = sale
  await tell(sale, 'before', 1000n)
  await world.host.db.run(sql`
    update companies set settlement_address = ${`0x${'12'.repeat(20)}`}, settlement_network = 31337 where id = ${companyId}`)
  const operator = contextFor(world.operator)
  await createSettlement(world.settlements, operator, { companyId })
  await tell(sale, 'after', 1000n)
  const refunds = await world.host.db.many<{ reference: string; withoutCover: boolean }>(sql`
    select provider_reference as reference, without_cover from refunds where order_id = ${sale.orderId} order by number`)
  assert.deepEqual(
    refunds.map(({ reference, withoutCover }) => [reference, withoutCover]),
    [
      ['before', false],
      ['after', true],
    ],
  )
})

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

test('a total that no payer has is no refund, and breaks no report', async () => {
  const sale = await sell()
  await notice(sale.payment, 10n ** 39n)
  assert.deepEqual([await refundsOf(sale), await differencesOf(sale)], [[], []])
  const { db } = world.host
  await db.run(sql`update orders set status = 'REFUNDING' where id = ${sale.orderId}`)
  await notice(sale.payment, 10n ** 39n)
})

test('money above the price that was ignored hides no refund of the price', async () => {
  const sale = await sell(DUE + 6_000_000n)
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from mispayments where order_id = ${sale.orderId} and kind = 'over'`,
  )
  const admin = contextFor(world.operator)
  await ignoreMispayment(world.mispayments, admin, id, { reason: 'the payer gave it' })
  for (let turn = 0; turn < 2; turn += 1) await notice(sale.payment, 10_000_000n)
  assert.deepEqual(
    (await refundsOf(sale)).map(({ units }) => units),
    ['10000000'],
  )
})

test('a refund of a payment that did not pay its order stops the company’s money until a person has looked', async () => {
  const sale = await sell()
  const second = { ...sale.payment, id: newId() }
  for (let turn = 0; turn < 2; turn += 1) await notice(second, DUE)
  assert.deepEqual(await refundsOf(sale), [])
  assert.deepEqual(await differencesOf(sale), [
    { subject: `order ${sale.code}, payment ${second.id}`, expected: '54.000000 USDC' },
  ])
})

/** A refund that the provider does not take, or took as `taken`: a person settles it, and says how. */
async function settle(sale: Sale, amount: string, reference: string, taken: string | null = null): Promise<void> {
  const context = contextFor(actorOf(sale))
  const { refundId } = await revertOrder(world.refunds, context, sale.code, { amount })
  await poll(sale, refundId)
  const status = taken === null ? 'ready' : 'submitted'
  await world.host.db.run(
    sql`update refunds set status = ${status}, provider_reference = ${taken} where id = ${refundId}`,
  )
  const refund = await findRefund(world.host.db, refundId)
  assert.ok(refund)
  await settleByHand(world.refunds, context, refund, { reference, statement: 'seen as sent', file: null })
}
const poll = ({ companyId }: Sale, id: string) => refundPolls(world.refunds).work(world.host.db, { companyId, id })
/** Polls the refund once, while the provider answers this. */
const pollAnswering = async (sale: Sale, id: string, report: Partial<RefundReport>): Promise<void> => {
  answer = { ...BY_HAND, ...report }
  try {
    await poll(sale, id)
  } finally {
    answer = BY_HAND
  }
}
/** The provider has ours before it tells a total. */
const send = (sale: Sale, id: string) => pollAnswering(sale, id, { outcome: 'pending', providerStatus: 'PROCESSING' })
const expectedOf = async (sale: Sale) => (await differencesOf(sale)).map(({ expected }) => expected)

test('money that a person sent another way hides no refund of the provider: a person has to tell which is which', async () => {
  const part = await sell()
  await settle(part, '20', 'bank-1')
  for (let turn = 0; turn < 2; turn += 1) await notice(part.payment, 10_000_000n)
  assert.equal((await refundsOf(part)).length, 1, 'it may be the same refund, from the console')
  assert.deepEqual(await differencesOf(part), [
    { subject: `order ${part.code}, payment ${part.payment.id}`, expected: '10.000000 USDC' },
  ])
  const whole = await sell()
  await settle(whole, '54', 'bank-2')
  await notice(whole.payment, DUE)
  assert.deepEqual(await expectedOf(whole), ['54.000000 USDC'])
})

test('a refund that was settled as the one that the provider took is in its total', async () => {
  const sale = await sell()
  await settle(sale, '20', 'taken-1', 'taken-1')
  await notice(sale.payment, 20_000_000n)
  assert.deepEqual([(await refundsOf(sale)).length, await differencesOf(sale)], [1, []])
  await notice(sale.payment, 30_000_000n)
  assert.deepEqual(
    (await refundsOf(sale)).map(({ units }) => units),
    ['20000000', '10000000'],
  )
})

test('a settled refund that the provider took back stops the company’s money until a person has looked', async () => {
  const sale = await sell()
  await settle(sale, '20', 'taken-2', 'taken-2')
  const fiat = { asset: 'USDC', units: 20_000_000n } as const
  await tellNews(sale, { reference: 'an earlier attempt', fiat, outcome: 'refused', providerStatus: 'FAILED' })
  await tellNews(sale, { reference: 'taken-2', fiat, outcome: 'pending', providerStatus: 'PROCESSING' })
  assert.deepEqual(await expectedOf(sale), [])
  for (let turn = 0; turn < 2; turn += 1)
    await tellNews(sale, { reference: 'taken-2', fiat, outcome: 'refused', providerStatus: 'FAILED' })
  assert.deepEqual(await expectedOf(sale), ['taken-2, FAILED: 20.000000 USDC'])
  await assert.rejects(world.books.check(sale.companyId), { code: 'BOOKS_DIFFER' })
})

test('a refund in USDC from the portal of a provider stops the company’s money until a person has looked', async () => {
  const sale = await sell()
  for (let turn = 0; turn < 2; turn += 1) await tell(sale, 'kpr_portal', 20_000_000n, 'USDC')
  assert.deepEqual(await refundsOf(sale), [])
  assert.deepEqual(await expectedOf(sale), ['transferred: 20.000000 USDC'])
})

test('what a provider sent back beyond what the order received stops the company’s money', async () => {
  const sale = await sell()
  for (let turn = 0; turn < 2; turn += 1) await notice(sale.payment, DUE + 6_000_000n)
  assert.deepEqual(await refundsOf(sale), [{ units: String(DUE), reference: null }])
  assert.deepEqual(await expectedOf(sale), ['60.000000 USDC'])
})

test('a provider is not told of money that went back another way: it has all but its own refunds', async () => {
  const sale = await sell()
  await settle(sale, '20', 'bank-3')
  asked = []
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '24' })
  await poll(sale, refundId)
  assert.deepEqual(
    asked.map(({ earlierUnits, earlierFiat, lastReference }) => [earlierUnits, earlierFiat.units, lastReference]),
    [[0n, 0n, undefined]],
  )
})

test('what the provider said while ours waited for a person is judged when that person settles it', async () => {
  const sale = await sell()
  const context = contextFor(actorOf(sale))
  const { refundId } = await revertOrder(world.refunds, context, sale.code, { amount: '20' })
  await poll(sale, refundId)
  await notice(sale.payment, DUE)
  assert.deepEqual(await differencesOf(sale), [], 'ours may be in that total')
  const refund = await findRefund(world.host.db, refundId)
  assert.ok(refund)
  await settleByHand(world.refunds, context, refund, { reference: 'bank-4', statement: 'by bank', file: null })
  assert.deepEqual(await expectedOf(sale), ['54.000000 USDC'])
})

test('a refund from the console is booked that a callback told of while the end of ours was being read', async () => {
  const sale = await sell()
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  await send(sale, refundId)
  answer = { outcome: 'settled', reference: refundId, txHash: null, providerStatus: 'done' }
  try {
    await notice(sale.payment, DUE)
    await poll(sale, refundId)
  } finally {
    answer = BY_HAND
  }
  assert.deepEqual(
    (await refundsOf(sale)).map(({ units }) => BigInt(units)),
    [20_000_000n, DUE - 20_000_000n],
  )
  assert.deepEqual(await differencesOf(sale), [])
})

/** Like the death of a node in the step that records what left beside our refund. */
const dyingAtForeign = (refunds: ModelWorld['refunds']): ModelWorld['refunds'] => ({
  ...refunds,
  async transition(tx, order, request) {
    if (request.actor === 'channel:binance' && request.trigger === 'revert') throw new Error('the node dies')
    return refunds.transition(tx, order, request)
  },
})

test('a provider that sends more than it was asked to: no part of that is forgotten where a node dies meanwhile', async () => {
  const sale = await sell()
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  answer = { outcome: 'settled', reference: refundId, txHash: null, providerStatus: 'all', refundedUnits: DUE }
  try {
    const dying = refundPolls(dyingAtForeign(world.refunds))
    await assert.rejects(dying.work(world.host.db, { companyId: sale.companyId, id: refundId }), /the node dies/)
    assert.equal((await findRefund(world.host.db, refundId))?.status, 'submitted', 'so it is asked about again')
    await poll(sale, refundId)
  } finally {
    answer = BY_HAND
  }
  assert.deepEqual(
    (await refundsOf(sale)).map(({ units }) => BigInt(units)),
    [20_000_000n, DUE - 20_000_000n],
  )
  assert.deepEqual(await differencesOf(sale), [])
})

test('what the provider said while ours was under way is judged together with its rejection', async () => {
  const sale = await sell()
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  await poll(sale, refundId)
  await notice(sale.payment, 30_000_000n)
  const drop = async (refunds: ModelWorld['refunds']): Promise<void> => {
    const refund = await findRefund(world.host.db, refundId)
    assert.ok(refund)
    const by = contextFor(actorOf(sale))
    const why = { vanished: [], hold: null, providerStatus: 'no' }
    await dropRefund(refunds, refund, { status: 'rejected', by, ...why })
  }
  const { books } = world.refunds
  const noteIn = () => Promise.reject(new Error('the node dies'))
  await assert.rejects(drop({ ...world.refunds, books: { ...books, noteIn } }), /the node dies/)
  assert.notEqual((await findRefund(world.host.db, refundId))?.status, 'rejected')
  await drop(world.refunds)
  assert.deepEqual(await expectedOf(sale), ['30.000000 USDC'])
})

test('a refund from the console that left less than ours needs: ours is refused, the other one is booked', async () => {
  const sale = await sell()
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  await send(sale, refundId)
  await notice(sale.payment, DUE)
  await pollAnswering(sale, refundId, { outcome: 'refused', providerStatus: 'more than is left' })
  assert.equal((await findRefund(world.host.db, refundId))?.status, 'refused')
  const order = await findOrderById(world.host.db, sale.companyId, sale.orderId)
  assert.equal(order?.status, 'FULL_REFUNDED')
  assert.deepEqual(await differencesOf(sale), [])
})

test('a total that a refund may still be in that the provider took and then failed is left to a person', async () => {
  const sale = await sell()
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  await send(sale, refundId)
  await notice(sale.payment, 20_000_000n)
  await pollAnswering(sale, refundId, { outcome: 'refused', reference: 'taken-2', providerStatus: 'REFUND_FAIL' })
  assert.equal((await findRefund(world.host.db, refundId))?.status, 'refused')
  assert.deepEqual(await expectedOf(sale), ['20.000000 USDC'])
})

test('what was told of a refund that failed is judged once, and not again when the next one is refused', async () => {
  const sale = await sell()
  const ask = async (): Promise<string> =>
    (await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })).refundId
  const failed = await ask()
  await send(sale, failed)
  await notice(sale.payment, 20_000_000n)
  await pollAnswering(sale, failed, { outcome: 'refused', reference: 'taken-3', providerStatus: 'REFUND_FAIL' })
  assert.deepEqual(await expectedOf(sale), ['20.000000 USDC'])
  await world.host.db.run(sql`
    update ledger_differences set status = 'explained', reason = 'it failed', explained_by = 'user:a'
    where company_id = ${sale.companyId}`)
  await pollAnswering(sale, await ask(), { outcome: 'refused', providerStatus: 'no balance' })
  const order = await findOrderById(world.host.db, sale.companyId, sale.orderId)
  assert.deepEqual([order?.status, order?.refundedUnits], ['PAID', 0n])
})

for (const [how, next] of [
  ['refused', { outcome: 'refused', providerStatus: 'no balance' }],
  ['settled', { outcome: 'settled', reference: 'sent', providerStatus: 'done' }],
] as const)
  test(`a late word of a refund that failed, told while the next one is in progress, is left to a person once that is ${how}`, async () => {
    const sale = await sell()
    const ask = async (amount: string): Promise<string> =>
      (await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount })).refundId
    const failed = await ask('20')
    await pollAnswering(sale, failed, { outcome: 'pending', reference: 'taken-4', providerStatus: 'PROCESSING' })
    await pollAnswering(sale, failed, { outcome: 'refused', reference: 'taken-4', providerStatus: 'REFUND_FAIL' })
    assert.equal((await findRefund(world.host.db, failed))?.status, 'refused')
    const running = await ask('30')
    await send(sale, running)
    const late = how === 'refused' ? 20_000_000n : 50_000_000n
    await notice(sale.payment, late)
    await pollAnswering(sale, running, next)
    assert.equal((await findRefund(world.host.db, running))?.status, how)
    assert.equal((await refundsOf(sale)).length, 2, 'nothing is booked')
    assert.deepEqual(await expectedOf(sale), [how === 'refused' ? '20.000000 USDC' : '50.000000 USDC'])
  })

/** A refund of 20 USDC that the provider takes under this reference and then refuses. */
async function failTaken(sale: Sale, reference: string): Promise<void> {
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  await pollAnswering(sale, refundId, { outcome: 'pending', reference, providerStatus: 'PROCESSING' })
  await pollAnswering(sale, refundId, { outcome: 'refused', reference, providerStatus: 'REFUND_FAIL' })
  assert.equal((await findRefund(world.host.db, refundId))?.status, 'refused')
}

test('a late total of a refund that failed, told while none is in progress, is left to a person for a day', async () => {
  const [late, less, old] = [await sell(), await sell(), await sell()]
  for (const [at, sale] of [late, less, old].entries()) await failTaken(sale, `taken-late-${at}`)
  await notice(late.payment, 20_000_000n)
  assert.deepEqual([(await refundsOf(late)).length, await expectedOf(late)], [1, ['20.000000 USDC']])
  await notice(less.payment, 19_000_000n)
  assert.deepEqual([(await refundsOf(less)).length, await expectedOf(less)], [2, []], 'it cannot include ours')
  world.clock.nowMs += 25 * HOUR
  await notice(old.payment, 20_000_000n)
  assert.deepEqual([(await refundsOf(old)).length, await expectedOf(old)], [2, []])
})

test('a total that was asked for before a refund failed is left to a person; one asked for after that is booked', async () => {
  const ask = async (sale: Sale, meanwhile: () => Promise<void>): Promise<void> => {
    const channel = await world.payments.channels.forPayment(sale.payment)
    assert.ok(channel)
    const fetchPayment = async (): Promise<SeenReport> => {
      await meanwhile()
      const reference = sale.payment.providerReference ?? ''
      return paidReport(reference, { final: DUE, refunded: 20_000_000n, providerStatus: 'REFUNDED' })
    }
    await pollPayment({ ...world.payments, channels: openChannels([{ ...channel, fetchPayment }]) }, sale.payment)
  }
  const [late, fresh] = [await sell(), await sell()]
  await ask(late, () => failTaken(late, 'taken-5'))
  assert.deepEqual([(await refundsOf(late)).length, await expectedOf(late)], [1, ['20.000000 USDC']])
  await failTaken(fresh, 'taken-6')
  world.clock.nowMs += 2 * MINUTE
  await ask(fresh, async () => {})
  assert.deepEqual([(await refundsOf(fresh)).length, await expectedOf(fresh)], [2, []], 'it is from the console')
})

test('a refund that the provider names only as it refuses it keeps that name: a later word under it is left to a person', async () => {
  const sale = await sell()
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  await pollAnswering(sale, refundId, { outcome: 'refused', reference: 'failed-1', providerStatus: 'FAIL: no balance' })
  const refund = await findRefund(world.host.db, refundId)
  assert.deepEqual([refund?.status, refund?.providerReference], ['refused', 'failed-1'])
  for (const outcome of ['pending', 'refused', 'settled', 'settled'] as const)
    await tellNews(sale, {
      reference: 'failed-1',
      fiat: { asset: 'EUR', units: 1852n },
      outcome,
      providerStatus: 'SUCCESS',
    })
  assert.deepEqual(await refundsOf(sale), [{ units: '20000000', reference: 'failed-1' }], 'it is none from the console')
  assert.deepEqual(await expectedOf(sale), ['failed-1, SUCCESS: 18.52 EUR'])
  await assert.rejects(world.books.check(sale.companyId), { code: 'BOOKS_DIFFER' })
  // its total includes it too
  const total = await sell()
  const other = await revertOrder(world.refunds, contextFor(actorOf(total)), total.code, { amount: '20' })
  await pollAnswering(total, other.refundId, { outcome: 'refused', reference: 'failed-2', providerStatus: 'FAIL' })
  await notice(total.payment, 20_000_000n)
  assert.deepEqual([(await refundsOf(total)).length, await expectedOf(total)], [1, ['20.000000 USDC']])
})

test('what a provider has taken is over only by its word about that; any other refusal lets it wait', async () => {
  const sale = await sell()
  const { refundId } = await revertOrder(world.refunds, contextFor(actorOf(sale)), sale.code, { amount: '20' })
  const taken = sql`update refunds set status = 'submitted', provider_reference = 'taken-1' where id = ${refundId}`
  await world.host.db.run(taken)
  const refuse = async (reference: string | null) => {
    const refund = await findRefund(world.host.db, refundId)
    assert.ok(refund)
    // whoever asked had read the refund before the provider's id was stored
    const asked = { ...refund, providerReference: null }
    const news = { status: 'refused' as const, channel: 'channel:gatepay', providerStatus: 'no such refund' }
    await dropRefund(world.refunds, asked, { ...news, reference })
    return findRefund(world.host.db, refundId)
  }
  const held = await refuse(null)
  assert.equal(held?.status, 'submitted')
  assert.ok(held.nextCheckAt)
  assert.equal((await refuse('taken-1'))?.status, 'refused')
})

test('money that came and went back before anybody looked: the payment is asked about until both are recorded', async () => {
  const { companyId, payment, orderId } = await sell(0n)
  const units = DUE
  const report: SeenReport = {
    ...paidReport(payment.providerReference ?? '', { final: DUE, providerStatus: 'REFUNDED' }),
    refunded: units,
  }
  const channel = await world.payments.channels.forPayment(payment)
  assert.ok(channel)
  const channels = openChannels([{ ...channel, fetchPayment: async () => report }])
  const look = (refunds: ModelWorld['refunds']) =>
    pollPayment(
      {
        ...{ ...world.payments, channels },
        onRefunded: (tx, of, report) => noticeForeignRefund(refunds, tx, of, report),
      },
      payment,
    )
  await assert.rejects(look(dyingAtForeign(world.refunds)), /the node dies/)
  assert.equal((await findPayment(world.host.db, companyId, payment.id))?.status, 'awaiting', 'so it is asked about')
  await look(world.refunds)
  assert.equal((await findOrderById(world.host.db, companyId, orderId))?.status, 'FULL_REFUNDED')
})
