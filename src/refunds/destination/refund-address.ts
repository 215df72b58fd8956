import { lockActor } from '../../companies/company-scope.ts'
import type { Tx } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import type { Order } from '../../orders/order.ts'
import { lockReachableOrder } from '../../orders/order-service.ts'
import { nextStatus } from '../../orders/order-states.ts'
import { checkPayerAddress } from '../../payers/payer-address.ts'
import { findMispayment } from '../../payments/mispayments/mispayment-queries.ts'
import { findPayment } from '../../payments/payment-queries.ts'
import { findPaymentOf, readUnits } from '../refund-amount.ts'
import { writeRefundAudit } from '../refund-audit.ts'
import type { RefundDeps } from '../refund-deps.ts'
import type { LinkKind, RefundLinks } from '../refund-link.ts'
import { findNextNumber, findRefund, listRefundsOfOrder, type Refund, updateRefund } from '../refund-queries.ts'
import { readReturned } from '../refund-records.ts'
import { lockRefundWithOrder } from '../refund-settle.ts'
import { rememberRefund } from '../refund-views.ts'
import { type AddressProof, addressMessage, goesToAddress, noAddressWords, type RefundFacts } from './address-proof.ts'
import { findDestination, readWanted, type Wanted } from './refund-destination.ts'

async function lockWaiting(tx: Tx, key: Refund): Promise<{ order: Order; refund: Refund }> {
  const scene = await lockRefundWithOrder(tx, key)
  if (scene.refund.status === 'needs_address') return scene
  throw new AppError('OBJECT_CONFLICT', { message: `The refund is ${scene.refund.status}; its destination is fixed.` })
}

/**
 * Sets the destination while the payer is being asked. Without proof that the payer chose it, it is a proposal for the
 * payer to confirm.
 * @throws OBJECT_CONFLICT, VALIDATION_FAILED, FORBIDDEN, STEP_UP_REQUIRED, UNAUTHORIZED
 */
export async function setRefundAddress(
  deps: RefundDeps & { links: RefundLinks },
  key: Refund,
  wanted: Wanted & { address: string },
  context: RequestContext,
): Promise<void> {
  const { actor } = context
  const given = readWanted(wanted)
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, key.companyId)
    const { order, refund } = await lockWaiting(tx, key)
    const payment = await findPayment(tx, refund.companyId, refund.paymentId)
    if (!payment) throw new Error(`refund ${refund.id} without its payment`)
    const now = new Date(deps.clock())
    const { number, units } = refund
    const scene = { order, payment, number, units, actor, now, proposed: refund }
    const found = await findDestination(deps, tx, scene, given)
    const { status, address, proposedAddress, proposedBy, confirmedBy, addressProof, email, emailBy } = found
    const asks = status === 'needs_address'
    const isNew = !refund.askedByMail || refund.proposedAddress !== proposedAddress
    const change = {
      status,
      askedByMail: refund.askedByMail || (asks && email !== null),
      emailBy,
      nextCheckAt: status === 'ready' ? now : null,
      ...(address && { address, decidedBy: `${actor.kind}:${actor.id}` }),
      ...(proposedAddress && { proposedAddress }),
      ...(proposedBy && { proposedBy }),
      ...(confirmedBy && { confirmedBy }),
      ...(addressProof && { addressProof }),
    }
    await updateRefund(tx, refund, change, now)
    const written = { emailBy: emailBy ?? refund.emailBy }
    const changed = { ...refund, ...written, address, proposedAddress, proposedBy, confirmedBy, addressProof }
    if (asks && isNew) await deps.askForAddress(tx, order, { ...changed, requestId: null }, email)
    await rememberRefund(deps, tx, context, refund)
    await writeRefundAudit(deps, tx, context, { refund: changed, action: 'refund.address' })
  })
}

/**
 * The payer named the address through a link that anyone may hold: two people of the shop have to confirm it. It stays
 * so when a person of the shop proposed another one and then that one again (`findDestination`).
 */
export const isNamedByPayer = ({
  status,
  askedByMail,
  proposedAddress,
  proposedBy,
}: Pick<Refund, 'status' | 'askedByMail' | 'proposedAddress' | 'proposedBy'>): boolean =>
  status === 'needs_address' && !askedByMail && proposedAddress !== null && proposedBy === 'payer'

/**
 * The payer's answer on the refund page. Only a mailed link identifies the payer. Anyone may hold a link that was
 * handed over, so such an answer is a proposal of the payer, whoever proposed the same address before: the payer
 * confirms it through the mailed link, or two people of the shop do. A word for the same address stays.
 * @throws OBJECT_CONFLICT
 */
export async function confirmRefundAddress(
  deps: RefundDeps,
  key: Refund,
  { address, link }: { address: string; link: LinkKind },
  context: RequestContext,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const { refund } = await lockWaiting(tx, key)
    if (refund.askedByMail && link === 'handed')
      throw new AppError('OBJECT_CONFLICT', {
        message: 'The payer was asked by mail. Only the link in that mail counts.',
      })
    const now = new Date(deps.clock())
    const addressProof: AddressProof = { kind: 'payer', by: 'payer', at: now.toISOString() }
    const said =
      link === 'mailed'
        ? { status: 'ready' as const, address, addressProof, decidedBy: 'payer', nextCheckAt: now }
        : { status: refund.status, proposedAddress: address, proposedBy: 'payer', nextCheckAt: null }
    await updateRefund(tx, refund, said, now)
    const changed = { ...refund, ...said }
    await writeRefundAudit(deps, tx, context, { refund: changed, action: 'refund.address' })
  })
}

/**
 * The mail that asked the payer was refused for good, or expired first: no link identifies the payer, so the shop
 * may hand one over, as where no e-mail is known.
 */
export async function noteUnasked(deps: RefundDeps, refundId: string): Promise<void> {
  const key = await findRefund(deps.db, refundId)
  if (!key) return
  await deps.db.tx(async (tx) => {
    const { refund } = await lockRefundWithOrder(tx, key)
    const { status, askedByMail } = refund
    if (status !== 'needs_address' || !askedByMail) return
    await updateRefund(tx, refund, { status, askedByMail: false, nextCheckAt: null }, new Date(deps.clock()))
  })
}

export type MessageRequest = { code: string; address: string; amount?: string; mispaymentId?: string }

/** The units of a refund before it starts. */
async function unitsOf(tx: Tx, actor: Actor, order: Order, { amount, mispaymentId }: MessageRequest): Promise<bigint> {
  if (mispaymentId !== undefined) {
    const record = await findMispayment(tx, mispaymentId)
    if (record?.companyId === order.companyId && record.orderId === order.id) return record.units
    throw invalid('mispaymentId', `is not a mispayment of this order that ${actor.role} may see`)
  }
  nextStatus(order.status, 'revert')
  return readUnits(order, await findPaymentOf(tx, order), await readReturned(tx, order), amount).units
}

/**
 * The message to sign for the refund that waits for its address, or for the next refund.
 * @throws ORDER_NOT_FOUND, ORDER_STATE_CONFLICT, REFUND_TOO_LARGE, VALIDATION_FAILED
 */
export async function readAddressMessage(
  deps: RefundDeps,
  actor: Actor,
  request: MessageRequest,
): Promise<{ message: string; facts: RefundFacts }> {
  const { address = '' } = readWanted({ address: request.address })
  await checkPayerAddress(deps.payers, deps.db, 'address', address)
  return deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, request.code)
    const refunds = await listRefundsOfOrder(tx, order.companyId, order.id)
    const waiting = refunds.find(
      ({ status, mispaymentId }) => status === 'needs_address' && mispaymentId === (request.mispaymentId ?? null),
    )
    const number = waiting?.number ?? (await findNextNumber(tx, order.companyId, order.id))
    const units = waiting?.units ?? (await unitsOf(tx, actor, order, request))
    const paymentId = waiting?.paymentId ?? order.paymentId
    const payment = paymentId === null ? undefined : await findPayment(tx, order.companyId, paymentId)
    if (payment && !goesToAddress(payment)) throw invalid('address', noAddressWords(payment.channel))
    const facts = { code: order.code, number, units, network: payment?.network ?? null }
    return { message: addressMessage(facts, address), facts }
  })
}
