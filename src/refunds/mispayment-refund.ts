import { readAddress } from '../addresses.ts'
import type { AuditLog } from '../audit/audit.ts'
import { AppError } from '../errors.ts'
import type { Actor } from '../http/actor.ts'
import type { Call } from '../http/idempotency.ts'
import { newId } from '../ids.ts'
import { bookRefund } from '../ledger/ledger-service.ts'
import { proportion } from '../money.ts'
import { type Mispayment, updateMispayment } from '../payments/mispayment-queries.ts'
import { lockUndecided, type Scene, writeAudit } from '../payments/mispayment-service.ts'
import type { RefundLinks } from './refund-link.ts'
import { findRefundPolicy, insertRefund, type NewRefund } from './refund-queries.ts'
import { readReturned } from './refund-records.ts'
import { bookingOf, checkLimit, findDestination, type RefundDeps } from './refund-service.ts'

export type RefundDeskDeps = RefundDeps & { audit: AuditLog; links: RefundLinks }

const RETURNABLE: readonly Mispayment['kind'][] = ['under', 'late', 'duplicate', 'over']

function checkReturnable({ record }: Scene, free: bigint): void {
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
  deps: RefundDeskDeps,
  actor: Actor,
  id: string,
  body: { address?: string; reason?: string },
  call: Call,
): Promise<string> {
  const given = body.address === undefined ? undefined : readAddress('address', body.address)
  return deps.db.tx(async (tx) => {
    const scene = await lockUndecided(tx, actor, id)
    const { order, payment, record } = scene
    const { over, usedExcess } = await readReturned(tx, order)
    checkReturnable(scene, over.reduce((sum, { units }) => sum + units, 0n) - usedExcess)
    const now = new Date(deps.clock())
    const policy = await findRefundPolicy(tx, order.companyId)
    checkLimit(actor, record.units, BigInt(policy.refundLimitUnits), now.getTime())
    const destination = await findDestination(deps, tx, order, payment, given)
    const requestedBy = `${actor.kind}:${actor.id}`
    const refund: NewRefund = {
      companyId: order.companyId,
      id: newId(now.getTime()),
      orderId: order.id,
      paymentId: payment.id,
      mispaymentId: record.id,
      channel: payment.channel,
      status: policy.refundApproval ? 'needs_approval' : destination.status,
      units: record.units,
      excessUnits: record.units,
      fiatUnits: proportion(order.from.units, record.units, order.to.units),
      address: destination.address,
      network: payment.network,
      reason: body.reason ?? null,
      requestedBy,
      requestId: call.requestId,
      createdAt: now,
    }
    await insertRefund(tx, refund)
    await bookRefund(tx, bookingOf(refund, now), { units: record.units, excess: record.units })
    await updateMispayment(tx, record, { status: 'refunded', decidedBy: requestedBy, reason: body.reason ?? null }, now)
    if (refund.status === 'needs_address') await deps.askForAddress(tx, order, refund, destination.email)
    await call.remember(tx, { refundId: refund.id })
    await writeAudit(deps, tx, actor, record, 'mispayment.refund', call)
    return refund.id
  })
}
