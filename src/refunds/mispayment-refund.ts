import { type Actor, sees } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { bookRefund } from '../ledger/ledger-service.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { findMispayment, type Mispayment, updateMispayment } from '../payments/mispayments/mispayment-queries.ts'
import { checkUnchanged, lockUndecided, type MispaymentCase } from '../payments/mispayments/mispayment-service.ts'
import { checkScreened } from '../payments/mispayments/screened-money.ts'
import { findUnanswered } from '../payments/mispayments/told-event.ts'
import { findPayment, reconsiderPayment } from '../payments/payment-queries.ts'
import { findDestination, findGoal, type Goal, readWanted } from './destination/refund-destination.ts'
import { decideApproval } from './limits/refund-limits.ts'
import { newRefund } from './new-refund.ts'
import { checkSendable, fiatOfRecord } from './refund-amount.ts'
import { writeRefundAudit } from './refund-audit.ts'
import { checkNothingLost } from './refund-cover.ts'
import type { RefundDeps } from './refund-deps.ts'
import type { RefundLinks } from './refund-link.ts'
import { findNextNumber, insertRefund, type NewRefund } from './refund-queries.ts'
import { readReturned } from './refund-records.ts'
import type { MispaymentRefundBody } from './refund-schemas.ts'
import { bookingOf } from './refund-settle.ts'

export type MispaymentRefundDeps = RefundDeps & { links: RefundLinks }

const RETURNABLE: readonly Mispayment['kind'][] = ['under', 'late', 'duplicate', 'held', 'over']

const ON_CHAIN =
  'Comptoir cannot send other tokens back: send it by hand from the deposit address, then ignore the record with a reason.'
const AT_PROVIDER =
  'Comptoir cannot send this money back: return it in the provider’s console, then ignore the record with a reason.'

function checkReturnable({ record, payment }: MispaymentCase, free: bigint): void {
  if (!RETURNABLE.includes(record.kind)) {
    const message =
      record.kind === 'wrong_token'
        ? payment.channel === 'crypto'
          ? ON_CHAIN
          : AT_PROVIDER
        : 'This money left the chain. Decide who bears the loss: POST /mispayments/{id}/bear.'
    throw new AppError('OBJECT_CONFLICT', { message })
  }
  if (record.kind === 'over' && record.units > free) {
    throw new AppError('OBJECT_CONFLICT', {
      message: 'A refund of the order already includes this money. See the order’s refunds.',
    })
  }
}

/** @throws OBJECT_NOT_FOUND */
async function findReachable({ db }: Pick<MispaymentRefundDeps, 'db'>, actor: Actor, id: string): Promise<Mispayment> {
  const found = await findMispayment(db, id)
  if (!found || !sees(actor, found.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return found
}

/** Where this money goes when it is refunded. @throws OBJECT_NOT_FOUND */
export async function findMispaymentGoal(
  deps: Pick<MispaymentRefundDeps, 'db' | 'payers'>,
  actor: Actor,
  id: string,
): Promise<Goal> {
  const { db } = deps
  const { companyId, orderId, paymentId } = await findReachable(deps, actor, id)
  const [order, payment] = [await findOrderById(db, companyId, orderId), await findPayment(db, companyId, paymentId)]
  if (!order || !payment) throw new AppError('OBJECT_NOT_FOUND')
  return findGoal(deps, db, order, payment)
}

/**
 * Refunds money that never paid its order, out of suspense. The order’s state does not change.
 * @returns the refund's id
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, FORBIDDEN, STEP_UP_REQUIRED, VALIDATION_FAILED
 */
export async function refundMispayment(
  deps: MispaymentRefundDeps,
  context: RequestContext,
  id: string,
  body: MispaymentRefundBody,
): Promise<string> {
  const { actor } = context
  const wanted = readWanted(body)
  const { companyId } = await findReachable(deps, actor, id)
  await deps.books.check(companyId)
  const made = await deps.db.tx(async (tx) => {
    const scene = await lockUndecided(tx, actor, id)
    const { order, payment, record } = scene
    checkUnchanged(record, body.units)
    const returned = await readReturned(tx, order)
    checkReturnable(scene, returned.openFree)
    checkNothingLost(returned)
    const now = new Date(deps.clock())
    const waits = await findUnanswered(tx, payment, now)
    if (waits) return waits
    await checkScreened(deps, tx, record)
    const { units } = record
    const fiatUnits = fiatOfRecord(order, payment, units)
    await checkSendable(deps, tx, payment, fiatUnits)
    const approval = await decideApproval(tx, actor, { companyId: order.companyId, units, now })
    const number = await findNextNumber(tx, order.companyId, order.id)
    const destination = await findDestination(deps, tx, { order, payment, number, units, actor, now }, wanted)
    const refund: NewRefund = {
      ...newRefund({ order, payment, number, actor, approval, destination, now }),
      mispaymentId: record.id,
      units,
      excessUnits: units,
      fiatUnits,
      withoutCover: false,
      reason: body.reason ?? null,
      requestId: context.requestId,
    }
    await insertRefund(tx, refund)
    await bookRefund(tx, bookingOf(refund, now), { units, excess: units })
    const { requestedBy: decidedBy, reason } = refund
    await updateMispayment(tx, record, { status: 'refunded', decidedBy, reason }, now)
    await reconsiderPayment(tx, payment, now)
    if (refund.status === 'needs_address') await deps.askForAddress(tx, order, refund, destination.email)
    await context.remember(tx, { refundId: refund.id })
    const more = { mispaymentId: record.id, kind: record.kind }
    await writeRefundAudit(deps, tx, context, { refund, action: 'mispayment.refund', more })
    return refund.id
  })
  // after the commit, because the question to the provider must be stored
  if (made instanceof AppError) throw made
  return made
}
