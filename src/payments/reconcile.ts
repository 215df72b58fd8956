import type { FastifyBaseLogger } from 'fastify'
import type { ChannelId, PaymentReport } from '../channels/channel.ts'
import type { Tx } from '../db/db.ts'
import { DAY } from '../kernel/clock.ts'
import type { Books } from '../ledger/books.ts'
import type { Order } from '../orders/order.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { keyOf } from './accept/start-payment.ts'
import { readStanding } from './mispayments/standing.ts'
import { priceWordOf, takesBack } from './mispayments/told-report.ts'
import { findPayment, type Payment } from './payment-queries.ts'
import { applyReport } from './payment-report.ts'
import type { PaymentDeps } from './payment-service.ts'
import { listPaidAtProviders, listUnreconciled, updateReconciled } from './reconcile-queries.ts'

/** A paid payment is reconciled once a day, for as long as providers allow refunds and disputes. */
const AGAIN_MS = DAY
const FOR_MS = 60 * DAY
const BATCH = 100

const subjectOf = ({ code }: Order): string => `order ${code}`

/** Records that a provider takes back a payment that it had called paid. */
export function noteWord(books: Books, tx: Tx, order: Order, payment: Payment, report: PaymentReport): Promise<void> {
  const { companyId, channel } = payment
  const subject = subjectOf(order)
  const expected = `${report.outcome}: ${report.providerStatus}`
  const difference = { companyId, subject, what: `word of ${channel}`, booked: 'paid', expected }
  return books.noteIn(tx, companyId, 'providers', [difference], { subjects: [subject] })
}

/** @returns false if the operator's account that knows about it is not set up here; a company's is its own affair */
async function reconcile(deps: PaymentDeps, books: Books, payment: Payment): Promise<boolean> {
  const { companyId, orderId, id, providerReference, ownAccount } = payment
  const order = await findOrderById(deps.db, companyId, orderId)
  const channel = await deps.channels.forPayment(payment)
  if (!channel) return ownAccount
  if (!order || providerReference === null) return true
  const subjects = [subjectOf(order)]
  // a callback may take the payment back while the provider's answer is on its way here
  const known = await books.listOpen(companyId, 'providers', subjects)
  const report = await channel.fetchPayment({ ...keyOf(order, payment), providerReference })
  if (takesBack(report)) await deps.db.tx((tx) => noteWord(books, tx, order, payment, report))
  // an answer that says neither leaves an earlier difference open
  if (report.outcome !== 'seen') return true
  const { refunded } = report
  const also = async (tx: Tx): Promise<void> => {
    // the callback that reported a refund from the provider's console may have been lost
    if (refunded !== undefined) await deps.onRefunded(tx, payment, refunded)
    const now = await findPayment(tx, companyId, id)
    const word = now && priceWordOf(report, await readStanding(tx, now))
    if (word === 'confirms') await books.noteIn(tx, companyId, 'providers', [], { subjects, known })
  }
  // a partial reversal is a loss and is booked like any other
  await applyReport(deps, payment, report, { also })
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
    await reconcile(deps, books, payment).catch((error: unknown) =>
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
    const page = await listPaidAtProviders(deps.db, { after, openedAfter: new Date(now - FOR_MS), limit: BATCH })
    for (const key of page) {
      const payment = await findPayment(deps.db, key.companyId, key.id)
      if (!payment) continue
      const isAnswered = await reconcile(deps, books, payment).catch(() => false)
      if (isAnswered) await updateReconciled(deps.db, payment, new Date(now))
      else unanswered.set(payment.channel, (unanswered.get(payment.channel) ?? 0) + 1)
    }
    const last = page.at(-1)
    if (!last || page.length < BATCH) return unanswered
    after = last
  }
}
