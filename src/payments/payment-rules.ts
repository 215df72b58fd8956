import { HOUR } from '../kernel/clock.ts'
import type { OrderStatus } from '../orders/order-states.ts'
import type { PaymentPolicy } from './payment-queries.ts'

/** The least that counts as paid: the due amount less the tolerance (a share of it, at most a fixed amount). */
export function minAcceptedUnits(dueUnits: bigint, policy: PaymentPolicy): bigint {
  const share = (dueUnits * BigInt(policy.toleranceBps)) / 10_000n
  const most = BigInt(policy.toleranceMaxUnits)
  return dueUnits - (share < most ? share : most)
}

/**
 * When an on-chain payment was complete, by block time: our outage makes no payer late.
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

/** May money that is complete only after the order ended make it PAID without a person's decision? */
export function acceptsLate(status: OrderStatus, endedAt: Date, nowMs: number, policy: PaymentPolicy): boolean {
  if (status === 'EXPIRED') return nowMs - endedAt.getTime() <= policy.lateAcceptHours * HOUR
  return (status === 'CANCELLED' || status === 'ERROR') && policy.lateAfterCancel === 'accept'
}

const CHECK_DELAYS_MS = [2000, 3000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000]

/** When to ask a provider again: growing gaps, then every five minutes. */
export const nextCheckDelayMs = (checks: number): number =>
  CHECK_DELAYS_MS[Math.min(checks, CHECK_DELAYS_MS.length - 1)] ?? 300_000
