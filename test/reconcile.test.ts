import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PaymentReport, paidReport } from '../src/channels/channel.ts'
import type { Channels } from '../src/channels/channel-set.ts'
import { type Db, sql } from '../src/db/db.ts'
import { LEASE_MS } from '../src/db/polling.ts'
import { DAY, HOUR } from '../src/kernel/clock.ts'
import { AppError } from '../src/kernel/errors.ts'
import { openBooks } from '../src/ledger/books.ts'
import { createSettlement } from '../src/ledger/settlements/settlement-service.ts'
import type { Order } from '../src/orders/order.ts'
import { findOrderById } from '../src/orders/order-queries.ts'
import { acceptOrder } from '../src/payments/accept/accept-order.ts'
import { ignoreMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { readStanding } from '../src/payments/mispayments/standing.ts'
import { priceWordOf } from '../src/payments/mispayments/told-report.ts'
import { pollPayments } from '../src/payments/payment-jobs.ts'
import { findPayment } from '../src/payments/payment-queries.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { type PaymentDeps, pollPayment } from '../src/payments/payment-service.ts'
import { noteWord, reconcileEveryPayment, reconcilePayments } from '../src/payments/reconcile.ts'
import { noticeForeignRefund } from '../src/refunds/foreign/foreign-refund.ts'
import { refundMispayment } from '../src/refunds/mispayment-refund.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { gateTells, openAttemptIn } from './harness/attempts.ts'
import { actorOf, contextFor, DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import type { Merchant } from './harness/service.ts'

/*
 * What a provider says today of a payment that it called paid: asked once a day for sixty days, by a clock that the
 * test moves.
 */

type Word = Ending | 'paid' | 'unknown' | 'halved' | 'refunded' | 'processed' | 'guessed'
type Ending = 'expired' | 'cancelled' | 'failed' | 'blocked'

let world: ModelWorld
/** What the provider answers, by its reference; how often it was asked. */
const statuses = new Map<string, Word>()
const asked = new Map<string, number>()
/** What happens between the provider's answer and its arrival. */
let meanwhile: (providerReference: string) => Promise<void> = async () => {}

/** What Gate tells of it instead, in all. */
const gate = new Map<string, readonly [word: string, done: string]>()

function answer(providerReference: string): PaymentReport {
  const [said, done] = gate.get(providerReference) ?? []
  if (said !== undefined) return gateTells(said, providerReference, done ?? '')
  const word = statuses.get(providerReference) ?? 'paid'
  if (word === 'paid') return paidReport(providerReference, { final: DUE, providerStatus: 'PAID' })
  if (word === 'halved') return paidReport(providerReference, { final: DUE / 2n, providerStatus: 'PAID' })
  if (word === 'refunded')
    return paidReport(providerReference, { final: DUE, refunded: DUE, providerStatus: 'FULL_REFUNDED' })
  if (word === 'processed' || word === 'guessed') {
    const processed = paidReport(providerReference, { final: 0n, pending: DUE, providerStatus: 'PROCESS' })
    return word === 'guessed' ? { ...processed, isEstimate: true } : processed
  }
  return { outcome: word, providerReference, providerStatus: word.toUpperCase() }
}

before(async () => {
  world = await startModelWorld({
    fetchPayment: async ({ providerReference }) => {
      const reference = providerReference ?? ''
      asked.set(reference, (asked.get(reference) ?? 0) + 1)
      const report = answer(reference)
      await meanwhile(reference)
      return report
    },
  })
})
after(() => world?.stop())

type Sale = { merchant: Merchant; order: Order; reference: string }

async function sell(): Promise<Sale> {
  const merchant = await world.host.createMerchant()
  await world.host.db.run(sql`update companies set settlement_address = ${`0x${'12'.repeat(20)}`},
    settlement_network = 31337 where id = ${merchant.companyId}`)
  const made = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code: made.code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await world.host.db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${made.id}`,
  )
  const key = { companyId: merchant.companyId, id }
  await applyReport(world.payments, key, paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  const order = await findOrderById(world.host.db, merchant.companyId, made.id)
  assert.equal(order?.status, 'PAID')
  return { merchant, order: order as Order, reference }
}

/** The order is paid through one of two payments, and then through the other one, too. */
async function sellTwice(payer: 0 | 1) {
  const merchant = await world.host.createMerchant()
  const { companyId } = merchant
  const made = await world.makeOrder(merchant)
  const accept = {
    context: contextFor(actorOf(merchant)),
    code: made.code,
    body: { paymentChannel: 'binance' } as const,
  }
  const list = () =>
    world.host.db.many<{ id: string; reference: string }>(
      sql`select id, provider_reference as reference from payments where order_id = ${made.id} order by number`,
    )
  await acceptOrder(world.payments, accept)
  for (const { id, reference } of await list())
    await applyReport(...[world.payments, { companyId, id }], {
      outcome: 'expired',
      providerReference: reference,
      providerStatus: 'EXPIRED',
    })
  await acceptOrder(world.payments, accept)
  const both = await list()
  assert.equal(both.length, 2)
  for (const { id, reference } of payer === 0 ? both : both.toReversed())
    await applyReport(world.payments, { companyId, id }, answer(reference))
  const order = await findOrderById(world.host.db, companyId, made.id)
  const [paid, second] = payer === 0 ? both : both.toReversed()
  assert.ok(order && paid && second && order.paymentId === paid.id)
  return { sale: { merchant, order, reference: paid.reference }, second }
}

/** A day passes, and every provider is asked. */
async function nextDay(): Promise<void> {
  world.clock.nowMs += DAY
  await reconcilePayments(world.payments, world.books, world.host.service.app.log)
}

const settle = ({ merchant }: Sale) =>
  createSettlement(world.settlements, contextFor(world.operator), { companyId: merchant.companyId })
const refund = ({ merchant, order }: Sale) =>
  revertOrder(world.refunds, contextFor(actorOf(merchant)), order.code, { amount: '1' })
const isStopped = (error: unknown): boolean => error instanceof AppError && error.code === 'BOOKS_DIFFER'
const differences = ({ merchant }: Sale) =>
  world.host.db.many<{ source: string; subject: string; expected: string }>(sql`
    select source, subject, expected from ledger_differences where company_id = ${merchant.companyId} and status = 'open'`)

const lostOf = ({ order }: Sale) =>
  world.host.db.many<{ units: bigint }>(sql`
    select units::int8 as units from mispayments where order_id = ${order.id} and kind = 'orphaned'`)

for (const word of ['expired', 'cancelled', 'failed', 'blocked'] as const) {
  test(`a payment that the provider calls ${word} after it called it paid stops the company's money`, async () => {
    const sale = await sell()
    const other = await sell()
    statuses.set(sale.reference, word)
    await nextDay()
    const [difference, ...more] = await differences(sale)
    assert.deepEqual(more, [])
    assert.equal(difference?.source, 'providers')
    assert.equal(difference?.subject, `order ${sale.order.code}`)
    assert.match(difference?.expected ?? '', new RegExp(`${word}: ${word.toUpperCase()}`))
    await assert.rejects(settle(sale), isStopped)
    await assert.rejects(refund(sale), isStopped)
    assert.equal((await findOrderById(world.host.db, sale.order.companyId, sale.order.id))?.status, 'PAID')
    assert.deepEqual(await differences(other), [], 'another company goes on')

    statuses.set(sale.reference, 'paid')
    await nextDay()
    assert.deepEqual(await differences(sale), [])
    await settle(sale)
  })
}

test('a provider that processes again what it blocked, with an amount or without, keeps the company’s money stopped', async () => {
  for (const word of ['processed', 'guessed'] as const) {
    const sale = await sell()
    statuses.set(sale.reference, 'blocked')
    await nextDay()
    statuses.set(sale.reference, word)
    await nextDay()
    assert.equal((await differences(sale)).length, 1, word)
    await assert.rejects(settle(sale), isStopped)
    statuses.set(sale.reference, 'paid')
    await nextDay()
    await settle(sale)
  }
})

test('an answer that was asked for before a callback took the payment back ends no difference', async () => {
  const sale = await sell()
  for (const isRepeated of [false, true]) {
    // an answer of before the callback, which found the difference, or found it once more
    meanwhile = async (reference) => {
      if (reference !== sale.reference) return
      meanwhile = async () => {}
      const payment = await findPayment(world.host.db, sale.order.companyId, sale.order.paymentId ?? '')
      assert.ok(payment)
      statuses.set(sale.reference, 'blocked')
      await pollPayment(world.payments, payment)
    }
    statuses.set(sale.reference, 'paid')
    await nextDay()
    assert.equal((await differences(sale)).length, 1, `${isRepeated}`)
  }
  statuses.set(sale.reference, 'paid')
  await nextDay()
  assert.deepEqual(await differences(sale), [])
})

test('an answer that took so long that another poll has asked since undoes nothing', async () => {
  const sale = await sell()
  const key = { companyId: sale.order.companyId, id: sale.order.paymentId ?? '' }
  meanwhile = async (reference) => {
    if (reference !== sale.reference) return
    meanwhile = async () => {}
    world.clock.nowMs += 2 * LEASE_MS
    statuses.set(sale.reference, 'paid')
    await pollPayments(world.payments, [key])
  }
  statuses.set(sale.reference, 'halved')
  await nextDay()
  assert.deepEqual([await lostOf(sale), await differences(sale)], [[], []])
})

test('a callback about a payment that the provider takes back stops the company’s money at once', async () => {
  const sale = await sell()
  statuses.set(sale.reference, 'failed')
  const payment = await findPayment(world.host.db, sale.order.companyId, sale.order.paymentId ?? '')
  assert.ok(payment)
  await pollPayment(world.payments, payment)
  assert.deepEqual(
    (await differences(sale)).map(({ subject, expected }) => [subject, expected]),
    [[`order ${sale.order.code}`, 'failed: FAILED']],
  )
  await assert.rejects(settle(sale), isStopped)
  statuses.set(sale.reference, 'paid')
  await nextDay()
  assert.deepEqual(await differences(sale), [])
})

test('the word about one payment of an order ends no difference of another one, and hides none', async () => {
  for (const payer of [0, 1] as const) {
    const { sale, second } = await sellTwice(payer)
    const subjects = async () => (await differences(sale)).map(({ subject }) => subject).toSorted()
    const [first, other] = [`order ${sale.order.code}`, `order ${sale.order.code}, state of payment ${second.id}`]
    for (const [paid, duplicate, ...expected] of [
      ['failed', 'paid', first],
      ['failed', 'failed', first, other],
      ['paid', 'failed', other],
      ['paid', 'processed'],
    ] as const) {
      statuses.set(sale.reference, paid)
      statuses.set(second.reference, duplicate)
      await nextDay()
      assert.deepEqual(await subjects(), expected, `${payer} ${paid} ${duplicate}`)
      if (expected.length > 0) await assert.rejects(settle(sale), isStopped)
    }
  }
})

test('an answer without money ends no difference of a payment whose money waits for a person', async () => {
  const { sale, second } = await sellTwice(0)
  statuses.set(second.reference, 'failed')
  await nextDay()
  const nothing = paidReport(second.reference, { final: 0n, providerStatus: 'PAID' })
  const key = { companyId: sale.order.companyId, id: second.id }
  const payment = await findPayment(world.host.db, key.companyId, key.id)
  assert.ok(payment)
  const word = await world.host.db.tx(async (tx) => priceWordOf(nothing, await readStanding(tx, payment)))
  assert.equal(word, 'neither')
})

test('late money of a paid order that a person decided about keeps no refund and no settlement', async () => {
  const sale = await sell()
  const payment = await findPayment(world.host.db, sale.order.companyId, sale.order.paymentId ?? '')
  assert.ok(payment)
  gate.set(sale.reference, ['EXPIRED', '84'])
  await pollPayment(world.payments, payment)
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from mispayments where order_id = ${sale.order.id} and status = 'open' and units = 30000000`,
  )
  await ignoreMispayment(world.mispayments, contextFor(actorOf(sale.merchant)), id, { reason: 'sent back' })
  for (const done of ['84', '']) {
    gate.set(sale.reference, ['PAID', done])
    await nextDay()
    assert.deepEqual(await differences(sale), [])
  }
  await refund(sale)
  assert.equal((await settle(sale)).status, 'open')
})

test('late money that waits for a decision, and that the provider takes back, stops the company’s money too', async () => {
  const merchant = await world.host.createMerchant()
  const { id: orderId, code, companyId } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  await world.host.db.run(sql`update orders set status = 'CANCELLED' where id = ${orderId}`)
  const { id, reference } = await world.host.db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  await applyReport(world.payments, { companyId, id }, answer(reference))
  const payment = await findPayment(world.host.db, companyId, id)
  assert.ok(payment)
  assert.equal((await findOrderById(world.host.db, companyId, orderId))?.status, 'CANCELLED')
  statuses.set(reference, 'failed')
  await pollPayment(world.payments, payment)
  assert.match((await world.books.findHold(companyId)) ?? '', /word of binance/)
  // it is not asked about daily any more, and nothing of it is booked
  statuses.set(reference, 'processed')
  await pollPayment(world.payments, payment)
  assert.equal((await findPayment(world.host.db, companyId, id))?.status, 'closed')
  assert.equal(await world.books.findHold(companyId), null)
})

/** What a person decides about a second payment of an order. */
async function decide({ order, merchant }: Sale, how: 'refunded' | 'ignored'): Promise<void> {
  const { id } = await world.host.db.one<{ id: string }>(
    sql`select id from mispayments where order_id = ${order.id} and status = 'open' and kind = 'duplicate'`,
  )
  const context = contextFor(actorOf(merchant))
  if (how === 'ignored') return ignoreMispayment(world.mispayments, context, id, { reason: 'sent back in the console' })
  await refundMispayment(world.refunds, context, id, {})
}

for (const how of ['refunded', 'ignored'] as const)
  test(`money that a person ${how} and its provider takes back stops the company’s money, its refund included`, async () => {
    for (const heard of ['by the next poll', 'by a later poll', 'on another day'] as const) {
      const { sale, second } = await sellTwice(0)
      const { companyId } = sale.order
      const poll = async () => {
        const payment = await findPayment(world.host.db, companyId, second.id)
        assert.ok(payment)
        await pollPayment(world.payments, payment)
      }
      await decide(sale, how)
      if (heard !== 'by the next poll') await poll()
      assert.equal(await world.books.findHold(companyId), null)
      statuses.set(second.reference, 'failed')
      await (heard === 'on another day' ? nextDay() : poll())
      assert.match((await world.books.findHold(companyId)) ?? '', /word of binance/, heard)
      statuses.set(second.reference, 'paid')
      await nextDay()
      assert.equal(await world.books.findHold(companyId), null, heard)
    }
  })

test('a part that its provider keeps when it ends the payment stops nothing', async () => {
  const { key, reference, find } = await openAttemptIn(world)
  await applyReport(world.payments, key, paidReport(reference, { final: DUE / 2n, providerStatus: 'PAID' }))
  statuses.set(reference, 'expired')
  await pollPayment(world.payments, await find())
  assert.equal((await find()).status, 'closed')
  await nextDay()
  assert.equal(await world.books.findHold(key.companyId), null)
})

/** Over a database that needs more than a second to verify anything. */
function openSlowBooks(options: { smallBooks?: number } = {}) {
  const { db } = world.host
  const tx: Db['tx'] = async (work) => {
    await new Promise((resolve) => setTimeout(resolve, 600))
    return db.tx(work)
  }
  const slow = Object.assign(Object.create(db) as Db, { tx })
  const { log } = world.host.service.app
  return openBooks({ db: slow, clock: () => world.clock.nowMs, log, alarm: async () => {}, usdc: {}, ...options })
}

test('books that take long to verify, and were right a moment ago, hide no word of a provider that came since', async () => {
  const sale = await sell()
  const books = openSlowBooks({ smallBooks: 0 })
  const { companyId } = sale.order
  assert.equal(await books.findHold(companyId), null)
  const word = { outcome: 'failed', providerReference: sale.reference, providerStatus: 'FAILED' } as const
  const payment = await findPayment(world.host.db, companyId, sale.order.paymentId ?? '')
  assert.ok(payment)
  await world.host.db.tx((tx) => noteWord(books, tx, sale.order, payment, word))
  assert.match((await books.findHold(companyId)) ?? '', /word of binance/)
})

/** The books of its company differ, unseen by any trigger. */
const inflate = (orderId: string, units: number) =>
  world.host.db.tx(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`)
    await tx.run(sql`update payments set received_units = received_units + ${units} where order_id = ${orderId}`)
  })

test('books that take long to verify are verified again once the clock was set back', async () => {
  const { id, companyId } = (await sell()).order
  const books = openSlowBooks({ smallBooks: 0 })
  assert.equal(await books.findHold(companyId), null)
  await inflate(id, 1)
  assert.equal(await books.findHold(companyId), null, 'verified a moment ago')
  world.clock.nowMs -= HOUR
  assert.match((await books.findHold(companyId)) ?? '', /the books differ/)
  await inflate(id, -1)
  world.clock.nowMs += HOUR
})

test('small books are verified each time, also where the database is slow', async () => {
  const sale = await sell()
  const { companyId, id } = sale.order
  const books = openSlowBooks()
  assert.equal(await books.findHold(companyId), null)
  await inflate(id, 1)
  assert.match((await books.findHold(companyId)) ?? '', /the books differ/)
  await inflate(id, -1)
  assert.equal(await books.findHold(companyId), null)
})

test('an answer that says nothing changes nothing, in either direction', async () => {
  const sale = await sell()
  statuses.set(sale.reference, 'unknown')
  await nextDay()
  assert.deepEqual(await differences(sale), [])
  statuses.set(sale.reference, 'failed')
  await nextDay()
  statuses.set(sale.reference, 'unknown')
  await nextDay()
  assert.equal((await differences(sale)).length, 1, 'only the word "paid" ends a difference')
})

test('money that a provider takes back in part is a loss, not a difference', async () => {
  const sale = await sell()
  statuses.set(sale.reference, 'halved')
  await nextDay()
  assert.deepEqual(await lostOf(sale), [{ units: DUE - DUE / 2n }])
})

test('a provider is asked once a day, and no longer after sixty days', async () => {
  const sale = await sell()
  const { log } = world.host.service.app
  const begun = asked.get(sale.reference) ?? 0
  const askedSince = (): number => (asked.get(sale.reference) ?? 0) - begun
  const look = () => reconcilePayments(world.payments, world.books, log)
  world.clock.nowMs += DAY - HOUR
  await look()
  assert.equal(askedSince(), 0)
  world.clock.nowMs += HOUR
  await look()
  await look()
  assert.equal(askedSince(), 1)
  world.clock.nowMs += 58 * DAY
  await look()
  assert.equal(askedSince(), 2)
  world.clock.nowMs += DAY + HOUR
  await look()
  assert.equal(askedSince(), 2)
})

/** The provider hangs for one company. */
function channelsWithout({ merchant }: Sale): Channels {
  const { channels } = world.payments
  return {
    ...channels,
    forPayment: async (payment) => {
      if (payment.companyId === merchant.companyId) throw new Error('the provider hangs')
      return channels.forPayment(payment)
    },
  }
}

test('a provider that does not answer is asked the next day, and holds up no other', async () => {
  const [broken, fine] = [await sell(), await sell()]
  statuses.set(fine.reference, 'failed')
  const before = asked.get(fine.reference) ?? 0
  const failing = channelsWithout(broken)
  world.clock.nowMs += DAY
  await reconcilePayments({ ...world.payments, channels: failing }, world.books, world.host.service.app.log)
  assert.equal((asked.get(fine.reference) ?? 0) - before, 1)
  assert.equal((await differences(fine)).length, 1)
  await nextDay()
  assert.ok((asked.get(broken.reference) ?? 0) > 0)
})

test('a refund from the provider’s console whose callback was lost is noticed when the provider is asked', async () => {
  const sale = await sell()
  statuses.set(sale.reference, 'refunded')
  const { refunds, books, host } = world
  const payments: PaymentDeps = {
    ...world.payments,
    onRefunded: (tx, payment, report) => noticeForeignRefund(refunds, tx, payment, report),
  }
  for (let day = 0; day < 2; day += 1) {
    world.clock.nowMs += DAY
    await reconcilePayments(payments, books, host.service.app.log)
  }
  assert.equal((await findOrderById(host.db, sale.order.companyId, sale.order.id))?.status, 'FULL_REFUNDED')
  const { units } = await host.db.one<{ units: string }>(
    sql`select coalesce(sum(units), 0)::text as units from refunds where order_id = ${sale.order.id}`,
  )
  assert.equal(units, String(DUE))
})

test('after a restore every paid payment is asked about, also one that got no answer a moment ago', async () => {
  const sale = await sell()
  const { books, payments, host } = world
  const without = { ...payments, channels: channelsWithout(sale) }
  world.clock.nowMs += DAY
  await reconcilePayments(without, books, host.service.app.log)
  assert.deepEqual([...(await reconcileEveryPayment(without, books))], [['binance', 1]])
  const before = asked.get(sale.reference) ?? 0
  assert.deepEqual([...(await reconcileEveryPayment(payments, books))], [])
  assert.equal((asked.get(sale.reference) ?? 0) - before, 1)
})
