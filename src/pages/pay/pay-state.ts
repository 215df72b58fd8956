import type { Order } from '../../orders/order.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import type { PayState } from '../../texts/page-texts.ts'

/** What the chain knows of one payment. */
export type ChainProgress = {
  /** Units that arrived, final or not. */
  seenUnits: bigint
  /** Of the youngest transfer that counts. */
  confirmations: number
  /** Null: not a number of blocks but the chain's own word decides. */
  needed: number | null
  /** Hashes, oldest first. */
  transactions: readonly string[]
}

/** How long after its end an order is still watched: money that was sent in time may be on its way. */
const LATE_WATCH_MS = 60 * 60_000

export const arrivedUnits = (payment: Payment, progress: ChainProgress | null): bigint =>
  progress !== null && progress.seenUnits > payment.receivedUnits ? progress.seenUnits : payment.receivedUnits

function stateWhileOpen(order: Order, payment: Payment | undefined, progress: ChainProgress | null): PayState {
  if (order.status === 'INITIAL' || !payment) return 'choose'
  // that attempt is over at its provider, the order is not: another may be chosen
  if (payment.status === 'closed' || payment.status === 'failed') return 'choose'
  if (payment.instructions === null) return 'preparing'
  if (arrivedUnits(payment, progress) > 0n || payment.status === 'confirming') return 'partly'
  return 'waiting'
}

/** @param nowMs an order whose time is over counts as expired, also before a job has written it down */
export function stateOf(
  order: Order,
  payment: Payment | undefined,
  progress: ChainProgress | null,
  nowMs: number,
): PayState {
  switch (order.status) {
    case 'INITIAL':
    case 'PENDING':
    case 'AWAITING':
      if (order.expiresAt.getTime() <= nowMs) return 'expired'
      return stateWhileOpen(order, payment, progress)
    case 'WAITING_CHAIN_CONFIRMATION':
      return 'seen'
    case 'PAID':
      return 'paid'
    case 'EXPIRED':
      return 'expired'
    case 'CANCELLED':
      return 'cancelled'
    case 'ERROR':
      return 'error'
    case 'REFUNDING':
      return 'refunding'
    case 'REFUNDED':
    case 'FULL_REFUNDED':
      return 'refunded'
    case 'KYT_FAILED':
      return 'review'
  }
}

/** Nothing more is expected to happen on the page, so nobody needs to keep a connection open. */
export function isFinalState(state: PayState, order: Order, payment: Payment | undefined, nowMs: number): boolean {
  if (['paid', 'refunded', 'review'].includes(state)) return true
  if (!['expired', 'cancelled', 'error'].includes(state)) return false
  return payment === undefined || nowMs - order.expiresAt.getTime() > LATE_WATCH_MS
}
