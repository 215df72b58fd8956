import type { Actor } from '../http/actor.ts'
import { idFrom } from '../kernel/ids.ts'
import type { Order } from '../orders/order.ts'
import type { Payment } from '../payments/payment-queries.ts'
import type { Destination } from './destination/refund-destination.ts'
import type { RefundApproval, RefundStatus } from './refund-queries.ts'

/** Deterministic, so the same after a restored backup: the token refuses to pay it twice. */
export const refundIdOf = (companyId: string, orderId: string, number: number): string =>
  idFrom('refund', companyId, orderId, number)

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
