import { DAY, HOUR } from '../kernel/clock.ts'
import { larger, OWN_AMOUNTS_UNITS } from '../kernel/money.ts'
import { hasGapsLeft, pollGapMs } from '../kernel/poll-gaps.ts'
import type { Order } from '../orders/order.ts'
import type { OrderStatus } from '../orders/order-states.ts'
import type { Payment, PaymentPolicy, PaymentStatus } from './payment-queries.ts'

/**
 * The price of the order through this payment. A requote changes the price of older payments too, but a provider keeps
 * charging at least the amount that it was given.
 */
export function priceUnitsOf(
  { to }: Pick<Order, 'to'>,
  { channel, dueUnits }: Pick<Payment, 'channel' | 'dueUnits'>,
): bigint {
  const isLower = channel === 'crypto' && dueUnits - to.units >= OWN_AMOUNTS_UNITS
  return dueUnits < to.units || isLower ? to.units : dueUnits
}

/**
 * The least that counts as paid: the due amount minus the tolerance (a share of it, up to a fixed amount). Nothing
 * received never does, however large the tolerance is.
 */
export function minAcceptedUnits(dueUnits: bigint, policy: PaymentPolicy): bigint {
  const share = (dueUnits * BigInt(policy.toleranceBps)) / 10_000n
  const most = BigInt(policy.toleranceMaxUnits)
  return larger(dueUnits - (share < most ? share : most), 1n)
}

/**
 * When an on-chain payment was complete, by block time, so that an outage of ours makes no payer late.
 * @param transfers empty for money that a provider received: its time is unknown
 */
export function completedAt(transfers: readonly { units: bigint; at: Date }[], minUnits: bigint): Date | null {
  let sum = 0n
  for (const { units, at } of transfers.toSorted((left, right) => left.at.getTime() - right.at.getTime())) {
    sum += units
    if (sum >= minUnits) return at
  }
  return null
}

/**
 * Whether its provider had called it paid: it paid the order, or as much as counts as paid came of what the provider
 * asked for, whatever a fresh rate made of the order's price, and also where a person decided about that since. A part
 * is no such word: providers end what was paid in part like any other payment.
 */
export const wasPaid = (
  order: Pick<Order, 'paidAt' | 'paymentId'>,
  payment: Pick<Payment, 'id' | 'status' | 'dueUnits' | 'receivedUnits'>,
  policy: PaymentPolicy,
): boolean =>
  payment.status === 'paid' ||
  (order.paidAt !== null && order.paymentId === payment.id) ||
  payment.receivedUnits >= minAcceptedUnits(payment.dueUnits, policy)

/**
 * Whether money that is complete only after the order ended makes it PAID without a person's decision: never beyond the
 * hours of its company, as the order's rate grows old.
 */
export function acceptsLate(status: OrderStatus, endedAt: Date, nowMs: number, policy: PaymentPolicy): boolean {
  const isAccepted = status === 'EXPIRED' || policy.lateAfterCancel === 'accept'
  return isAccepted && nowMs - endedAt.getTime() <= policy.lateAcceptHours * HOUR
}

/** Jitter from 0.8 to 1.2, constant per id: payments opened together are not polled together. */
const spreadOf = (id: string): number => 0.8 + (0.4 * Number.parseInt(id.slice(-4), 16)) / 0xffff

/**
 * Delay until the next poll. The chain reader announces every transfer and every block above it, and an order is
 * compared with its chain before it ends. So an address without transfers is polled only every few minutes, in case an
 * announcement is lost. Everything else starts with seconds.
 * @param status the payment's, after this poll is applied
 */
export function nextCheckDelayMs(
  { id, channel, checks }: Pick<Payment, 'id' | 'channel' | 'checks'>,
  status: PaymentStatus,
): number {
  const isQuiet = channel === 'crypto' && status === 'awaiting'
  return isQuiet ? Math.round(pollGapMs('deposit', checks) * spreadOf(id)) : pollGapMs('payment', checks)
}

/** An attempt that no order waits for; a part payment does not reopen it. */
export const ENDED: readonly PaymentStatus[] = ['closing', 'closed', 'failed']

/** The gaps between polls start again when an attempt ends, and when more money comes after that. */
export const checksAfter = (
  { status, receivedUnits, checks }: Pick<Payment, 'status' | 'receivedUnits' | 'checks'>,
  next: { status: PaymentStatus; receivedUnits?: bigint },
): number =>
  ENDED.includes(next.status) && (next.status !== status || (next.receivedUnits ?? receivedUnits) !== receivedUnits)
    ? 0
    : checks

export const isOver = ({ status }: Pick<Payment, 'status'>): boolean =>
  status === 'closed' || status === 'paid' || status === 'failed'

type Age = Pick<Payment, 'openedAt' | 'abandonedAt'>

/** Since it was abandoned, or else since it was opened. */
const ageMs = ({ openedAt, abandonedAt }: Age, nowMs: number): number => nowMs - (abandonedAt ?? openedAt).getTime()

/** If a provider cannot close a payment, it is polled until its own deadline, at most this long. */
const CLOSING_MS = DAY
export const isPastClosing = (payment: Age, nowMs: number): boolean => ageMs(payment, nowMs) > CLOSING_MS

/** An attempt that is over or abandoned, or whose account was removed, is not polled any more once it is this old. */
const LAST_LOOK_MS = 30 * DAY
export const isOld = (payment: Age, nowMs: number): boolean => ageMs(payment, nowMs) > LAST_LOOK_MS

/**
 * Next poll of an attempt that has seen money. Also of what is frozen or returned, only a poll shows when it is gone.
 * @param money without what a person decided about; `final` is part of `seen`, and `told` is on its way, frozen or not
 */
export function nextMoneyCheck(
  payment: Pick<Payment, 'id' | 'channel' | 'checks'> & Age,
  { status, final, seen, told }: { status: PaymentStatus; final: bigint; seen: bigint; told: bigint },
  nowMs: number,
): Date | null {
  if (status === 'paid') return null
  const hasEnded = isOver({ status })
  if (hasEnded && seen === final) return seen > 0n || told > 0n ? nextEndedCheck(payment, nowMs) : null
  if (hasEnded && isOld(payment, nowMs)) return null
  return new Date(nowMs + nextCheckDelayMs(payment, status))
}

/** Provider status of an attempt whose account was removed. */
export const ACCOUNT_REMOVED = 'its account was removed'

/**
 * Next poll of an attempt that is over, or whose account was removed, while anything of it waits: for a person, for its
 * provider or for its order. Otherwise a callback or the chain reader reports anything new. Null: it is given up.
 */
export const nextEndedCheck = (payment: Pick<Payment, 'checks'> & Age, nowMs: number): Date | null =>
  isOld(payment, nowMs) ? null : new Date(nowMs + pollGapMs('ended', payment.checks))

/**
 * Next poll of an abandoned attempt that its provider did not let us close: as often as an open one at first, later
 * after a hundredth of the time since it was abandoned. So it is closed soon after its provider answers again, however
 * long that takes. Null: it is given up.
 */
export const nextClosingCheck = (payment: Pick<Payment, 'checks'> & Age, nowMs: number): Date | null =>
  isOld(payment, nowMs)
    ? null
    : new Date(nowMs + Math.max(pollGapMs('payment', payment.checks), ageMs(payment, nowMs) / 100))

/**
 * The same after a poll that failed: as soon as of an open attempt at first, because its provider may have told of
 * money by a callback, which is not sent again. News begins the gaps again; it is asked about to their end.
 */
export const nextFailedCheck = (payment: Pick<Payment, 'checks'> & Age, nowMs: number): Date | null =>
  isOld(payment, nowMs) && !hasGapsLeft('unanswered', payment.checks)
    ? null
    : new Date(nowMs + pollGapMs('unanswered', payment.checks))
