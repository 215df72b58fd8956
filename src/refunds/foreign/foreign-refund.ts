import type { Returned, SeenReport } from '../../channels/channel.ts'
import type { Tx } from '../../db/db.ts'
import { DAY, MINUTE } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import {
  convert,
  formatDecimal,
  formatMoney,
  larger,
  MOST_REAL_UNITS,
  type Money,
  proportion,
} from '../../kernel/money.ts'
import { updateDifferencesAnswered } from '../../ledger/difference-queries.ts'
import { partSubject } from '../../ledger/part-refunded.ts'
import type { Order } from '../../orders/order.ts'
import { lockOrderById } from '../../orders/order-queries.ts'
import { allows } from '../../orders/order-states.ts'
import { findPayment, type Payment } from '../../payments/payment-queries.ts'
import { goesToAddress } from '../destination/address-proof.ts'
import { fiatShare, fiatTotal, wholePriceUnits } from '../refund-amount.ts'
import type { RefundDeps } from '../refund-deps.ts'
import { isRefundReferenceUsed, listRefundsOfOrder, lockRefundReference, type Refund } from '../refund-queries.ts'
import { isLive, readReturned } from '../refund-records.ts'
import { matchReturns } from '../returns/listed-returns.ts'
import { findToldRefunds, takeToldRefunds, updateToldRefunds } from '../returns/told-refund-queries.ts'
import { bookForeign, type ForeignCase } from './foreign-booking.ts'

/** A provider that refunds in fiat rounds: a difference below its smallest unit is no refund. */
const leastOf = (order: Order): bigint => convert({ asset: order.from.asset, units: 1n }, order.rate, 'USDC').units

/** `dropped`: a refund of ours that was dropped, and that the total may still include. */
type Told = Pick<SeenReport, 'refunded' | 'refundedPart' | 'returned' | 'askedAt'> & { dropped?: bigint }

/**
 * The provider reports the refunded units of a payment. Those that we did not send came from its console. They become a
 * refund here, so that order, books and merchant see it. If a person says that a refund was sent another way, it may be
 * that one, so nothing is booked. In that case, and when the units fit no order, a difference of the books is recorded.
 * @param tx the transaction of the report: once our refund or the payment is over, the provider is not polled again
 */
export async function noticeForeignRefund(deps: RefundDeps, tx: Tx, payment: Payment, told: Told): Promise<void> {
  const { refunded, refundedPart, returned: list, dropped, askedAt } = told
  if (refundedPart) return noticeUnknownPart(deps, tx, payment)
  // says nothing, like an amount paid that cannot be right: a later report may
  if (refunded === undefined || refunded > MOST_REAL_UNITS) return
  const order = await lockOrderById(tx, payment.companyId, payment.orderId)
  if (!order) return
  const all = await listRefundsOfOrder(tx, order.companyId, order.id)
  const ours = all.filter(({ paymentId, status }) => paymentId === payment.id && isLive({ status }))
  // while a refund of ours is in progress no total is certain: its end decides, or a later report
  const isRefunding = order.paymentId === payment.id && order.status === 'REFUNDING'
  const isMore = !list && (await noteMoreThanSent(deps, tx, { order, payment, refunded }))
  if (!list && (isRefunding || isMore)) await updateToldRefunds(tx, payment, refunded)
  if (isRefunding || isMore) return
  if (refunded > 0n) await endPart(deps, tx, order, payment)
  const { sent, elsewhere, byHand } = sumSent(ours, list, refunded)
  const foreign = refunded - sent
  const isTooMuch = !list && isOverRecorded(ours, { refunded, least: leastOf(order), nowMs: deps.clock() })
  if (isTooMuch) return noteUnbooked(deps, tx, payment, unbookedOf(order, payment, { sent, refunded }))
  // a list is in the payer's coin: up to a tenth more than was settled by hand is its rate of the day
  if (foreign <= 0n || foreign < byHand / 10n) return noteAllBooked(deps, tx, { order, payment, told })
  const returned = await readReturned(tx, order)
  const left = order.paidUnits - sumOf(returned.refunds) - returned.besideUnits
  const takenBack = listTakenBack(all, payment, (askedAt?.getTime() ?? deps.clock() - LATE_MS) - SKEW_MS)
  // if one of ours may be in the total, a person must judge it
  const mayInclude = (units: bigint | undefined): boolean => units !== undefined && units <= foreign
  const isCertain = list
    ? elsewhere === 0n || list.read?.isAll || foreign + byHand >= elsewhere + left
    : elsewhere === 0n && ![dropped, ...takenBack].some(mayInclude)
  const isBookable = isCertain && order.paymentId === payment.id && allows(order.status, 'revert')
  const booked = isBookable ? await bookTotal(deps, tx, { order, payment, returned, foreign }) : 0n
  const ignored = list?.read?.isAll === false ? list.read.ignored : 0n
  const least = larger((byHand + ignored) / 10n, leastOf(order))
  // where more went back than was ignored, all of it may be a refund
  const most = foreign < least ? refunded : refunded + ignored
  if (most - sent - booked < least) return noteAllBooked(deps, tx, { order, payment, told })
  await noteUnbooked(deps, tx, payment, unbookedOf(order, payment, { sent: sent + booked, refunded: most }))
}

/** In progress here. */
const isUnderWay = ({ status }: Refund): boolean => isLive({ status }) && status !== 'settled'

/** Whether the provider was asked for it, or a person was asked to send it: its total may contain it. */
const mayHaveIt = ({ status, providerReference, handedOverAt }: Refund): boolean =>
  status === 'submitted' || status === 'settled' || providerReference !== null || handedOverAt !== null

type ToldTotal = { order: Order; payment: Payment; refunded: bigint }

/**
 * More was refunded than ours that may have left, while another one of ours has not: it would go out on top of what
 * left in the console. So a person looks first. @returns whether that is so
 */
async function noteMoreThanSent(deps: RefundDeps, tx: Tx, { order, payment, refunded }: ToldTotal): Promise<boolean> {
  const all = await listRefundsOfOrder(tx, order.companyId, order.id)
  const ours = all.filter((one) => one.paymentId === payment.id && isLive(one) && !one.paidElsewhere)
  const sent = sumOf(ours.filter(mayHaveIt))
  if (ours.every(mayHaveIt) || refunded - sent < leastOf(order)) return false
  await noteUnbooked(deps, tx, payment, unbookedOf(order, payment, { sent, refunded }))
  return true
}

/** Before a refund of ours is sent: what was told while another one may have been in it may now be more than ours. */
export async function noteToldBeforeSending(deps: RefundDeps, tx: Tx, order: Order, refund: Refund): Promise<void> {
  const { companyId, paymentId } = refund
  const refunded = await findToldRefunds(tx, companyId, paymentId)
  const payment = refunded === null ? undefined : await findPayment(tx, companyId, paymentId)
  if (payment && refunded !== null) await noteMoreThanSent(deps, tx, { order, payment, refunded })
}

/**
 * The provider says that a part was refunded, and not how much. A refund that it took from us explains that. Otherwise
 * it came from the console, and a person looks up how much it was.
 */
async function noticeUnknownPart(deps: RefundDeps, tx: Tx, payment: Payment): Promise<void> {
  const order = await lockOrderById(tx, payment.companyId, payment.orderId)
  if (!order) return
  const all = await listRefundsOfOrder(tx, order.companyId, order.id)
  // a refund of ours that may have left may be what it means: its end decides, or a later report
  const mayBeOurs = all.some((one) => one.paymentId === payment.id && isUnderWay(one) && mayHaveIt(one))
  if (order.paymentId === payment.id && order.status === 'REFUNDING' && mayBeOurs) return
  // one that a person rejected after the provider took it is a difference of its own
  const isOurs = all.some(
    ({ paymentId, status, paidElsewhere, providerReference }) =>
      paymentId === payment.id &&
      !paidElsewhere &&
      (status === 'submitted' || status === 'settled' || (status === 'rejected' && providerReference !== null)),
  )
  if (isOurs) return closePart(deps, tx, order, payment)
  const expected = 'partly refunded; only the provider’s console shows how much'
  await noteUnbooked(deps, tx, payment, { subject: partSubject(order, payment), booked: 'no refund', expected })
}

/** The provider has said how much: nothing is left to record, even if a person has explained the difference. */
const endPart = ({ clock }: RefundDeps, tx: Tx, order: Order, payment: Payment): Promise<number> =>
  updateDifferencesAnswered(tx, {
    ...{ companyId: payment.companyId, source: 'providers', subject: partSubject(order, payment) },
    at: new Date(clock()),
  })

/** The refund is ours. */
const closePart = ({ books }: RefundDeps, tx: Tx, order: Order, payment: Payment): Promise<void> =>
  books.noteIn(tx, payment.companyId, 'providers', [], { subjects: [partSubject(order, payment)] })

/**
 * What of our refunds the provider's total contains, and what it may contain besides: what a person sent another way. A
 * provider that lists what it sent back refunds in its console only, so what a person settled by hand may be in its
 * list, unless it went to an address.
 */
function sumSent(ours: readonly Refund[], list: Returned | undefined, refunded: bigint) {
  const known = ours.filter(({ paidElsewhere }) => !paidElsewhere)
  const others = ours.filter(({ paidElsewhere }) => paidElsewhere)
  const elsewhere = sumOf(others)
  if (!list) return { sent: sumOf(known), elsewhere, byHand: 0n }
  const listed = matchReturns(list, refunded, { known, byHand: others.filter((refund) => !goesToAddress(refund)) })
  return { sent: listed.known + listed.byHand, elsewhere, byHand: listed.byHand }
}

/** Longer than any answer is late. */
const LATE_MS = DAY

/**
 * Whether a person recorded more than the provider says. Its word may be from before our latest refunds, never from
 * before a refund that only its console knew.
 */
function isOverRecorded(
  ours: readonly Refund[],
  { refunded, least, nowMs }: { refunded: bigint; least: bigint; nowMs: number },
): boolean {
  const known = ours.filter(({ paidElsewhere }) => !paidElsewhere)
  if (!known.some(({ recorded }) => recorded)) return false
  const latest = known.filter(
    ({ status, recorded, updatedAt }) => status === 'settled' && !recorded && nowMs - updatedAt.getTime() < LATE_MS,
  )
  const underWay = known.filter(({ status }) => status !== 'settled')
  let sent = sumOf(known)
  if (sent - refunded < least) return false
  for (const { units } of [...latest, ...underWay].toReversed()) {
    sent -= units
    if (sent - refunded < least && refunded - sent < least) return false
  }
  return true
}

/** More than the clocks of two nodes differ. */
const SKEW_MS = MINUTE

/** Refunds that the provider took, and refused after that time: an answer of then may still include them. */
const listTakenBack = (all: readonly Refund[], { id }: Payment, sinceMs: number): bigint[] =>
  all.flatMap(({ paymentId, status, providerReference, updatedAt, units }) =>
    paymentId === id && status === 'refused' && providerReference !== null && updatedAt.getTime() > sinceMs
      ? [units]
      : [],
  )

/**
 * A refund of ours is over: evaluates what was meanwhile reported about refunds of its payment.
 * @param dropped its units, if the provider may have taken it and it is not sent all the same
 */
export async function noticeToldRefunds(deps: RefundDeps, tx: Tx, refund: Refund, dropped?: bigint): Promise<void> {
  const { companyId, paymentId, createdAt } = refund
  const payment = await findPayment(tx, companyId, paymentId)
  if (!payment || (await deps.readReturnsAgain(tx, payment))) return
  const refunded = await takeToldRefunds(tx, companyId, paymentId)
  if (refunded === null) return
  const askedAt = new Date(createdAt.getTime() - LATE_MS)
  await noticeForeignRefund(deps, tx, payment, { refunded, askedAt, ...(dropped !== undefined && { dropped }) })
}

const sumOf = (refunds: readonly { units: bigint }[]): bigint => refunds.reduce((sum, { units }) => sum + units, 0n)

/** Books as a refund as much as the order still holds. @returns its units */
async function bookTotal(
  deps: RefundDeps,
  tx: Tx,
  { order, payment, returned, foreign }: Pick<ForeignCase, 'order' | 'payment' | 'returned'> & { foreign: bigint },
): Promise<bigint> {
  const left = order.paidUnits - sumOf(returned.refunds) - returned.besideUnits
  const units = foreign > left ? left : foreign
  if (units <= 0n || (units < leastOf(order) && units < left)) return 0n
  const fiatUnits = fiatShare(order, payment, { units, all: units === left }, returned)
  await bookForeign(deps, tx, { order, payment, returned, units, fiatUnits, reference: null })
  return units
}

type Unbooked = { subject: string; booked: string; expected: string }

/** A person must look before more of the company's money leaves. */
const noteUnbooked = (
  { books }: RefundDeps,
  tx: Tx,
  { companyId, channel }: Payment,
  unbooked: Unbooked,
): Promise<void> =>
  books.noteIn(tx, companyId, 'providers', [{ companyId, what: `word of ${channel}`, ...unbooked }], {
    subjects: [unbooked.subject],
  })

const unbookedOf = (
  { code }: Order,
  { id }: Payment,
  { sent, refunded }: { sent: bigint; refunded: bigint },
): Unbooked => ({
  subject: `order ${code}, payment ${id}`,
  booked: `${formatDecimal(sent, 6)} USDC refunded`,
  expected: `${formatDecimal(refunded, 6)} USDC`,
})

/** What the provider told is booked by now: an earlier word of it that was not is no difference any more. */
async function noteAllBooked(
  { books }: RefundDeps,
  tx: Tx,
  { order, payment, told }: { order: Order; payment: Payment; told: Told },
): Promise<void> {
  const { refunded = 0n, returned: list } = told
  if (list || refunded === 0n) return
  const { subject } = unbookedOf(order, payment, { sent: refunded, refunded })
  await books.noteIn(tx, payment.companyId, 'providers', [], { subjects: [subject] })
}

/** `refundId`: our id, if the provider has it. */
type ForeignNews = { reference: string; fiat: Money; providerStatus: string; refundId?: string | null }

/**
 * The provider reports a refund that did not start here. A repeated report is recorded once. If it fits no order, it
 * becomes a difference of the books, so that a person sees it before more money leaves. So it does while a refund of
 * ours is in progress: ours does not go out on top, even if the report never comes again.
 * @throws CHANNEL_UNAVAILABLE while our own refund is in progress: the provider must repeat the callback
 */
export async function recordForeignRefund(deps: RefundDeps, payment: Payment, news: ForeignNews): Promise<void> {
  const { reference, fiat, providerStatus } = news
  const isEarly = await deps.db.tx(async (tx) => {
    const outcome = await bookReported(deps, tx, payment, news)
    if (!outcome) return false
    const { order, fate } = outcome
    const subject = `order ${order.code}, refund ${reference}`
    const booked = `none, the order is ${order.status}`
    const expected = `${providerStatus}: ${formatMoney(fiat)} ${fiat.asset}`
    const { companyId } = payment
    if (fate === 'booked') await deps.books.noteIn(tx, companyId, 'providers', [], { subjects: [subject] })
    else await noteUnbooked(deps, tx, payment, { subject, booked, expected })
    return fate === 'early'
  })
  if (isEarly) throw new AppError('CHANNEL_UNAVAILABLE', { retryAfter: 60 })
}

/** `early`: a refund of ours is in progress. `unfit`: it fits no order. */
type Fate = 'booked' | 'early' | 'unfit'

/** @returns null: it was booked before */
async function bookReported(
  deps: RefundDeps,
  tx: Tx,
  payment: Payment,
  { reference, fiat, refundId: named = null }: ForeignNews,
): Promise<{ order: Order; fate: Fate } | null> {
  const { companyId, channel } = payment
  const order = await lockOrderById(tx, companyId, payment.orderId)
  if (!order) return null
  await lockRefundReference(tx, payment, reference)
  if (await isRefundReferenceUsed(tx, { companyId, channel }, reference)) return null
  const unfit = { order, fate: 'unfit' } as const
  if (order.paymentId !== payment.id || fiat.asset !== order.from.asset) return unfit
  if (order.status === 'REFUNDING') return { order, fate: 'early' }
  if (!allows(order.status, 'revert')) return unfit
  // one of money that never paid the order
  const all = await listRefundsOfOrder(tx, companyId, order.id)
  if (all.some((one) => one.paymentId === payment.id && isUnderWay(one))) return { order, fate: 'early' }
  const returned = await readReturned(tx, order)
  const left = order.paidUnits - sumOf(returned.refunds) - returned.besideUnits
  const before = returned.refunds.reduce((sum, { fiatUnits }) => sum + fiatUnits, 0n)
  const share = proportion(wholePriceUnits(order, payment), fiat.units, order.from.units)
  const isRest = before + fiat.units >= fiatTotal(order, payment, returned)
  const units = isRest || share > left ? left : share
  if (units <= 0n) return unfit
  await bookForeign(deps, tx, { order, payment, returned, units, fiatUnits: fiat.units, reference, named })
  return { order, fate: 'booked' }
}
