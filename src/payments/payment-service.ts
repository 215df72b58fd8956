import { askProvider, type Channels } from '../channels/registry.ts'
import { crashPoint } from '../crash-point.ts'
import { AppError } from '../errors.ts'
import type { Actor } from '../http/actor.ts'
import type { Call } from '../http/idempotency.ts'
import type { Order } from '../orders/order.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { findReachableOrder } from '../orders/order-service.ts'
import { isOpen } from '../orders/order-states.ts'
import { type AcceptDeps, keyOf, resumeAttempt } from './payment-accept.ts'
import { findPayment, type Payment, updatePaymentClosed } from './payment-queries.ts'
import { applyReport, type ReportDeps } from './payment-report.ts'

export type PaymentDeps = AcceptDeps & ReportDeps & { channels: Channels }

/** Asks the channel about one payment now, and applies the answer. */
export async function checkPayment(
  deps: PaymentDeps,
  payment: Payment,
  requestId: string | null,
): Promise<Order | undefined> {
  const channel = deps.channels.find(payment.channel)
  const { providerReference } = payment
  const order = await findOrderById(deps.db, payment.companyId, payment.orderId)
  if (!channel || providerReference === null || !order) return undefined
  const report = await askProvider(channel.fetchPayment({ ...keyOf(order, payment), providerReference }))
  return applyReport(deps, payment, report, requestId)
}

/**
 * "The payer says it is done": asks the channel, never believes the caller. @throws PAYMENT_NOT_RECEIVED,
 * ORDER_STATE_CONFLICT
 */
export async function confirmOrder(deps: PaymentDeps, actor: Actor, code: string, call: Call): Promise<void> {
  crashPoint('confirm:start')
  const order = await findReachableOrder(deps.db, actor, code)
  const payment = order.paymentId === null ? undefined : await findPayment(deps.db, order.companyId, order.paymentId)
  if (order.paidAt === null) {
    if (!isOpen(order.status) || !payment) {
      throw new AppError('ORDER_STATE_CONFLICT', {
        message: payment
          ? `The order is ${order.status}; it cannot be paid any more.`
          : 'No payment channel was chosen yet. Accept the order first.',
      })
    }
    const after = await checkPayment(deps, payment, call.requestId)
    if (!after || after.paidAt === null) throw new AppError('PAYMENT_NOT_RECEIVED')
  }
  crashPoint('confirm:before-answer')
  await deps.db.tx((tx) => call.remember(tx, null))
}

/** One look at a payment whose time has come: ask, resume an unanswered creation, or close a given-up attempt. */
export async function visitPayment(deps: PaymentDeps, payment: Payment): Promise<void> {
  if (payment.status === 'creating') {
    const order = await findOrderById(deps.db, payment.companyId, payment.orderId)
    if (order && order.status === 'PENDING' && order.paymentId === payment.id)
      return resumeAttempt(deps, payment, order)
    return closeAttempt(deps, payment)
  }
  if (payment.status === 'closing') return closeAttempt(deps, payment)
  const order = await checkPayment(deps, payment, null)
  if (order && !isOpen(order.status) && order.paidAt === null) await closeAttempt(deps, payment)
}

async function closeAttempt(deps: PaymentDeps, payment: Payment): Promise<void> {
  const channel = deps.channels.find(payment.channel)
  const { providerReference } = payment
  const order = await findOrderById(deps.db, payment.companyId, payment.orderId)
  if (channel?.closePayment && providerReference !== null && order)
    await channel.closePayment({ ...keyOf(order, payment), providerReference })
  await updatePaymentClosed(deps.db, payment, new Date(deps.clock()))
}
