import type { Channel } from '../channels/channel.ts'
import type { Tx } from '../db/db.ts'
import { AppError } from '../kernel/errors.ts'
import { releaseClaims } from '../ledger/claim-queries.ts'
import { bookRefundSettled, type Holder, holderOf } from '../ledger/ledger-service.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById } from '../orders/order-queries.ts'
import { findPayment, type Payment } from '../payments/payment-queries.ts'
import { leavesOnChain } from './destination/address-proof.ts'
import type { RefundDeps } from './refund-deps.ts'
import { lockRefund, type Refund, updateRefund } from './refund-queries.ts'
import { readReturned } from './refund-records.ts'

export const bookingOf = (refund: Pick<Refund, 'companyId' | 'id' | 'orderId'>, at: Date) => ({
  companyId: refund.companyId,
  causeId: refund.id,
  orderId: refund.orderId,
  at,
})

/** It leaves on a chain that is known. */
export const isPaidOnChain = (refund: Refund): boolean => refund.network !== null && leavesOnChain(refund)

/**
 * The account that a refund leaves: money in a company's own wallet is refunded from there, not from the operator's.
 */
function payerOf(payment: Payment): Holder {
  const holder = holderOf(payment)
  return holder === 'payer_clearing' && leavesOnChain(payment) ? 'wallet' : holder
}

/** Undefined: its chain is not set up on this node. */
export const withChainOf = ({ network }: Refund, channel: Channel | undefined): Channel | undefined =>
  network === null || channel?.refundNetworks?.includes(network) !== false ? channel : undefined

/** Locks the order, then its refund: the same lock order everywhere. */
export async function lockRefundWithOrder(
  tx: Tx,
  key: { companyId: string; id: string; orderId: string },
): Promise<{ order: Order; refund: Refund }> {
  const order = await lockOrderById(tx, key.companyId, key.orderId)
  const refund = await lockRefund(tx, key.companyId, key.id)
  if (!order || !refund) throw new AppError('OBJECT_NOT_FOUND')
  return { order, refund }
}

/** Releases what was named for it, except what it follows. */
export async function releaseNamed(tx: Tx, { companyId, id: causeId, network }: Refund): Promise<void> {
  if (network !== null) await releaseClaims(tx, { companyId, network, causeId })
}

type SettledNews = {
  actor: string
  reference: string | null
  txHash: string | null
  providerStatus: string
  /** A person says that the money was sent. */
  isByHand?: true
}

/** Marks a refund as settled: the payer has the money. */
export async function settleRefundIn(
  deps: Pick<RefundDeps, 'clock' | 'transition'>,
  tx: Tx,
  key: Pick<Refund, 'companyId' | 'id' | 'orderId'>,
  news: SettledNews,
): Promise<void> {
  const { order, refund } = await lockRefundWithOrder(tx, key)
  if (refund.status !== 'ready' && refund.status !== 'submitted') return
  const now = new Date(deps.clock())
  const { reference, txHash, providerStatus } = news
  const settledByHand = refund.byHand || news.isByHand === true
  // otherwise the person only confirms what the provider accepted
  const paidElsewhere = settledByHand && (reference === null || reference !== refund.providerReference)
  const change = { reference, txHash, providerStatus, settledByHand, paidElsewhere, nextCheckAt: null }
  await updateRefund(tx, refund, { status: 'settled', ...change }, now)
  await releaseNamed(tx, refund)
  const payment = await findPayment(tx, refund.companyId, refund.paymentId)
  if (!payment) throw new Error(`refund ${refund.id} without its payment`)
  await bookRefundSettled(tx, bookingOf(refund, now), refund.units, payerOf(payment))
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
