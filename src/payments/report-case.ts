import type { SeenReport } from '../channels/channel.ts'
import type { PayerGate } from '../compliance/payer-gate.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById } from '../orders/order-queries.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'
import type { ScreeningGate, SeenPlace } from '../screening/screening-gate.ts'
import type { WayMoney } from './mispayments/way-queries.ts'
import { findPayment, lockPayment, type Payment, type PaymentPolicy } from './payment-queries.ts'

/* What a report about a payment is applied to. */

export type ReportDeps = {
  db: Db
  clock: Clock
  transition: TransitionOrder
  /** On a chain, a smaller transfer does not move the order. */
  dustUnits: bigint
  /** Whether the senders may pay. */
  screening: ScreeningGate
  /** Whether an order that ended still fits what its payer may spend. */
  gate: Pick<PayerGate, 'admitLate'>
  /** Money that counted is gone. Called in the transaction that books it, so it may only write. */
  onLoss: NoticeLoss
  /**
   * Its order does not wait for this payment any more, or it is not polled any more, though it was abandoned, or though
   * other money came after a person returned it: its provider never said whether its money came. Called in the
   * transaction.
   */
  onGivenUp: NoticeGivenUp
  /** An order is paid in time, and so is another one of its purchase. Called in the transaction. */
  onSoldTwice: NoticeSoldTwice
}

export type Loss = { order: Order; payment: Payment; units: bigint }
export type NoticeLoss = (tx: Tx, loss: Loss) => Promise<void>
/** @param of `other` the code of the other order */
export type NoticeSoldTwice = (tx: Tx, of: { order: Order; other: string }) => Promise<void>
/**
 * @param of `otherUnits`: what came on its way after a person returned the payment; absent: that is not the reason
 * @returns whether a mail tells of it
 */
export type NoticeGivenUp = (tx: Tx, of: { order: Order; payment: Payment; otherUnits?: bigint }) => Promise<boolean>

export type ReportCase = {
  tx: Tx
  order: Order
  payment: Payment
  policy: PaymentPolicy
  /** What was on its way before the report, and what of that had come. */
  before: WayMoney
  now: Date
  requestId: string | null
  deps: ReportDeps
}

/** An order that may wait for a payment's money. */
export type Waiting = Omit<ReportCase, 'policy' | 'before' | 'now'>

export type LockedCase = Omit<ReportCase, 'policy' | 'before' | 'requestId'>

export type PaymentPlace = { companyId: string; id: string }

/** Orders are always locked before their payments, so that two transactions never deadlock. */
export async function lockCase(deps: ReportDeps, tx: Tx, key: PaymentPlace): Promise<LockedCase | undefined> {
  const found = await findPayment(tx, key.companyId, key.id)
  if (!found) return undefined
  const order = await lockOrderById(tx, key.companyId, found.orderId)
  const payment = await lockPayment(tx, key.companyId, key.id)
  return order && payment && { tx, order, payment, now: new Date(deps.clock()), deps }
}

/** The payment, as its senders and what its provider blocks are screened. */
export const subjectOf = ({ order: { companyId, id: orderId }, payment }: Pick<ReportCase, 'order' | 'payment'>) =>
  ({ companyId, purpose: 'payment', subjectId: payment.id, orderId, isOver: payment.priceUnits !== null }) as const

/** A transfer below the chain’s dust limit is booked but moves no order. */
export const movesOrder = ({ deps, payment }: ReportCase, { transfers }: SeenReport): boolean =>
  payment.channel !== 'crypto' || transfers.some(({ units }) => units >= deps.dustUnits)

/** Dust from a listed address must not end another payer's order. */
export function sendersOf({ deps }: ReportCase, { transfers }: SeenReport): SeenPlace[] {
  const sums = new Map<string, Required<SeenPlace>>()
  for (const { from: address, network, units } of transfers)
    sums.set(address, { network, address, units: units + (sums.get(address)?.units ?? 0n) })
  return [...sums.values()].filter(({ units }) => units >= deps.dustUnits)
}
