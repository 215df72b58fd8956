import { lockActor } from '../companies/company-scope.ts'
import type { Actor } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import { crashPoint } from '../kernel/crash-point.ts'
import { parseMoney } from '../kernel/money.ts'
import { bookRefund } from '../ledger/ledger-service.ts'
import { findReachableOrder, lockReachableOrder } from '../orders/order-service.ts'
import { allows, nextStatus } from '../orders/order-states.ts'
import { checkScreened } from '../payments/mispayments/screened-money.ts'
import { findDestination, findGoal, type Goal, readWanted } from './destination/refund-destination.ts'
import { decideApproval } from './limits/refund-limits.ts'
import { newRefund } from './new-refund.ts'
import { checkSendable, fiatShare, findPaymentOf, needOf, readUnits, unitsLeft } from './refund-amount.ts'
import { writeRefundAudit } from './refund-audit.ts'
import { checkCover, checkNothingLost } from './refund-cover.ts'
import type { RefundDeps } from './refund-deps.ts'
import { findNextNumber, insertRefund, type NewRefund } from './refund-queries.ts'
import { closeUsedRecord, readReturned } from './refund-records.ts'
import type { RevertBody } from './refund-schemas.ts'
import { bookingOf } from './refund-settle.ts'

export type Refundable = Goal & {
  /** What arrived, be it more or less than the price, minus what was refunded, returned separately or ignored. */
  units: bigint
}

/** How much a refund could return now, and where to. Nothing while the order cannot be refunded. */
export async function findRefundable(
  deps: Pick<RefundDeps, 'db' | 'payers'>,
  actor: Actor,
  code: string,
): Promise<Refundable> {
  const { db } = deps
  const order = await findReachableOrder(db, actor, code)
  if (!allows(order.status, 'revert')) return { units: 0n, ...(await findGoal(deps, db, order, null)) }
  const units = unitsLeft(order, await readReturned(db, order))
  return { units, ...(await findGoal(deps, db, order, await findPaymentOf(db, order))) }
}

/** Starts a refund of all or part of what is left. The order is REFUNDING until the refund is settled or dropped. */
export async function revertOrder(
  deps: RefundDeps,
  context: RequestContext,
  code: string,
  body: RevertBody,
): Promise<{ refundId: string }> {
  const { actor } = context
  const wanted = readWanted(body)
  const mostOwed = body.mostOwed === undefined ? null : parseMoney(body.mostOwed, 'USDC').units
  const { companyId } = await findReachableOrder(deps.db, actor, code)
  await deps.books.check(companyId)
  const refundId = await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const order = await lockReachableOrder(tx, actor, code)
    nextStatus(order.status, 'revert')
    const payment = await findPaymentOf(tx, order)
    const now = new Date(deps.clock())
    const returned = await readReturned(tx, order)
    checkNothingLost(returned)
    const share = readUnits(order, payment, returned, body.amount)
    const { units, excess } = share
    // money above the price may have another sender than the price
    if (excess > 0n) await checkScreened(deps, tx, { companyId: order.companyId, paymentId: payment.id, kind: 'over' })
    const withoutCover = await checkCover(tx, actor, needOf(order, payment, share), {
      insist: body.withoutCover ?? false,
      mostOwed,
      nowMs: now.getTime(),
    })
    const approval = await decideApproval(tx, actor, { companyId: order.companyId, units, now })
    const number = await findNextNumber(tx, order.companyId, order.id)
    const destination = await findDestination(deps, tx, { order, payment, number, units, actor, now }, wanted)
    const fiatUnits = fiatShare(order, payment, share, returned)
    await checkSendable(deps, tx, payment, fiatUnits)
    const refund: NewRefund = {
      ...newRefund({ order, payment, number, actor, approval, destination, now }),
      mispaymentId: null,
      units,
      excessUnits: excess,
      fiatUnits,
      withoutCover,
      reason: body.reason ?? null,
      requestId: context.requestId,
    }
    await insertRefund(tx, refund)
    await bookRefund(tx, bookingOf(refund, now), { units, excess })
    await closeUsedRecord(tx, refund, returned, now)
    if (refund.status === 'needs_address') await deps.askForAddress(tx, order, refund, destination.email)
    await deps.transition(tx, order, {
      trigger: 'revert',
      actor: refund.requestedBy,
      requestId: context.requestId,
      refundId: refund.id,
    })
    await context.remember(tx, { refundId: refund.id })
    await writeRefundAudit(deps, tx, context, { refund, action: 'refund.revert' })
    crashPoint('revert:before-commit')
    return refund.id
  })
  crashPoint('revert:after-commit')
  return { refundId }
}
