import type { RequestContext } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { proportion } from '../kernel/money.ts'
import { bookRefund } from '../ledger/ledger-service.ts'
import { type Mispayment, updateMispayment } from '../payments/mispayments/mispayment-queries.ts'
import { lockUndecided, type MispaymentCase } from '../payments/mispayments/mispayment-service.ts'
import { writeRefundAudit } from './refund-audit.ts'
import { findDestination, readWanted } from './refund-destination.ts'
import { decideApproval } from './refund-limits.ts'
import type { RefundLinks } from './refund-link.ts'
import { countRefunds, insertRefund, type NewRefund } from './refund-queries.ts'
import { readReturned } from './refund-records.ts'
import type { MispaymentRefundBody } from './refund-schemas.ts'
import { bookingOf, newRefund, type RefundDeps } from './refund-service.ts'

export type MispaymentRefundDeps = RefundDeps & { links: RefundLinks }

const RETURNABLE: readonly Mispayment['kind'][] = ['under', 'late', 'duplicate', 'over']

function checkReturnable({ record }: MispaymentCase, free: bigint): void {
  if (!RETURNABLE.includes(record.kind)) {
    const message =
      record.kind === 'wrong_token'
        ? 'Another token cannot be sent back from here: send it by hand from the deposit address, then ignore the record with a reason.'
        : 'This money left the chain; there is nothing to send back.'
    throw new AppError('OBJECT_CONFLICT', { message })
  }
  if (record.kind === 'over' && record.units > free) {
    throw new AppError('OBJECT_CONFLICT', {
      message: 'A refund of the order took this money above the price already. See the order’s refunds.',
    })
  }
}

/**
 * Money that never paid its order goes back to the payer, out of suspense; the order's state is not touched.
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
  return deps.db.tx(async (tx) => {
    const scene = await lockUndecided(tx, actor, id)
    const { order, payment, record } = scene
    const { over, usedExcess } = await readReturned(tx, order)
    checkReturnable(scene, over.reduce((sum, { units }) => sum + units, 0n) - usedExcess)
    const now = new Date(deps.clock())
    const { units } = record
    const approval = await decideApproval(tx, actor, { companyId: order.companyId, units, now })
    const number = (await countRefunds(tx, order.companyId, order.id)) + 1
    const destination = await findDestination(deps, tx, { order, payment, number, units, actor, now }, wanted)
    const refund: NewRefund = {
      ...newRefund({ order, payment, number, actor, approval, destination, now }),
      mispaymentId: record.id,
      units,
      excessUnits: units,
      fiatUnits: proportion(order.from.units, units, order.to.units),
      reason: body.reason ?? null,
      requestId: context.requestId,
    }
    await insertRefund(tx, refund)
    await bookRefund(tx, bookingOf(refund, now), { units, excess: units })
    const { requestedBy: decidedBy, reason } = refund
    await updateMispayment(tx, record, { status: 'refunded', decidedBy, reason }, now)
    if (refund.status === 'needs_address') await deps.askForAddress(tx, order, refund, destination.email)
    await context.remember(tx, { refundId: refund.id })
    const more = { mispaymentId: record.id, kind: record.kind }
    await writeRefundAudit(deps, tx, context, { refund, action: 'mispayment.refund', more })
    return refund.id
  })
}
