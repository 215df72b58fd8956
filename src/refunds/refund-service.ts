import type { Audit } from '../audit/audit.ts'
import type { Channels } from '../channels/registry.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { crashPoint } from '../kernel/crash-point.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { formatDecimal, parseMoney, proportion } from '../kernel/money.ts'
import type { Books } from '../ledger/books.ts'
import { bookRefund, bookRefundSettled, feeOf, holderOf } from '../ledger/ledger-service.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById } from '../orders/order-queries.ts'
import { findReachableOrder, lockReachableOrder } from '../orders/order-service.ts'
import { nextStatus } from '../orders/order-states.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'
import type { PayerDeps } from '../payers/payer-service.ts'
import { findPayment, type Payment } from '../payments/payment-queries.ts'
import { writeRefundAudit } from './refund-audit.ts'
import { checkCover, checkNothingLost } from './refund-cover.ts'
import { type Destination, findDestination, readWanted } from './refund-destination.ts'
import { decideApproval } from './refund-limits.ts'
import {
  countRefunds,
  insertRefund,
  lockRefund,
  type NewRefund,
  type Refund,
  type RefundApproval,
  type RefundStatus,
  updateRefund,
} from './refund-queries.ts'
import { closeUsedRecord, type Returned, readReturned } from './refund-records.ts'
import type { RevertBody } from './refund-schemas.ts'

export type RefundDeps = {
  db: Db
  clock: Clock
  channels: Channels
  transition: TransitionOrder
  payers: PayerDeps
  audit: Audit
  /** Nothing leaves while they differ from the facts. */
  books: Books
  /** Asks the payer where the money shall go; called in the refund's transaction, so it only writes a job. */
  askForAddress(tx: Tx, order: Order, refund: NewRefund, email: string | null): Promise<void>
}

const text = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

type Share = { units: bigint; excess: bigint; all: boolean }

/** How much goes back, and how much of it is money above the price. @throws ILLEGAL_AMOUNT, REFUND_TOO_LARGE */
export function readUnits(order: Order, payment: Payment, returned: Returned, amount: string | undefined): Share {
  const left = order.paidUnits - order.refundedUnits - returned.besideUnits
  const units = amount === undefined ? left : parseMoney(amount, 'USDC').units
  if (units === 0n) throw new AppError('ILLEGAL_AMOUNT', { message: 'The refund must be more than zero.' })
  if (units > left) {
    throw new AppError('REFUND_TOO_LARGE', {
      message: `At most ${text(left)} can be refunded; ${text(order.paidUnits - left)} went back already.`,
    })
  }
  const above = order.paidUnits - (payment.priceUnits ?? payment.dueUnits) - returned.usedExcess
  const free = above > 0n ? above : 0n
  return { units, excess: units < free ? units : free, all: units === left }
}

/** The price's share in the order's currency; the exact rest when nothing is left. */
function fiatShare(order: Order, { units, all }: Share, earlier: readonly Refund[]): bigint {
  const done = earlier.filter(({ status }) => status === 'settled').reduce((sum, { fiatUnits }) => sum + fiatUnits, 0n)
  if (all) return order.from.units - done
  const share = proportion(order.from.units, units, order.paidUnits)
  return share > order.from.units - done ? order.from.units - done : share
}

/** A provider that refunds in fiat cannot send less than its smallest unit. @throws ILLEGAL_AMOUNT */
async function checkSendable(deps: RefundDeps, tx: Tx, payment: Payment, fiatUnits: bigint): Promise<void> {
  if (fiatUnits > 0n || !(await deps.channels.forPayment(payment, tx))?.refundsInFiat) return
  const message = `${payment.channel} refunds in the order’s currency; this is less than its smallest unit.`
  throw new AppError('ILLEGAL_AMOUNT', { message })
}

/** What of a refund the company pays, and the fee on it. */
function needOf(order: Order, payment: Payment, { units, excess }: Share) {
  const price = payment.priceUnits ?? payment.dueUnits
  const fee = feeOf(price, payment.feeBps ?? 0)
  const own = holderOf(payment) === 'own_account'
  return { companyId: order.companyId, units: units - excess, feeUnits: proportion(fee, units - excess, price), own }
}

/** Starts a refund of what is left, or of a part of it. The order is REFUNDING until it is settled or dropped. */
export async function revertOrder(
  deps: RefundDeps,
  context: RequestContext,
  code: string,
  body: RevertBody,
): Promise<{ refundId: string }> {
  const { actor } = context
  const wanted = readWanted(body)
  await deps.books.check((await findReachableOrder(deps.db, actor, code)).companyId)
  const refundId = await deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, code)
    nextStatus(order.status, 'revert')
    const payment = await findPaymentOf(tx, order)
    const now = new Date(deps.clock())
    const returned = await readReturned(tx, order)
    checkNothingLost(returned)
    const share = readUnits(order, payment, returned, body.amount)
    const { units, excess } = share
    const withoutCover = await checkCover(tx, actor, needOf(order, payment, share), {
      insist: body.withoutCover ?? false,
      nowMs: now.getTime(),
    })
    const approval = await decideApproval(tx, actor, { companyId: order.companyId, units, now })
    const number = (await countRefunds(tx, order.companyId, order.id)) + 1
    const destination = await findDestination(deps, tx, { order, payment, number, units, actor, now }, wanted)
    const fiatUnits = fiatShare(order, share, returned.refunds)
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

export async function findPaymentOf(tx: Tx, order: Order): Promise<Payment> {
  const payment = order.paymentId === null ? undefined : await findPayment(tx, order.companyId, order.paymentId)
  if (!payment) throw new Error('a paid order without its payment')
  return payment
}

/** What every refund has in common, whatever it is made for. */
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
  const { address, proposedAddress, proposedBy, addressProof, email } = destination
  const status: RefundStatus = approval === null ? destination.status : 'needs_approval'
  return {
    companyId: order.companyId,
    id: newId(now.getTime()),
    orderId: order.id,
    number,
    paymentId: payment.id,
    channel: payment.channel,
    status,
    address,
    proposedAddress,
    proposedBy,
    addressProof,
    askedByMail: status === 'needs_address' && email !== null,
    network: payment.network,
    approval,
    requestedBy: `${actor.kind}:${actor.id}`,
    requestedRole: actor.role,
    createdAt: now,
  }
}

export const bookingOf = (refund: Pick<Refund, 'companyId' | 'id' | 'orderId'>, at: Date) => ({
  companyId: refund.companyId,
  causeId: refund.id,
  orderId: refund.orderId,
  at,
})

/** The order first, then its refund: the same order of locks everywhere. */
export async function lockRefundWithOrder(
  tx: Tx,
  key: { companyId: string; id: string; orderId: string },
): Promise<{ order: Order; refund: Refund }> {
  const order = await lockOrderById(tx, key.companyId, key.orderId)
  const refund = await lockRefund(tx, key.companyId, key.id)
  if (!order || !refund) throw new AppError('OBJECT_NOT_FOUND')
  return { order, refund }
}

type SettledNews = { actor: string; reference: string | null; txHash: string | null; words: string }

/** The money is with the payer. */
export const settleRefund = (deps: RefundDeps, key: Refund, news: SettledNews): Promise<void> =>
  deps.db.tx((tx) => settleRefundIn(deps, tx, key, news))

/** In a transaction that has more to do. */
export async function settleRefundIn(
  deps: Pick<RefundDeps, 'clock' | 'transition'>,
  tx: Tx,
  key: Pick<Refund, 'companyId' | 'id' | 'orderId'>,
  news: SettledNews,
): Promise<void> {
  const { order, refund } = await lockRefundWithOrder(tx, key)
  if (refund.status !== 'ready' && refund.status !== 'submitted') return
  const now = new Date(deps.clock())
  const { reference, txHash, words } = news
  await updateRefund(tx, refund, { status: 'settled', reference, txHash, words, nextCheckAt: null }, now)
  const payment = await findPayment(tx, refund.companyId, refund.paymentId)
  if (!payment) throw new Error(`refund ${refund.id} without its payment`)
  await bookRefundSettled(tx, bookingOf(refund, now), refund.units, holderOf(payment))
  if (refund.mispaymentId !== null) return
  const refundedUnits = order.refundedUnits + refund.units
  const { besideUnits } = await readReturned(tx, order)
  const trigger = refundedUnits + besideUnits >= order.paidUnits ? 'refundAll' : 'refundPart'
  await deps.transition(tx, order, {
    trigger,
    actor: news.actor,
    requestId: null,
    refundId: refund.id,
    change: { refundedUnits },
  })
}
