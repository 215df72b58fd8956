import { lockActor } from '../../companies/company-scope.ts'
import type { Tx } from '../../db/db.ts'
import { sees } from '../../http/actor.ts'
import { nameOf, type RequestContext } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { findDifference, lockDifference } from '../../ledger/difference-queries.ts'
import { readPartSubject } from '../../ledger/part-refunded.ts'
import type { Order } from '../../orders/order.ts'
import { lockReachableOrder } from '../../orders/order-service.ts'
import { nextStatus } from '../../orders/order-states.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import { fiatShare, findPaymentOf, readUnits } from '../refund-amount.ts'
import { writeRefundAudit } from '../refund-audit.ts'
import type { RefundDeps } from '../refund-deps.ts'
import { isRefundReferenceUsed, lockRefundReference } from '../refund-queries.ts'
import { readReturned } from '../refund-records.ts'
import { bookForeign } from './foreign-booking.ts'

const conflict = (message: string): AppError => new AppError('OBJECT_CONFLICT', { message })

const NOT_REPORTED =
  'The provider has not said that a part was refunded elsewhere: this difference is about something else. Only a ' +
  'difference that names its order in partRefundedOf takes a refund.'

const OTHER_PAYMENT =
  'The part was refunded of a payment that did not pay this order. Decide about its money under /mispayments, and ' +
  'explain this difference.'

/** @throws ORDER_STATE_CONFLICT */
function checkTakesRefund({ status }: Order): void {
  if (status === 'REFUNDING') {
    const message =
      'Another refund of this order is under way. Record this one when that is over; if it waits for this difference, ' +
      'reject it first.'
    throw new AppError('ORDER_STATE_CONFLICT', { message })
  }
  nextStatus(status, 'revert')
}

/** One entry of the provider's statement is one refund. @throws OBJECT_CONFLICT */
async function checkReferenceIsFree(tx: Tx, payment: Payment, reference: string): Promise<void> {
  const { companyId, channel } = payment
  await lockRefundReference(tx, payment, reference)
  if (await isRefundReferenceUsed(tx, { companyId, channel }, reference))
    throw conflict('This reference already stands for another refund.')
}

type Recorded = { amount: string; reason: string; reference?: string }

/**
 * A provider said that a part of a payment was refunded in its console, and not how much; a person looked it up. It is
 * booked as the provider's own report would be, and nobody need look again. What was refunded another way stands beside
 * it: the amount is what the console sent besides.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, ORDER_STATE_CONFLICT, ILLEGAL_AMOUNT, REFUND_TOO_LARGE, UNAUTHORIZED
 */
export async function recordRefund(
  deps: RefundDeps,
  context: RequestContext,
  differenceId: string,
  { amount, reason, reference }: Recorded,
): Promise<{ refundId: string }> {
  const { actor, requestId } = context
  const asked = await findDifference(deps.db, differenceId)
  if (!asked || !sees(actor, asked.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  const part = readPartSubject(asked.subject)
  if (!part) throw conflict(NOT_REPORTED)
  return deps.db.tx(async (tx) => {
    await lockActor(tx, actor, asked.companyId)
    const order = await lockReachableOrder(tx, actor, part.code)
    // all that ends it holds the order
    const difference = await lockDifference(tx, differenceId)
    if (difference?.status !== 'open' && difference?.status !== 'explained')
      throw conflict('What was refunded is known and booked; this difference is gone.')
    if (order.paymentId !== part.paymentId) throw conflict(OTHER_PAYMENT)
    checkTakesRefund(order)
    const payment = await findPaymentOf(tx, order)
    if (reference !== undefined) await checkReferenceIsFree(tx, payment, reference)
    const returned = await readReturned(tx, order)
    const share = readUnits(order, payment, returned, amount)
    const refund = await bookForeign(deps, tx, {
      ...{ order, payment, returned, units: share.units, reference: reference ?? null },
      fiatUnits: fiatShare(order, payment, share, returned),
      person: { requestedBy: nameOf(context), requestedRole: actor.role, reason, requestId },
    })
    await context.remember(tx, { refundId: refund.id })
    const more = { differenceId, amount, reason, reference: reference ?? null }
    await writeRefundAudit(deps, tx, context, { refund, action: 'refund.record', more })
    return { refundId: refund.id }
  })
}
