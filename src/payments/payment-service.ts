import { askProvider } from '../channels/ask-provider.ts'
import type { Channel, PaymentReport, SeenReport } from '../channels/channel.ts'
import type { Db, Tx } from '../db/db.ts'
import { isUnpolled, renewItem } from '../db/poll-queries.ts'
import { LeaseLost, pollNow } from '../db/polling.ts'
import type { RequestContext } from '../http/request-context.ts'
import { crashPoint } from '../kernel/crash-point.ts'
import { AppError } from '../kernel/errors.ts'
import type { ReadDifference } from '../ledger/difference-queries.ts'
import type { Order } from '../orders/order.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { findReachableOrder } from '../orders/order-service.ts'
import { isOpen } from '../orders/order-states.ts'
import { markPaymentAbandoned } from './abandoned-queries.ts'
import { resumePayment } from './accept/create-at-provider.ts'
import { type AcceptDeps, keyOf } from './accept/start-payment.ts'
import { giveUpClosing, limitWait, postponeEnded } from './ended-payments.ts'
import { findKeptReport } from './mispayments/kept-report.ts'
import { findReturns } from './mispayments/mispayment-queries.ts'
import { takesBack } from './mispayments/told-report.ts'
import {
  findPayment,
  findPaymentPolicy,
  listPaymentsOfOrder,
  PAYMENT_POLLS,
  type Payment,
  updatePayment,
  updatePaymentClosed,
  updatePaymentNextCheck,
  updatePaymentReference,
} from './payment-queries.ts'
import { applyReport, applyReportIn } from './payment-report.ts'
import {
  ACCOUNT_REMOVED,
  checksAfter,
  isOver,
  isPastClosing,
  minAcceptedUnits,
  nextEndedCheck,
  priceUnitsOf,
  wasPaid,
} from './payment-rules.ts'
import { type LockedCase, lockCase, type ReportDeps } from './report-case.ts'

export type PaymentDeps = AcceptDeps &
  ReportDeps & {
    /**
     * The provider may report refunded units of a payment, whoever started the refund. Called in the transaction that
     * records it.
     */
    onRefunded(tx: Tx, payment: Payment, report: SeenReport): Promise<void>
    /** The books differ once a provider reverses a payment that it had called paid (`reconcile.ts`). */
    words: PaidWords
  }

/** What is told of one payment. */
type Told = { order: Order; payment: Payment; report: PaymentReport }

export type PaidWords = {
  /** The differences that an answer may end which is asked for after that. */
  listOpen(order: Order, payment: Payment): Promise<ReadDifference[]>
  /** Called in the transaction that records the report. */
  note(tx: Tx, told: Told, known: readonly ReadDifference[]): Promise<void>
}

/** The daily reconciliation would be too late: a refund or a settlement may leave before it. */
export async function noteTakenBack({ words }: PaymentDeps, tx: Tx, told: Told): Promise<void> {
  const { order, report } = told
  if (!takesBack(report)) return
  // another node may have heard that it is paid since it was read
  const payment = (await findPayment(tx, told.payment.companyId, told.payment.id)) ?? told.payment
  if (wasPaid(order, payment, await findPaymentPolicy(tx, payment.companyId))) await words.note(tx, told, [])
}

/** One that did not pay its order is not asked about daily any more once it waits for its money again. */
const mayConfirm = (payment: Payment): boolean => isOver(payment) && payment.priceUnits === null

type Answered = { order: Order | undefined; report: PaymentReport | undefined }

/** Polls one payment at its channel and applies the report. */
async function askAndApply(deps: PaymentDeps, payment: Payment, requestId: string | null): Promise<Answered> {
  const { providerReference } = payment
  const [channel, order] = await Promise.all([
    deps.channels.forPayment(payment),
    findOrderById(deps.db, payment.companyId, payment.orderId),
  ])
  if (!channel || providerReference === null || !order) return { order, report: undefined }
  const known = mayConfirm(payment) ? await deps.words.listOpen(order, payment) : []
  const askedAt = new Date(deps.clock())
  const report = await askProvider(channel.fetchPayment({ ...keyOf(order, payment), providerReference }))
  const also = async (tx: Tx, after: Order, read: PaymentReport): Promise<void> => {
    if (read.outcome === 'seen') await deps.onRefunded(tx, payment, { ...read, askedAt })
    if (read.outcome === 'seen') await deps.words.note(tx, { order: after, payment, report: read }, known)
    else await noteTakenBack(deps, tx, { order: after, payment, report: read })
  }
  return { order: await applyReport(deps, payment, report, { requestId, also, asked: payment }), report }
}

/**
 * A refund of ours is over: what its provider listed as sent back is split anew, and what it lists by now is asked
 * about at once. That the payment is old does not matter.
 * @returns false: its provider lists no returns
 */
export async function readReturnsAgain(deps: PaymentDeps, tx: Tx, payment: Payment): Promise<boolean> {
  if ((await findReturns(tx, payment)).gone === null) return false
  // an older version kept none
  const said = await findKeptReport(tx, payment)
  const also = async (_tx: Tx, _after: Order, read: PaymentReport): Promise<void> => {
    if (read.outcome === 'seen') await deps.onRefunded(tx, payment, read)
  }
  if (said) await applyReportIn(deps, tx, { key: payment, said, also })
  await renewItem(tx, PAYMENT_POLLS.table, payment, new Date(deps.clock()))
  return true
}

/** How long a person waits for a poll that another request or node makes. */
const WAIT_MS = 1000
const STEP_MS = 50

/**
 * Polls one payment now for a person. It does so under the payment's lease, so that an answer that took long never
 * overwrites a newer one; where another poll has the lease, it waits for that for a second.
 * @returns undefined: another poll asks, or has asked since, and what is stored is what is known
 */
async function askNow(deps: PaymentDeps, payment: Payment, requestId: string | null): Promise<Answered | undefined> {
  // nothing to ask about, and who creates it needs the lease
  if (payment.providerReference === null) return undefined
  const { table } = PAYMENT_POLLS
  const ask = async (db: Db): Promise<Answered> => {
    const current = await findPayment(db, payment.companyId, payment.id)
    return askAndApply({ ...deps, db }, current ?? payment, requestId)
  }
  await renewItem(deps.db, table, payment, new Date(deps.clock()))
  for (let waited = 0; ; waited += STEP_MS) {
    const taken = await pollNow(deps, PAYMENT_POLLS, payment, ask).catch((error: unknown) => {
      if (error instanceof LeaseLost) return undefined
      throw error
    })
    if (taken) return taken.result
    if (waited >= WAIT_MS || !(await isUnpolled(deps.db, table, payment, new Date(deps.clock())))) return undefined
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}

/**
 * The payer claims to have paid: asks the channel instead of trusting the request.
 * @throws PAYMENT_NOT_RECEIVED, ORDER_STATE_CONFLICT
 */
export async function confirmOrder(deps: PaymentDeps, context: RequestContext, code: string): Promise<void> {
  const { actor } = context
  crashPoint('confirm:start')
  const order = await findReachableOrder(deps.db, actor, code)
  const payment = order.paymentId === null ? undefined : await findPayment(deps.db, order.companyId, order.paymentId)
  if (order.paidAt === null) {
    if (!isOpen(order.status) || !payment) {
      throw new AppError('ORDER_STATE_CONFLICT', {
        message: isOpen(order.status)
          ? 'No payment channel was chosen yet. Accept the order first.'
          : `The order is ${order.status}; it cannot be paid any more.`,
      })
    }
    const answered = await askNow(deps, payment, context.requestId)
    const after = answered ? answered.order : await findOrderById(deps.db, order.companyId, order.id)
    if (!after || after.paidAt === null) throw new AppError('PAYMENT_NOT_RECEIVED')
  }
  crashPoint('confirm:before-answer')
  await deps.db.tx((tx) => context.remember(tx, null))
}

const hasCome = (report: PaymentReport | undefined): boolean =>
  report?.outcome === 'seen' && report.final + report.pending > 0n

/**
 * Polls every payment of an order, ended ones too, for a payer who says that it is paid.
 * @returns whether any money was seen
 * @throws CHANNEL_UNAVAILABLE when none could be polled
 */
export async function askAboutOrder(deps: PaymentDeps, context: RequestContext, code: string): Promise<boolean> {
  const order = await findReachableOrder(deps.db, context.actor, code)
  const payments = await listPaymentsOfOrder(deps.db, order.companyId, order.id)
  const asked = payments.filter(({ providerReference }) => providerReference !== null).slice(-3)
  const ask = async (payment: Payment): Promise<boolean> => {
    const answered = await askNow(deps, payment, context.requestId)
    if (answered) return hasCome(answered.report)
    const now = await findPayment(deps.db, payment.companyId, payment.id)
    return now !== undefined && now.receivedUnits + now.toldUnits > 0n
  }
  const answers = await Promise.allSettled(asked.map(ask))
  const known = answers.filter((answer) => answer.status === 'fulfilled')
  const [failed] = answers.filter((answer) => answer.status === 'rejected')
  if (known.length === 0 && failed) throw failed.reason
  return known.some(({ value }) => value)
}

/** Polls one payment: fetches it, resumes an unanswered creation, or closes an abandoned one. */
export async function pollPayment(deps: PaymentDeps, payment: Payment): Promise<void> {
  const channel = await deps.channels.forPayment(payment)
  if (!channel) return waitForAccount(deps, payment)
  try {
    await pollAt(deps, channel, payment)
  } catch (error) {
    await postponeEnded(deps, payment)
    throw error
  }
}

async function pollAt(deps: PaymentDeps, channel: Channel, payment: Payment): Promise<void> {
  if (payment.status === 'creating') {
    const order = await findOrderById(deps.db, payment.companyId, payment.orderId)
    const wanted = order?.status === 'PENDING' && order.paymentId === payment.id
    if (!wanted) return endPayment(deps, channel, payment)
    // a callback named a payment whose creation was never answered: money may have arrived
    if (payment.providerReference !== null) await askAndApply(deps, payment, null)
    return resumePayment(deps, payment)
  }
  if (payment.status === 'closing') return endPayment(deps, channel, payment)
  const { order } = await askAndApply(deps, payment, null)
  if (isOver(payment) || !order || isOpen(order.status)) return
  // another payment paid this order: it must not be paid twice
  if (order.paidAt === null || order.paymentId !== payment.id) await endPayment(deps, channel, payment)
}

/**
 * The account that the payment was opened with was removed. Only that account knows whether it was paid: once the order
 * stops waiting for it, the payment stays closing, so that it is asked there if the account comes back.
 */
async function waitForAccount(deps: PaymentDeps, key: Payment): Promise<void> {
  await deps.db.tx(async (tx) => {
    const locked = await lockCase(deps, tx, key)
    if (!locked) return
    const { order, payment, now } = locked
    if (isOpen(order.status) && order.paymentId === payment.id) {
      await limitWait({ ...locked, requestId: null })
      return
    }
    const checks = isOver(payment) ? payment.checks : checksAfter(payment, { status: 'closing' })
    const abandonedAt = isOver(payment) ? payment.abandonedAt : (payment.abandonedAt ?? now)
    const nextCheckAt = nextEndedCheck({ ...payment, abandonedAt, checks }, now.getTime())
    if (isOver(payment)) return updatePaymentNextCheck(tx, payment, nextCheckAt)
    if (nextCheckAt === null) return giveUpClosing(locked, ACCOUNT_REMOVED)
    await updatePayment(tx, payment, { status: 'closing', providerStatus: ACCOUNT_REMOVED, nextCheckAt, checks }, now)
  })
}

const OVER: ReadonlySet<PaymentReport['outcome']> = new Set(['expired', 'cancelled', 'failed', 'blocked'])

/** A payment whose creation was never answered may still exist at the provider. */
async function findLostReference(deps: PaymentDeps, channel: Channel, payment: Payment): Promise<string | null> {
  if (payment.providerReference !== null || !channel.recoverPayment) return payment.providerReference
  const order = await findOrderById(deps.db, payment.companyId, payment.orderId)
  if (!order) return null
  const nobody = { payerEmail: null, payerIp: null, userAddress: null, callbackUrl: '' }
  const texts = { description: '', goods: null, returnUrl: null, cancelUrl: null }
  const found = await askProvider(channel.recoverPayment({ ...keyOf(order, payment), ...nobody, ...texts }))
  if (found.outcome === 'absent') return null
  const reference = found.outcome === 'found' ? found.instructions.providerReference : found.providerReference
  await updatePaymentReference(deps.db, payment, reference)
  return reference
}

/** A part does not end it: the rest can be paid at the provider until its own deadline. */
async function isPaidWith(
  { db, clock }: PaymentDeps,
  { order, payment, report }: { order: Order; payment: Payment; report: PaymentReport },
): Promise<boolean> {
  if (report.outcome !== 'seen') return false
  if (isPastClosing(payment, clock())) return true
  const min = minAcceptedUnits(priceUnitsOf(order, payment), await findPaymentPolicy(db, payment.companyId))
  return report.isPart !== true && report.final + report.pending >= min
}

const isPayable = ({ order, payment }: Pick<LockedCase, 'order' | 'payment'>): boolean =>
  isOpen(order.status) &&
  order.paymentId === payment.id &&
  (payment.status === 'awaiting' || payment.status === 'confirming')

/** Changes an abandoned payment, unless its payer has come back to it meanwhile. @returns whether it was changed */
const changeAbandoned = (
  deps: PaymentDeps,
  key: Payment,
  change: (tx: Tx, payment: Payment) => Promise<void>,
): Promise<boolean> =>
  deps.db.tx(async (tx) => {
    const locked = await lockCase(deps, tx, key)
    if (!locked || isPayable(locked)) return false
    await change(tx, locked.payment)
    return true
  })

async function closeAbandoned(deps: PaymentDeps, key: Payment, how: { now: Date; isAsked: boolean }): Promise<void> {
  await changeAbandoned(deps, key, (tx, payment) => updatePaymentClosed(tx, payment, how))
}

/**
 * Closes an abandoned payment at its provider and checks whether the payer paid first. Only the provider's answer
 * closes it.
 */
async function endPayment(deps: PaymentDeps, channel: Channel, given: Payment): Promise<void> {
  const now = new Date(deps.clock())
  const payment = { ...given, abandonedAt: given.abandonedAt ?? now }
  const mark = (): Promise<boolean> => changeAbandoned(deps, given, (tx, one) => markPaymentAbandoned(tx, one, now))
  if (given.abandonedAt === null && !(await mark())) return
  const order = await findOrderById(deps.db, payment.companyId, payment.orderId)
  // an address stays payable: read what arrived before closing
  if (channel.onChain && payment.status === 'closing') await askAndApply(deps, payment, null)
  const asks = !channel.onChain && order
  const providerReference = asks ? await findLostReference(deps, channel, payment) : null
  if (!asks || providerReference === null) return closeAbandoned(deps, payment, { now, isAsked: false })
  const [close] = await Promise.allSettled([channel.closePayment?.({ ...keyOf(order, payment), providerReference })])
  // a payment that cannot be closed is often being paid or already paid, so poll it
  const { report } = await askAndApply(deps, { ...payment, providerReference }, null)
  const isAnswered = async (): Promise<boolean> =>
    report !== undefined && (takesBack(report) || (await isPaidWith(deps, { order, payment, report })))
  // it may still be payable there, however long ago it was opened
  if (close.status === 'rejected' && !(await isAnswered())) throw close.reason
  const hasEnded = report !== undefined && (OVER.has(report.outcome) || (report.outcome === 'seen' && report.ends))
  if (hasEnded || isPastClosing(payment, now.getTime())) return closeAbandoned(deps, payment, { now, isAsked: true })
}
