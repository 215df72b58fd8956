import type { Actor } from '../http/actor.ts'
import { idFrom } from '../kernel/ids.ts'
import type { Order } from '../orders/order.ts'
import type { Payment } from '../payments/payment-queries.ts'
import type { Destination } from './destination/refund-destination.ts'
import type { Refund, RefundApproval, RefundStatus } from './refund-queries.ts'

/** Deterministic, so the same after a restored backup: the token refuses to pay it twice. */
export const refundIdOf = (companyId: string, orderId: string, number: number): string =>
  idFrom('refund', companyId, orderId, number)

/** How many of the next numbers may be ours: as many could have been rejected in a row before a restore. */
const NEXT = 16

type OfOrder = { companyId: string; orderId: string }

/** Our ids of the next numbers. @param known the refunds of the order by number */
export const nextRefundIds = ({ companyId, orderId }: OfOrder, known: readonly Pick<Refund, 'number'>[]): string[] => {
  const last = known.at(-1)?.number ?? 0
  return Array.from({ length: NEXT }, (_, index) => refundIdOf(companyId, orderId, last + 1 + index))
}

/**
 * Id and number of a refund that was not known here. One that its provider names by our id left before a restore: it
 * has that id again, and its number, unless that is taken. Any other has an id of what its provider says of it, so that
 * its webhooks, too, have the same ids after a restore.
 * @param named our id, as its provider names it @param word its provider's reference, or the total that it brings
 * @param known the refunds of the order by number
 */
export function identifyForeign(
  { companyId, orderId }: OfOrder,
  { named, word }: { named: string | null; word: string },
  known: readonly Pick<Refund, 'id' | 'number'>[],
): { id: string; number: number } {
  const isUsed = (id: string): boolean => known.some((one) => one.id === id)
  const next = (known.at(-1)?.number ?? 0) + 1
  if (named !== null && !isUsed(named)) {
    const numbers = Array.from({ length: next - 1 + NEXT }, (_, index) => index + 1)
    const own = numbers.find((number) => refundIdOf(companyId, orderId, number) === named)
    if (own !== undefined) return { id: named, number: known.some(({ number }) => number === own) ? next : own }
  }
  for (let time = 0; ; time += 1) {
    const id = idFrom('foreign refund', companyId, orderId, word, time)
    if (!isUsed(id)) return { id, number: next }
  }
}

/** The fields that every refund has, whatever it is for. */
export function newRefund(parts: {
  order: Order
  payment: Payment
  number: number
  actor: Actor
  approval: RefundApproval | null
  destination: Destination
  now: Date
}) {
  const { order, payment, number, actor, approval, destination, now } = parts
  const { address, proposedAddress, proposedBy, confirmedBy, addressProof, email, emailBy } = destination
  const status: RefundStatus = approval === null ? destination.status : 'needs_approval'
  return {
    companyId: order.companyId,
    id: refundIdOf(order.companyId, order.id, number),
    orderId: order.id,
    number,
    paymentId: payment.id,
    channel: payment.channel,
    status,
    address,
    proposedAddress,
    proposedBy,
    confirmedBy,
    addressProof,
    askedByMail: status === 'needs_address' && email !== null,
    emailBy,
    network: payment.network,
    approval,
    requestedBy: `${actor.kind}:${actor.id}`,
    requestedRole: actor.role,
    createdAt: now,
  }
}
