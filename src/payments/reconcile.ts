import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { ChannelId, PaymentReport } from '../channels/channel.ts'
import type { Tx } from '../db/db.ts'
import { holdLease } from '../db/polling.ts'
import { DAY, SECOND } from '../kernel/clock.ts'
import type { Books } from '../ledger/books.ts'
import type { Order } from '../orders/order.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { keyOf } from './accept/start-payment.ts'
import { readStanding } from './mispayments/standing.ts'
import { priceWordOf, takesBack } from './mispayments/told-report.ts'
import { findPayment, findPaymentPolicy, PAYMENT_POLLS, type Payment } from './payment-queries.ts'
import { applyReport } from './payment-report.ts'
import { wasPaid } from './payment-rules.ts'
import type { PaidWords, PaymentDeps } from './payment-service.ts'
import { listReconcilable, listUnreconciled, updateReconciled } from './reconcile-queries.ts'

/** Such a payment is reconciled once a day, for as long as providers allow refunds and disputes. */
const AGAIN_MS = DAY
const FOR_MS = 60 * DAY
const BATCH = 100

/** A payment that did not pay its order has a difference of its own: its provider's word says nothing of the other. */
function subjectsOf({ code, paidAt, paymentId }: Order, { id }: Payment): [string, ...string[]] {
  const own = `order ${code}, state of payment ${id}`
  if (paymentId !== id) return [own]
  // it may have paid the order since; older versions knew the order's only
  return paidAt === null ? [own, `order ${code}`] : [`order ${code}`, own]
}

/** Records that a provider takes back a payment that it had called paid. */
export function noteWord(books: Books, tx: Tx, order: Order, payment: Payment, report: PaymentReport): Promise<void> {
  const { companyId, channel } = payment
  const subjects = subjectsOf(order, payment)
  const expected = `${report.outcome}: ${report.providerStatus}`
  const difference = { companyId, subject: subjects[0], what: `word of ${channel}`, booked: 'paid', expected }
  return books.noteIn(tx, companyId, 'providers', [difference], { subjects })
}

/** What providers say of payments that they had called paid. */
export const openWords = (books: Books): PaidWords => ({
  listOpen: (order, payment) => books.listOpen(payment.companyId, 'providers', subjectsOf(order, payment)),
  async note(tx, { order, payment, report }, known) {
    const { companyId, id } = payment
    if (takesBack(report)) return noteWord(books, tx, order, payment, report)
    // an answer that says neither leaves an earlier difference open
    const now = known.length === 0 ? undefined : await findPayment(tx, companyId, id)
    const word = now && priceWordOf(report, await readStanding(tx, now))
    const subjects = subjectsOf(order, payment)
    if (word === 'confirms') await books.noteIn(tx, companyId, 'providers', [], { subjects, known })
  },
})

/** How long to wait for a poll that another request or node makes. */
const WAIT_MS = 2 * SECOND
const STEP_MS = 50

/**
 * Under the payment's lease, like every question about it: an answer that took long never overwrites a newer one.
 * @returns false: it got no answer, or another poll, which applies its own answer, had the lease all the time
 */
async function reconcileLeased(deps: PaymentDeps, books: Books, { companyId, id }: Payment): Promise<boolean> {
  for (let waited = 0; ; waited += STEP_MS) {
    const done = await holdLease(deps, PAYMENT_POLLS.table, { companyId, id }, async (db) => {
      const payment = await findPayment(db, companyId, id)
      return payment === undefined || reconcile({ ...deps, db }, books, payment)
    })
    if (done) return done.result
    if (waited >= WAIT_MS) return false
    await sleep(STEP_MS)
  }
}

/** @returns false if the operator's account that knows about it is not set up here; a company's is its own affair */
async function reconcile(deps: PaymentDeps, books: Books, payment: Payment): Promise<boolean> {
  const { companyId, orderId, providerReference, ownAccount } = payment
  const order = await findOrderById(deps.db, companyId, orderId)
  const channel = await deps.channels.forPayment(payment)
  if (!channel) return ownAccount
  if (!order || providerReference === null) return true
  const words = openWords(books)
  // a callback may take the payment back while the provider's answer is on its way here
  const known = await words.listOpen(order, payment)
  // by what had come before it was asked
  const isPaid = wasPaid(order, payment, await findPaymentPolicy(deps.db, companyId))
  const askedAt = new Date(deps.clock())
  const report = await channel.fetchPayment({ ...keyOf(order, payment), providerReference })
  if (isPaid && takesBack(report)) await deps.db.tx((tx) => words.note(tx, { order, payment, report }, known))
  if (report.outcome !== 'seen') return true
  const also = async (tx: Tx, after: Order, read: PaymentReport): Promise<void> => {
    // the callback that reported a refund from the provider's console may have been lost
    if (read.outcome === 'seen') await deps.onRefunded(tx, payment, { ...read, askedAt })
    await words.note(tx, { order: after, payment, report: read }, known)
  }
  // a partial reversal is a loss and is booked like any other
  await applyReport(deps, payment, report, { also, asked: payment })
  return true
}

/**
 * Asks providers once a day whether the payments that they called paid still are. @returns whether there may be more
 */
export async function reconcilePayments(deps: PaymentDeps, books: Books, log: FastifyBaseLogger): Promise<boolean> {
  const now = deps.clock()
  const range = { askedBefore: new Date(now - AGAIN_MS), openedAfter: new Date(now - FOR_MS), limit: BATCH }
  const due = await listUnreconciled(deps.db, range)
  for (const { companyId, id } of due) {
    const payment = await findPayment(deps.db, companyId, id)
    if (!payment) continue
    await reconcileLeased(deps, books, payment).catch((error: unknown) =>
      log.warn({ err: error, channel: payment.channel, paymentId: id }, 'a paid payment could not be reconciled'),
    )
    // even without an answer, so that it does not block the others: it is retried tomorrow
    await updateReconciled(deps.db, payment, new Date(now))
  }
  return due.length === BATCH
}

/**
 * Asks providers about every payment that they called paid, however recently it was asked.
 * @returns how many payments of each channel got no answer
 */
export async function reconcileEveryPayment(deps: PaymentDeps, books: Books): Promise<Map<ChannelId, number>> {
  const now = deps.clock()
  const unanswered = new Map<ChannelId, number>()
  let after = { companyId: '', id: '' }
  for (;;) {
    const page = await listReconcilable(deps.db, { after, openedAfter: new Date(now - FOR_MS), limit: BATCH })
    for (const key of page) {
      const payment = await findPayment(deps.db, key.companyId, key.id)
      if (!payment) continue
      const isAnswered = await reconcileLeased(deps, books, payment).catch(() => false)
      if (isAnswered) await updateReconciled(deps.db, payment, new Date(now))
      else unanswered.set(payment.channel, (unanswered.get(payment.channel) ?? 0) + 1)
    }
    const last = page.at(-1)
    if (!last || page.length < BATCH) return unanswered
    after = last
  }
}
