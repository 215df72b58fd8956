import type { Order } from '../../orders/order.ts'
import { isOpen } from '../../orders/order-states.ts'
import type { Mispayment } from '../../payments/mispayments/mispayment-queries.ts'
import {
  decidedUnits,
  HELD,
  isUnmatched,
  isUnmatchedUsdc,
  lostUnits,
  spokenUnits,
  undecidedUnits,
} from '../../payments/mispayments/standing.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import { priceUnitsOf } from '../../payments/payment-rules.ts'
import { isNamedByPayer } from '../../refunds/destination/refund-address.ts'
import type { Refund } from '../../refunds/refund-queries.ts'
import { isLive } from '../../refunds/refund-records.ts'
import type { Facts, Situation } from '../../texts/order-texts.ts'

/** The chain's view of one payment. */
export type ChainProgress = {
  /** Units that arrived, final or not. */
  seenUnits: bigint
  /** Only dust arrived. */
  dust: boolean
  /** No transfer can disappear any more. */
  final: boolean
  /** Of the youngest transfer that counts. */
  confirmations: number
  /** Null: a block tag decides instead of a number of blocks. */
  needed: number | null
  /** Oldest first; a payer may have sent on another network than the one shown. */
  transactions: readonly { hash: string; network: number; units: bigint }[]
}

/** One attempt to pay, and the USDC units of it that are undecided. */
export type Attempt = {
  payment: Payment
  progress: ChainProgress | null
  arrived: bigint
  /** Seen by its provider, which has not credited it yet. */
  coming: bigint
}

/** Everything that determines the content of an order's page. */
export type OrderFacts = {
  order: Order
  payment: Payment | undefined
  /**
   * The account of its current payment was removed or replaced, and what is paid there would not be seen; or its
   * address is not in the shop's wallet any more.
   */
  accountRemoved: boolean
  progress: ChainProgress | null
  /** USDC units that arrived and count towards the price shown. */
  arrived: bigint
  /** The same on its way at the provider. */
  coming: bigint
  /** Attempts whose money does not count towards the price shown, oldest first. */
  others: readonly Attempt[]
  records: readonly Mispayment[]
  refunds: readonly Refund[]
  /** Number of ways to pay available now. */
  offered: number
  nowMs: number
}

/** How long an order is watched after its end: money that was sent in time may be on its way. */
const LATE_WATCH_MS = 60 * 60_000
/** A provider that has not answered for this long is shown as the reason. */
const SILENT_MS = 15_000
/** A final payment is PAID within seconds, unless its screening holds it. */
const HELD_MS = 15_000

/**
 * What arrived and still counts for the order: nothing refunded, ignored or lost, and no dust. Money that paid its
 * order stays on the page and the receipt when it is lost: who bears that does not concern the payer.
 */
export function arrivedUnits(payment: Payment, progress: ChainProgress | null, records: readonly Mispayment[]): bigint {
  if (progress?.dust) return 0n
  const booked = payment.receivedUnits - (payment.priceUnits === null ? lostUnits(records) : 0n)
  const there = progress !== null && progress.seenUnits > booked ? progress.seenUnits : booked
  return undecidedUnits(there, { decided: decidedUnits(records) })
}

/**
 * What its provider has seen of a payment and not credited yet, for as long as it is asked about. What a chain shows is
 * in its progress.
 */
export const comingUnits = ({ channel, pendingUnits, nextCheckAt }: Payment, progress: ChainProgress | null): bigint =>
  channel === 'crypto' || progress !== null || nextCheckAt === null ? 0n : pendingUnits

/** Without the oldest transactions that were refunded or ignored before the others paid. */
export function countedTransactions(
  progress: ChainProgress | null,
  records: readonly Mispayment[],
): ChainProgress['transactions'] {
  let rest = decidedUnits(records)
  return (progress?.transactions ?? []).filter(({ units }) => {
    rest -= units
    return rest < 0n
  })
}

const isOpenRecord = ({ status }: Mispayment): boolean => status === 'open'

/** Undecided money in another token. */
export const foreignToken = (records: readonly Mispayment[]): Mispayment | undefined =>
  records.find((record) => isUnmatched(record) && record.asset !== 'USDC' && isOpenRecord(record))

const sumOpen = (records: readonly Mispayment[], isMeant: (record: Mispayment) => boolean): bigint =>
  records.filter((record) => isOpenRecord(record) && isMeant(record)).reduce((sum, { units }) => sum + units, 0n)

/** The attempt is over at its provider. */
const isOver = ({ status }: Payment): boolean => status === 'closed' || status === 'failed'

/** Whether the attempt's money counts towards the price shown. */
export const isCurrent = ({ status, paymentId }: Order, payment: Payment): boolean =>
  payment.id === paymentId && !(isOpen(status) && isOver(payment))

/** USDC that arrived and is undecided, but does not count towards the price shown. */
export const besideUnits = ({ others, records }: Pick<OrderFacts, 'others' | 'records'>): bigint =>
  others.reduce((sum, { arrived }) => sum + arrived, sumOpen(records, isUnmatchedUsdc))

/** The same that is on its way there. */
export const besideComingUnits = ({ others }: Pick<OrderFacts, 'others'>): bigint =>
  others.reduce((sum, { coming }) => sum + coming, 0n)

/** An earlier attempt that has the whole price, or is about to: it pays the order once that is final. */
const findWhole = ({ order, others }: OrderFacts): Attempt | undefined =>
  others.find(({ payment, arrived, coming }) => arrived + coming >= priceUnitsOf(order, payment))

/** The attempt at whose provider money was seen that is not credited yet; null: a chain shows what there is. */
export function findConfirming(facts: OrderFacts): Payment | null {
  const { payment, coming, others } = facts
  const whole = findWhole(facts)
  if (whole) return whole.coming > 0n ? whole.payment : null
  if (payment && coming > 0n) return payment
  return others.find((other) => other.coming > 0n)?.payment ?? null
}

/**
 * Undecided USDC of a paid order that did not pay it: above the price, without what refunds of the order took of it, or
 * from another attempt.
 */
export function surplusUnits({ records, refunds }: Pick<OrderFacts, 'records' | 'refunds'>): bigint {
  const ofOrder = refunds.filter((refund) => isLive(refund) && refund.mispaymentId === null)
  const spoken = spokenUnits(
    records,
    ofOrder.reduce((sum, { excessUnits }) => sum + excessUnits, 0n),
  )
  const above = sumOpen(records, ({ kind }) => kind === 'over')
  const beside = sumOpen(records, (record) => HELD.includes(record.kind) || isUnmatchedUsdc(record))
  return beside + (above > spoken ? above - spoken : 0n)
}

/** The part of it that reached the current channel, which does not credit it: on another network, perhaps. */
export const uncreditedUnits = ({
  order,
  payment,
  records,
}: Pick<OrderFacts, 'order' | 'payment' | 'records'>): bigint =>
  payment && isCurrent(order, payment)
    ? sumOpen(records, (record) => record.paymentId === payment.id && isUnmatchedUsdc(record))
    : 0n

const OPEN_REFUNDS: readonly string[] = ['needs_approval', 'needs_address', 'ready', 'submitted']

/** The open refund: an order has at most one at a time, and so has each mispayment. */
export const openRefund = (refunds: readonly Refund[]): Refund | undefined =>
  refunds.findLast(({ status }) => OPEN_REFUNDS.includes(status))

/** The screening has not cleared its sender. */
const isHeldOf = (records: readonly Mispayment[], { id }: Payment): boolean =>
  records.some((record) => record.paymentId === id && record.kind === 'held' && isOpenRecord(record))

function whileOpen(facts: OrderFacts): Situation {
  const { payment, order, arrived, coming, records, offered, nowMs } = facts
  const whole = findWhole(facts)
  if (whole) return isHeldOf(records, whole.payment) ? 'hold' : 'seen'
  // the closed attempt is over at its provider, but the order is open: another channel may be chosen
  const isLost = facts.accountRemoved && payment?.status !== 'confirming'
  if (order.status === 'INITIAL' || !payment || isOver(payment) || isLost)
    return offered === 0 ? onceEnded(facts, 'unavailable') : 'choose'
  if (payment.instructions === null) {
    const isUntouched = besideUnits(facts) === 0n && !foreignToken(records)
    return isUntouched && nowMs - payment.openedAt.getTime() > SILENT_MS ? 'providerDown' : 'preparing'
  }
  if (arrived + coming >= payment.dueUnits) return 'seen'
  if (facts.accountRemoved) return 'accountGone'
  if (arrived > 0n) return 'partly'
  // the provider has seen less than the price, and nothing of it is final
  if (payment.status === 'confirming' && payment.channel !== 'crypto') return 'onItsWay'
  return foreignToken(records) ? 'wrongToken' : 'waiting'
}

/** What an open refund waits for. */
export function refundSituation(refund: Refund): Situation {
  if (refund.status === 'needs_approval') return 'refundApproval'
  if (refund.toSendByHand) return 'refundByHand'
  if (refund.status !== 'needs_address') return 'refunding'
  if (refund.askedByMail) return 'refundMailed'
  return isNamedByPayer(refund) ? 'refundCheck' : 'refundAddress'
}

function whileRefunding(refunds: readonly Refund[]): Situation {
  const refund = openRefund(refunds)
  return refund ? refundSituation(refund) : 'refunding'
}

const wasSentBack = (refunds: readonly Refund[]): boolean => refunds.some(({ status }) => status === 'settled')

/** The order cannot be paid; what came is named before the way it ended. */
function onceEnded(facts: OrderFacts, ending: 'unavailable' | 'expired' | 'cancelled' | 'error'): Situation {
  // money that came too late is refunded while the order stays ended
  if (openRefund(facts.refunds)) return whileRefunding(facts.refunds)
  if (facts.arrived + besideUnits(facts) > 0n) return 'late'
  if (facts.coming + besideComingUnits(facts) > 0n) return 'onItsWayEnded'
  if (foreignToken(facts.records)) return 'wrongTokenEnded'
  return wasSentBack(facts.refunds) ? 'sentBack' : ending
}

/** How an unpaid order ended. */
export function endingOf({ order, nowMs }: Pick<OrderFacts, 'order' | 'nowMs'>): Facts['ending'] {
  if (order.status === 'CANCELLED') return 'cancelled'
  const isExpired = order.status === 'EXPIRED' || (isOpen(order.status) && order.expiresAt.getTime() <= nowMs)
  return isExpired ? 'expired' : 'other'
}

/** Money from a rejected wallet pays nothing; it is returned when a person decides so. */
function onceRefused({ refunds }: OrderFacts): Situation {
  if (openRefund(refunds)) return whileRefunding(refunds)
  return wasSentBack(refunds) ? 'sentBack' : 'review'
}

const isHeld = ({ progress, order, nowMs }: OrderFacts): boolean =>
  progress?.final === true && nowMs - order.updatedAt.getTime() > HELD_MS

/** An expired order counts as such even before a job has recorded it. */
export function situationOf(facts: OrderFacts): Situation {
  const { order, refunds, nowMs } = facts
  switch (order.status) {
    case 'INITIAL':
    case 'PENDING':
    case 'AWAITING':
      return order.expiresAt.getTime() <= nowMs ? onceEnded(facts, 'expired') : whileOpen(facts)
    case 'WAITING_CHAIN_CONFIRMATION':
      return isHeld(facts) ? 'hold' : 'seen'
    case 'PAID':
      return surplusUnits(facts) > 0n ? 'overpaid' : 'paid'
    case 'EXPIRED':
      return onceEnded(facts, 'expired')
    case 'CANCELLED':
      return onceEnded(facts, 'cancelled')
    case 'ERROR':
      return onceEnded(facts, 'error')
    case 'REFUNDING':
      return whileRefunding(refunds)
    case 'REFUNDED':
      return 'refundedPart'
    case 'FULL_REFUNDED':
      return 'refunded'
    case 'KYT_FAILED':
      return onceRefused(facts)
  }
}

const SETTLED: readonly Situation[] = ['paid', 'overpaid', 'refundedPart', 'refunded', 'review']
/** Without `onItsWayEnded`: its provider is still asked. */
const ENDED: readonly Situation[] = ['expired', 'late', 'wrongTokenEnded', 'sentBack', 'cancelled', 'error']

/** The page will not change any more, so its connection can be closed. */
export function isFinalSituation(situation: Situation, { order, payment, refunds, nowMs }: OrderFacts): boolean {
  if (openRefund(refunds)) return false
  if (SETTLED.includes(situation)) return true
  if (!ENDED.includes(situation)) return false
  return payment === undefined || nowMs - order.expiresAt.getTime() > LATE_WATCH_MS
}
