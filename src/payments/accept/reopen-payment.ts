import type { Tx } from '../../db/db.ts'
import type { Order } from '../../orders/order.ts'
import { findPayment, lockPayment, type Payment } from '../payment-queries.ts'
import { forwardOrder } from './create-at-provider.ts'
import { listReopenable, updatePaymentReopened } from './reopen-queries.ts'
import { type AcceptDeps, keyOf, type NewAttempt, pointOrder } from './start-payment.ts'

/**
 * The payer returns to a way to pay that they had left: what was sent to its address before counts with what is
 * sent now, as one payment. The order must be locked, and its present attempt abandoned.
 * @returns undefined: there is no such attempt, or its place is not free for it any more
 */
export async function reopenPayment(
  deps: AcceptDeps,
  tx: Tx,
  order: Order,
  { choice, move }: NewAttempt,
): Promise<{ order: Order; payment: Payment } | undefined> {
  // an ended order has told its payer to send nothing more to the old address
  if (move.trigger === 'requote') return undefined
  const now = new Date(deps.clock())
  const { companyId, id: orderId } = order
  const { channel, network, own: ownAccount } = choice
  for (const id of await listReopenable(tx, { companyId, orderId, channel, network, ownAccount }, order.to.units)) {
    const payment = await lockPayment(tx, companyId, id)
    const place = payment && (await deps.channels.forPayer(payment, tx))
    const key = payment && keyOf(order, { ...payment, dueUnits: order.to.units })
    const instructions = key && (await place?.reopenPayment?.(tx, key))
    if (!payment || !instructions) continue
    await updatePaymentReopened(tx, payment, { ...choice, instructions }, now)
    const accepted = await pointOrder(deps, tx, order, { channel, paymentId: id, move })
    const moved = await forwardOrder(deps, tx, accepted, { channel, requestId: move.requestId })
    const reopened = await findPayment(tx, companyId, id)
    return reopened && { order: moved, payment: reopened }
  }
  return undefined
}
