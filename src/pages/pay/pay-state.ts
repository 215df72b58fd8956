import type { Order } from '../../orders/order.ts'
import type { Mispayment } from '../../payments/mispayments/mispayment-queries.ts'
import { decidedUnits, lostUnits, undecidedUnits } from '../../payments/mispayments/standing.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import type { PayState } from '../../texts/page-texts.ts'

/** What the chain knows of one payment. */
export type ChainProgress = {
  /** Units that arrived, final or not. */
  seenUnits: bigint
  /** Nothing but dust. */
  dust: boolean
  /** Of the youngest transfer that counts. */
  confirmations: number
  /** Null: not a number of blocks but the chain's own word decides. */
  needed: number | null
  /** Hashes, oldest first. */
  transactions: readonly string[]
}

/** How long after its end an order is still watched: money that was sent in time may be on its way. */
const LATE_WATCH_MS = 60 * 60_000

/** What arrived and still speaks for the order: not what was refunded, ignored or lost, and no dust. */
export function arrivedUnits(payment: Payment, progress: ChainProgress | null, records: readonly Mispayment[]): bigint {
  if (progress?.dust) return 0n
  const booked = payment.receivedUnits - lostUnits(records)
  const there = progress !== null && progress.seenUnits > booked ? progress.seenUnits : booked
  return undecidedUnits(there, { decided: decidedUnits(records) })
}

function stateWhileOpen(order: Order, payment: Payment | undefined, arrived: bigint): PayState {
  if (order.status === 'INITIAL' || !payment) return 'choose'
  // that attempt is over at its provider, the order is not: another may be chosen
  if (payment.status === 'closed' || payment.status === 'failed') return 'choose'
  if (payment.instructions === null) return 'preparing'
  if (arrived > 0n || payment.status === 'confirming') return 'partly'
  return 'waiting'
}

/** @param nowMs an order whose time is over counts as expired, also before a job has written it down */
export function stateOf(order: Order, payment: Payment | undefined, arrived: bigint, nowMs: number): PayState {
  switch (order.status) {
    case 'INITIAL':
    case 'PENDING':
    case 'AWAITING':
      if (order.expiresAt.getTime() <= nowMs) return 'expired'
      return stateWhileOpen(order, payment, arrived)
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

/** The page will not change any more, so no connection needs to stay open. */
export function isFinalState(state: PayState, order: Order, payment: Payment | undefined, nowMs: number): boolean {
  if (['paid', 'refunded', 'review'].includes(state)) return true
  if (!['expired', 'cancelled', 'error'].includes(state)) return false
  return payment === undefined || nowMs - order.expiresAt.getTime() > LATE_WATCH_MS
}
