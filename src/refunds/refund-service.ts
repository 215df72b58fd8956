import { readAddress } from '../addresses.ts'
import type { Channels } from '../channels/registry.ts'
import { type Clock, MINUTE } from '../clock.ts'
import { crashPoint } from '../crash-point.ts'
import type { Db, Tx } from '../db/db.ts'
import { AppError, invalid } from '../errors.ts'
import type { Actor } from '../http/actor.ts'
import type { Call } from '../http/idempotency.ts'
import { newId } from '../ids.ts'
import { bookRefund, bookRefundDropped, bookRefundSettled } from '../ledger/ledger-service.ts'
import { formatDecimal, parseMoney, proportion } from '../money.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById } from '../orders/order-queries.ts'
import { lockReachableOrder } from '../orders/order-service.ts'
import { nextStatus } from '../orders/order-states.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'
import { findPayerAddress, type PayerDeps } from '../payers/payer-service.ts'
import { findPayment, type Payment } from '../payments/payment-queries.ts'
import {
  findRefundPolicy,
  insertRefund,
  lockRefund,
  type NewRefund,
  type Refund,
  type RefundStatus,
  updateRefund,
} from './refund-queries.ts'
import { closeUsedRecords, type Returned, readReturned, reopenRecords } from './refund-records.ts'
import type { RevertBody } from './refund-schemas.ts'

export type RefundDeps = {
  db: Db
  clock: Clock
  channels: Channels
  transition: TransitionOrder
  payers: PayerDeps
  /** Asks the payer where the money shall go; called in the refund's transaction, so it only writes a job. */
  askForAddress(tx: Tx, order: Order, refund: NewRefund, email: string | null): Promise<void>
}

const FRESH_MS = 5 * MINUTE

const text = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

type Share = { units: bigint; excess: bigint; all: boolean }

/** How much goes back, and how much of it is money above the price. @throws ILLEGAL_AMOUNT, REFUND_TOO_LARGE */
function readUnits(order: Order, payment: Payment, returned: Returned, amount: string | undefined): Share {
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

/** Large refunds need a person with a fresh second factor; a server's key is not enough. */
export function checkLimit(actor: Actor, units: bigint, limitUnits: bigint, nowMs: number): void {
  if (units <= limitUnits) return
  if (actor.kind === 'apiKey') {
    throw new AppError('FORBIDDEN', {
      message: `Refunds above ${text(limitUnits)} need a person: log in and confirm with a second factor.`,
    })
  }
  if (actor.secondFactorAt === null || nowMs - actor.secondFactorAt > FRESH_MS) throw new AppError('STEP_UP_REQUIRED')
}

/** The price's share in the order's currency; the exact rest when nothing is left. */
function fiatShare(order: Order, { units, all }: Share, earlier: readonly Refund[]): bigint {
  const done = earlier.filter(({ status }) => status === 'settled').reduce((sum, { fiatUnits }) => sum + fiatUnits, 0n)
  if (all) return order.from.units - done
  const share = proportion(order.from.units, units, order.paidUnits)
  return share > order.from.units - done ? order.from.units - done : share
}

/** A provider that refunds in fiat cannot send less than its smallest unit. @throws ILLEGAL_AMOUNT */
async function checkSendable(deps: RefundDeps, payment: Payment, fiatUnits: bigint): Promise<void> {
  if (fiatUnits > 0n || !(await deps.channels.forPayment(payment))?.refundsInFiat) return
  const message = `${payment.channel} refunds in the order’s currency; this is less than its smallest unit.`
  throw new AppError('ILLEGAL_AMOUNT', { message })
}

type Destination = { address: string | null; email: string | null; status: RefundStatus }

/** Never blindly the sending address: it may be an exchange's. */
export async function findDestination(
  deps: RefundDeps,
  tx: Tx,
  order: Order,
  payment: Payment,
  given: string | undefined,
): Promise<Destination> {
  const onChain = (await deps.channels.forPayment(payment))?.refundsToAddress === true
  const known = await findPayerAddress(deps.payers, tx, order)
  const address = given ?? payment.userAddress ?? known.address
  return { address, email: known.email, status: onChain && address === null ? 'needs_address' : 'ready' }
}

/** Starts a refund of what is left, or of a part of it. The order is REFUNDING until it is settled or dropped. */
export async function revertOrder(
  deps: RefundDeps,
  actor: Actor,
  code: string,
  body: RevertBody,
  call: Call,
): Promise<void> {
  const given = body.address === undefined ? undefined : readAddress('address', body.address)
  await deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, code)
    nextStatus(order.status, 'revert')
    const payment = order.paymentId === null ? undefined : await findPayment(tx, order.companyId, order.paymentId)
    if (!payment) throw new Error('a paid order without its payment')
    const now = new Date(deps.clock())
    const policy = await findRefundPolicy(tx, order.companyId)
    const returned = await readReturned(tx, order)
    const share = readUnits(order, payment, returned, body.amount)
    const { units, excess } = share
    checkLimit(actor, units, BigInt(policy.refundLimitUnits), now.getTime())
    const destination = await findDestination(deps, tx, order, payment, given)
    const fiatUnits = fiatShare(order, share, returned.refunds)
    await checkSendable(deps, payment, fiatUnits)
    const refund: NewRefund = {
      companyId: order.companyId,
      id: newId(now.getTime()),
      orderId: order.id,
      paymentId: payment.id,
      mispaymentId: null,
      channel: payment.channel,
      status: policy.refundApproval ? 'needs_approval' : destination.status,
      units,
      excessUnits: excess,
      fiatUnits,
      address: destination.address,
      network: payment.network,
      reason: body.reason ?? null,
      requestedBy: `${actor.kind}:${actor.id}`,
      requestId: call.requestId,
      createdAt: now,
    }
    await insertRefund(tx, refund)
    await bookRefund(tx, bookingOf(refund, now), { units, excess })
    await closeUsedRecords(tx, refund.id, returned.usedExcess + excess, returned.over, now)
    if (refund.status === 'needs_address') await deps.askForAddress(tx, order, refund, destination.email)
    await deps.transition(tx, order, {
      trigger: 'revert',
      actor: refund.requestedBy,
      requestId: call.requestId,
      refundId: refund.id,
    })
    await call.remember(tx, null)
    crashPoint('revert:before-commit')
  })
  crashPoint('revert:after-commit')
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
  await bookRefundSettled(tx, bookingOf(refund, now), { units: refund.units, excess: refund.excessUnits })
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

/** The refund will not happen: rejected by a person, or definitely refused by the provider. */
export async function dropRefund(
  deps: RefundDeps,
  key: Refund,
  news: { status: 'rejected' | 'refused'; actor: string; words: string },
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const { order, refund } = await lockRefundWithOrder(tx, key)
    const possible = news.status === 'rejected' ? ['needs_approval', 'needs_address', 'ready'] : ['ready', 'submitted']
    if (!possible.includes(refund.status)) {
      throw new AppError('OBJECT_CONFLICT', {
        message: `The refund is ${refund.status}; it cannot be ${news.status} any more.`,
      })
    }
    const now = new Date(deps.clock())
    await updateRefund(
      tx,
      refund,
      { status: news.status, decidedBy: news.actor, words: news.words, nextCheckAt: null },
      now,
    )
    await bookRefundDropped(tx, bookingOf(refund, now), { units: refund.units, excess: refund.excessUnits })
    await reopenRecords(tx, refund, now)
    if (refund.mispaymentId !== null) return
    const trigger = order.refundedUnits > 0n ? 'dropRefundPart' : 'dropRefund'
    await deps.transition(tx, order, { trigger, actor: news.actor, requestId: null })
  })
}

/** A SuperAdmin lets a refund go on. */
export async function approveRefund(deps: RefundDeps, key: Refund, actor: string): Promise<void> {
  await deps.db.tx(async (tx) => {
    const { order, refund } = await lockRefundWithOrder(tx, key)
    if (refund.status !== 'needs_approval') {
      throw new AppError('OBJECT_CONFLICT', { message: `The refund is ${refund.status}; there is nothing to approve.` })
    }
    const now = new Date(deps.clock())
    const payment = await findPayment(tx, refund.companyId, refund.paymentId)
    const onChain = payment !== undefined && (await deps.channels.forPayment(payment))?.refundsToAddress === true
    const status = onChain && refund.address === null ? 'needs_address' : 'ready'
    await updateRefund(tx, refund, { status, decidedBy: actor, nextCheckAt: status === 'ready' ? now : null }, now)
    if (status === 'needs_address') {
      const { email } = await findPayerAddress(deps.payers, tx, order)
      await deps.askForAddress(tx, order, { ...refund, requestId: null }, email)
    }
  })
}

/** Where the money shall go, said by the payer on the refund page or by a manager. */
export async function setRefundAddress(deps: RefundDeps, key: Refund, address: string, actor: string): Promise<void> {
  const destination = readAddress('address', address)
  await deps.db.tx(async (tx) => {
    const { refund } = await lockRefundWithOrder(tx, key)
    if (refund.status !== 'needs_address') {
      throw new AppError('OBJECT_CONFLICT', { message: `The refund is ${refund.status}; its destination is fixed.` })
    }
    const now = new Date(deps.clock())
    await updateRefund(tx, refund, { status: 'ready', address: destination, decidedBy: actor, nextCheckAt: now }, now)
  })
}

export function readTxHash(hash: string): string {
  if (!/^0x[0-9a-fA-F]{64}$/.test(hash))
    throw invalid('txHash', 'must be a transaction hash: 0x and 64 hexadecimal digits')
  return hash.toLowerCase()
}
