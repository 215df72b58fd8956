import type { FastifyBaseLogger } from 'fastify'
import type { Channel, RefundReport, RefundRequest } from '../channels/channel.ts'
import { crashPoint } from '../kernel/crash-point.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { checkClaimed } from '../ledger/claims.ts'
import { findOrderById } from '../orders/order-queries.ts'
import { findPayment } from '../payments/payment-queries.ts'
import { writeRefundAudit } from './refund-audit.ts'
import { findLossOf } from './refund-cover.ts'
import { type Decider, dropRefund } from './refund-decisions.ts'
import { claimDueRefunds, listRefundsOfOrder, type Refund, updateRefund } from './refund-queries.ts'
import { lockRefundWithOrder, type RefundDeps, settleRefund } from './refund-service.ts'

const LEASE_MS = 60_000
/** A refund that may not leave now is looked at again after so long. */
const HOLD_MS = 30_000
const BATCH = 20
const DELAYS_MS = [1000, 1000, 2000, 3000, 5000, 10_000, 30_000, 60_000, 300_000]

const delayMs = (checks: number): number => DELAYS_MS[Math.min(checks, DELAYS_MS.length - 1)] ?? 300_000

const sumOf = (refunds: readonly Refund[], field: 'units' | 'fiatUnits'): bigint =>
  refunds.reduce((sum, refund) => sum + refund[field], 0n)

/** The channel, with the account that the refund's payment was made to. */
async function channelOfRefund(deps: RefundDeps, refund: Refund): Promise<Channel | undefined> {
  const payment = await findPayment(deps.db, refund.companyId, refund.paymentId)
  return payment && deps.channels.forPayment(payment)
}

/** What a channel needs to know of a refund. */
export async function refundRequestOf(deps: RefundDeps, refund: Refund): Promise<RefundRequest> {
  const [order, payment] = await Promise.all([
    findOrderById(deps.db, refund.companyId, refund.orderId),
    findPayment(deps.db, refund.companyId, refund.paymentId),
  ])
  if (!order || !payment) throw new Error(`refund ${refund.id} without its order or payment`)
  const all = await listRefundsOfOrder(deps.db, refund.companyId, refund.orderId)
  const earlier = all.filter(({ status, paymentId }) => status === 'settled' && paymentId === payment.id)
  return {
    refundId: refund.id,
    companyId: refund.companyId,
    merchantReference: payment.merchantReference,
    providerReference: payment.providerReference ?? '',
    units: refund.units,
    fiat: { asset: order.from.asset, units: refund.fiatUnits },
    paidUnits: payment.receivedUnits,
    paidFiat: order.from,
    earlierUnits: sumOf(earlier, 'units'),
    earlierFiat: { asset: order.from.asset, units: sumOf(earlier, 'fiatUnits') },
    reference: refund.providerReference,
    attempted: refund.status === 'submitted',
    network: refund.network,
    address: refund.address,
    reason: refund.reason,
  }
}

/** Before anything is sent the refund is no longer one that a person can reject. @returns whether it may be sent */
async function beginSending(deps: RefundDeps, refund: Refund): Promise<boolean> {
  const hold = refund.status === 'ready' ? await deps.books.findHold(refund.companyId) : null
  return deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (current.status === 'submitted') return true
    if (current.status !== 'ready') return false
    const now = new Date(deps.clock())
    const reason = hold ?? (await findLossOf(tx, current))
    if (reason !== null) {
      const nextCheckAt = new Date(now.getTime() + HOLD_MS)
      await updateRefund(tx, current, { status: 'ready', words: `waits: ${reason}`, nextCheckAt }, now)
      return false
    }
    await updateRefund(tx, current, { status: 'submitted', nextCheckAt: new Date(now.getTime() + LEASE_MS) }, now)
    return true
  })
}

async function askChannel(deps: RefundDeps, refund: Refund): Promise<RefundReport> {
  const [channel, request] = await Promise.all([channelOfRefund(deps, refund), refundRequestOf(deps, refund)])
  if (refund.byHand && refund.txHash !== null && channel?.checkRefundTransaction)
    return channel.checkRefundTransaction(request, refund.txHash)
  if (channel?.refundPayment) return channel.refundPayment(request)
  return { outcome: 'manual', reference: null, txHash: null, words: 'to be sent by hand' }
}

/** One look at a refund under way: send it, or ask what became of it; the channel makes sure that it happens once. */
async function pollRefund(deps: RefundDeps, refund: Refund): Promise<void> {
  if (!(await beginSending(deps, refund))) return
  crashPoint('refund:before-send')
  const report = await askChannel(deps, refund)
  crashPoint('refund:after-send')
  await applyRefundReport(deps, refund, report)
  crashPoint('refund:after-settle')
}

export async function applyRefundReport(deps: RefundDeps, refund: Refund, report: RefundReport): Promise<void> {
  const { reference, txHash, words } = report
  const actor = `channel:${refund.channel}`
  if (report.outcome === 'settled') return settleRefund(deps, refund, { actor, reference, txHash, words })
  if (report.outcome === 'refused') return dropRefund(deps, refund, { status: 'refused', channel: actor, words })
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    if (current.status !== 'ready' && current.status !== 'submitted') return
    const now = new Date(deps.clock())
    const manual = report.outcome === 'manual'
    const nextCheckAt = manual ? null : new Date(now.getTime() + delayMs(current.checks))
    await updateRefund(
      tx,
      current,
      { status: manual ? 'ready' : 'submitted', reference, txHash, words, nextCheckAt },
      now,
    )
  })
}

/** @throws VALIDATION_FAILED */
export function readTxHash(hash: string): string {
  if (!/^0x[0-9a-fA-F]{64}$/.test(hash))
    throw invalid('txHash', 'must be a transaction hash: 0x and 64 hexadecimal digits')
  return hash.toLowerCase()
}

/**
 * A person sent a refund and names the transaction: it is checked on its chain, kept for this refund alone, and the
 * refund is settled when it is final.
 * @throws VALIDATION_FAILED at `txHash`, OBJECT_CONFLICT
 */
export async function reportTransaction(deps: RefundDeps, refund: Refund, txHash: string, by: Decider): Promise<void> {
  const channel = await channelOfRefund(deps, refund)
  const { network, id: causeId } = refund
  const payable = refund.status === 'ready' || refund.status === 'submitted'
  if (!channel?.checkRefundTransaction || network === null || !payable) {
    throw new AppError('OBJECT_CONFLICT', {
      message: `A ${refund.status} refund through ${refund.channel} cannot be settled by a transaction.`,
    })
  }
  const { checkRefundTransaction } = channel
  const request = await refundRequestOf(deps, refund)
  const check = () => checkRefundTransaction(request, txHash)
  const report = await checkClaimed(deps.db, { network, txHash, causeId }, check)
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    const now = new Date(deps.clock())
    if (current.status === 'ready' || current.status === 'submitted')
      await updateRefund(tx, current, { status: 'submitted', txHash, byHand: true, nextCheckAt: now }, now)
    await writeRefundAudit(deps, tx, { ...by, refund: current, action: 'refund.transaction', more: { txHash } })
  })
  await applyRefundReport(deps, refund, report)
}

/** Sends and follows refunds. One that fails is tried again after its lease, with the same id. */
export async function pollDueRefunds(deps: RefundDeps, log: FastifyBaseLogger): Promise<number> {
  const now = deps.clock()
  const due = await claimDueRefunds(deps.db, new Date(now), new Date(now + LEASE_MS), BATCH)
  for (const refund of due) {
    await pollRefund(deps, refund).catch((error: unknown) =>
      log.warn({ err: error, refundId: refund.id }, 'refund could not be sent'),
    )
  }
  return due.length
}
