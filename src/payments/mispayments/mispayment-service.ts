import type { Audit } from '../../audit/audit.ts'
import { amountText } from '../../channels/usdc-text.ts'
import { checkAcceptableOnce } from '../../companies/button-landing.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { PayerGate } from '../../compliance/payer-gate.ts'
import type { Db, Tx } from '../../db/db.ts'
import { type Actor, companiesSeen, sees } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { EXPONENTS, formatDecimal, formatMoney } from '../../kernel/money.ts'
import type { Order } from '../../orders/order.ts'
import { lockOrderById } from '../../orders/order-queries.ts'
import { allows } from '../../orders/order-states.ts'
import type { TransitionOrder } from '../../orders/order-transition.ts'
import type { PayerDeps } from '../../payers/payer-service.ts'
import { findEuroRate } from '../../rates/euro.ts'
import type { ScreeningGate } from '../../screening/screening-gate.ts'
import {
  findPaymentPolicy,
  lockPayment,
  type Payment,
  type PaymentPolicy,
  reconsiderPayment,
  updatePayment,
  updatePaymentAccepted,
} from '../payment-queries.ts'
import { minAcceptedUnits, priceUnitsOf } from '../payment-rules.ts'
import {
  countMispayments,
  findMispayment,
  type ListedMispayment,
  type LossBearer,
  listMispayments,
  lockMispayment,
  type Mispayment,
  updateMispayment,
} from './mispayment-queries.ts'
import { bookLossDecision, bookOrderPaid } from './mispayment-records.ts'
import type { MispaymentListQuery } from './mispayment-schemas.ts'
import { checkScreened, SCREEN_FIRST, SCREENED_AGAIN } from './screened-money.ts'
import { readStanding, undecidedUnits } from './standing.ts'
import { findUnanswered } from './told-event.ts'

export type MispaymentDeps = {
  db: Db
  clock: Clock
  transition: TransitionOrder
  audit: Audit
  screening: ScreeningGate
  /** Identity checks and spending limits. */
  gate: Pick<PayerGate, 'admit'>
  payers: Pick<PayerDeps, 'rates'>
  /** Less on a chain, at another order of the same reference, is no payment. */
  dustUnits: bigint
  /** The order's page shows a smaller amount than before. */
  onDecided(order: Order): void
}

const BEAR_IT = 'This money left the chain. Decide who bears the loss: POST /mispayments/{id}/bear.'

const viewMispayment = (record: ListedMispayment) => ({
  _id: record.id,
  code: record.orderCode,
  shortCode: record.orderShortCode,
  orderStatus: record.orderStatus,
  fromAmount: formatMoney({ asset: record.fromAsset, units: record.fromUnits }),
  fromAsset: record.fromAsset,
  toAmount: formatDecimal(record.toUnits, EXPONENTS.USDC),
  kind: record.kind,
  status: record.status,
  refundStatus: record.refundStatus,
  asset: record.asset,
  units: record.units.toString(),
  amount: amountText({ ...record, reference: record.sourceReference }),
  reference: record.sourceReference,
  decidedBy: record.decidedBy,
  reason: record.reason,
  borneBy: record.borneBy,
  askedBackAt: record.askedBackAt?.toISOString() ?? null,
  createdAt: record.createdAt.toISOString(),
  updatedAt: record.updatedAt.toISOString(),
})

export async function listVisibleMispayments({ db }: MispaymentDeps, actor: Actor, query: MispaymentListQuery) {
  const { companyId, page = 1, limit = 20, status = null, kind = null, code = null } = query
  const filter = { companyIds: companiesSeen(actor, companyId), status, kind, code }
  const [rows, total] = await Promise.all([
    listMispayments(db, filter, { limit, offset: (page - 1) * limit }),
    countMispayments(db, filter),
  ])
  return { mispayments: rows.map(viewMispayment), total, page, limit }
}

export type MispaymentCase = { order: Order; payment: Payment; record: Mispayment }

/**
 * Locks the person who decides, then order, payment and record, always in this order.
 * @throws OBJECT_NOT_FOUND, UNAUTHORIZED, OBJECT_CONFLICT if it is already decided
 */
export async function lockUndecided(tx: Tx, actor: Actor, id: string): Promise<MispaymentCase> {
  const found = await findMispayment(tx, id)
  if (!found || !sees(actor, found.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  await lockActor(tx, actor, found.companyId)
  const order = await lockOrderById(tx, found.companyId, found.orderId)
  const payment = await lockPayment(tx, found.companyId, found.paymentId)
  const record = await lockMispayment(tx, found.companyId, id)
  if (!order || !payment || !record) throw new AppError('OBJECT_NOT_FOUND')
  if (record.status !== 'open') {
    throw new AppError('OBJECT_CONFLICT', { message: `This money is already ${record.status}. Nothing changed.` })
  }
  return { order, payment, record }
}

function checkAcceptable(record: Mispayment, counted: bigint): void {
  if (record.kind !== 'under' && record.kind !== 'late') {
    const ways: Partial<Record<Mispayment['kind'], string>> = { orphaned: BEAR_IT, held: SCREEN_FIRST }
    const way = ways[record.kind] ?? 'Refund or ignore it.'
    throw new AppError('OBJECT_CONFLICT', {
      message: `Only underpaid or late money can be accepted as a payment; this is ${record.kind}. ${way}`,
    })
  }
  checkUnchanged(record, counted)
}

/** Nobody decides about money that was not shown. @param shown undefined: whatever it is */
export function checkUnchanged({ units }: Mispayment, shown: bigint | string | undefined): void {
  if (shown === undefined || units === BigInt(shown)) return
  const message = 'The money of this payment has changed. Read the record again, then repeat.'
  throw new AppError('OBJECT_CONFLICT', { message })
}

/** Accepting a part while the whole price is on the chain would turn the rest into an overpayment. */
function checkNoneComes({ order, payment }: MispaymentCase, received: bigint, policy: PaymentPolicy): void {
  if (order.status !== 'WAITING_CHAIN_CONFIRMATION') return
  // final and enough: only its provider does not call it complete
  if (order.paymentId === payment.id && received >= minAcceptedUnits(priceUnitsOf(order, payment), policy)) return
  throw new AppError('OBJECT_CONFLICT', {
    message: 'More money for this order is on its way. Wait until it is final, then read the record again.',
  })
}

/** Abandons the order’s other unpaid payment. */
async function giveUpOther(tx: Tx, { order, payment }: MispaymentCase, now: Date): Promise<void> {
  if (order.paymentId === null || order.paymentId === payment.id) return
  const other = await lockPayment(tx, order.companyId, order.paymentId)
  if (other && ['creating', 'awaiting', 'confirming'].includes(other.status))
    await updatePayment(
      tx,
      other,
      { status: 'closing', providerStatus: 'another payment was accepted', nextCheckAt: now, checks: 0 },
      now,
    )
}

/**
 * Accepts what arrived as the order's payment, and the order becomes PAID: an underpayment while the order is open, or
 * a late or short payment after it ended. If it is less than the price, it becomes the price. An order that ended must
 * pass its payer's gate again. A purchase is paid once: by this order, or by another one of its reference or alias.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, ORDER_STATE_CONFLICT, PAYER_IDENTITY_REQUIRED, KYC_REQUIRED,
 * SPENDING_LIMIT_EXCEEDED
 */
export async function acceptMispayment(
  deps: MispaymentDeps,
  context: RequestContext,
  id: string,
  body: { reason?: string; units?: string },
): Promise<void> {
  const { actor } = context
  const euroRate = await findEuroRate(deps.payers)
  const refused = await deps.db.tx(async (tx) => {
    const scene = await lockUndecided(tx, actor, id)
    const { order, payment, record } = scene
    checkUnchanged(record, body.units)
    const received = undecidedUnits(payment.receivedUnits, await readStanding(tx, payment))
    checkAcceptable(record, received)
    const waits = await findUnanswered(tx, payment, new Date(deps.clock()))
    if (waits) return waits
    await checkAcceptableOnce(tx, order, { dustUnits: deps.dustUnits, reason: body.reason })
    const policy = await findPaymentPolicy(tx, order.companyId)
    checkNoneComes(scene, received, policy)
    const { companyId, id: subjectId } = payment
    if (await deps.screening.renew(tx, { companyId, purpose: 'payment', subjectId }))
      return new AppError('OBJECT_CONFLICT', { message: SCREENED_AGAIN })
    await checkScreened(deps, tx, record)
    const trigger = allows(order.status, 'pay') ? 'pay' : 'payLate'
    const fault =
      trigger === 'payLate'
        ? await deps.gate.admit(tx, order, {
            email: null,
            euroRate,
            units: received < order.to.units ? received : order.to.units,
            by: context,
          })
        : null
    if (fault) return fault
    const now = new Date(deps.clock())
    const decidedBy = `${actor.kind}:${actor.id}`
    await giveUpOther(tx, scene, now)
    await updatePaymentAccepted(tx, payment, `accepted by ${decidedBy}`, now)
    await deps.transition(tx, order, {
      trigger,
      actor: decidedBy,
      requestId: context.requestId,
      change: { paidAt: now, paidUnits: received, paymentChannel: payment.channel, paymentId: payment.id },
    })
    const money = { received, due: priceUnitsOf(order, payment), feeBps: policy.feeBps }
    await bookOrderPaid({ tx, order, payment, now }, money, { decidedBy, reason: body.reason ?? null })
    await context.remember(tx, null)
    await writeAudit(deps, tx, context, { record, action: 'mispayment.accept' })
    return null
  })
  // after the commit, because the questions to sources and provider and the payer's check must be stored
  if (refused !== null) throw refused
}

/**
 * Leaves the money in suspense and stores the reason.
 * @param body `units`: of the record that the person saw
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT
 */
export async function ignoreMispayment(
  deps: MispaymentDeps,
  context: RequestContext,
  id: string,
  body: { reason: string; units?: string },
): Promise<void> {
  const { actor } = context
  const refused = await deps.db.tx(async (tx) => {
    const { order, payment, record } = await lockUndecided(tx, actor, id)
    if (record.kind === 'orphaned') throw new AppError('OBJECT_CONFLICT', { message: BEAR_IT })
    checkUnchanged(record, body.units)
    const now = new Date(deps.clock())
    const waits = await findUnanswered(tx, payment, now)
    if (waits) return waits
    await checkScreened(deps, tx, record)
    const decision = { status: 'ignored', decidedBy: `${actor.kind}:${actor.id}`, reason: body.reason } as const
    await updateMispayment(tx, record, decision, now)
    await reconsiderPayment(tx, payment, now)
    await context.remember(tx, null)
    tx.afterCommit(() => deps.onDecided(order))
    await writeAudit(deps, tx, context, { record, action: 'mispayment.ignore' })
    return null
  })
  // after the commit, because the question to the provider must be stored
  if (refused !== null) throw refused
}

/**
 * Decides who bears the loss of money that left the chain after it counted. Afterwards the order can be refunded and
 * its company settled again. Only a SuperAdmin can make the operator pay. If the money comes back, the decision is
 * undone.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, FORBIDDEN
 */
export async function bearLoss(
  deps: MispaymentDeps,
  context: RequestContext,
  id: string,
  body: { by: LossBearer; reason?: string },
): Promise<void> {
  const { actor } = context
  if (body.by === 'operator' && actor.role !== 'SuperAdmin')
    throw new AppError('FORBIDDEN', { message: 'Only a SuperAdmin can decide that the operator bears a loss.' })
  await deps.db.tx(async (tx) => {
    const { order, payment, record } = await lockUndecided(tx, actor, id)
    if (record.kind !== 'orphaned') {
      const message = `Only money that left the chain is a loss to bear; this is ${record.kind}.`
      throw new AppError('OBJECT_CONFLICT', { message })
    }
    const now = new Date(deps.clock())
    const decidedBy = `${actor.kind}:${actor.id}`
    const decision = { status: 'borne', borneBy: body.by, decidedBy, reason: body.reason ?? null } as const
    await updateMispayment(tx, record, decision, now)
    await bookLossDecision({ tx, order, payment, now }, record, body.by)
    await context.remember(tx, null)
    await writeAudit(deps, tx, context, { record, action: 'mispayment.bear', more: { by: body.by } })
  })
}

const writeAudit = (
  { audit }: Pick<MispaymentDeps, 'audit'>,
  tx: Tx,
  context: RequestContext,
  { record, action, more }: { record: Mispayment; action: string; more?: Record<string, string> },
): Promise<void> => {
  const detail = { mispaymentId: record.id, kind: record.kind, units: record.units.toString(), ...more }
  return audit.write(tx, context, {
    ...{ companyId: record.companyId, action, object: `mispayment:${record.id}`, detail },
  })
}
