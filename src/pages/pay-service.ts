import type { ChannelId, Instructions } from '../channels/channel.ts'
import type { Channels } from '../channels/registry.ts'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { AppError } from '../errors.ts'
import type { Money } from '../money.ts'
import { findOrderByCode } from '../orders/order-queries.ts'
import { findPayment, type Payment } from '../payments/payment-queries.ts'
import { findMerchantName } from './pay-queries.ts'
import { arrivedUnits, type ChainProgress, isFinalState, type PayState, stateOf } from './pay-state.ts'
import { payerToken } from './payer.ts'

/** What the pages ask about chains. */
export type ChainWindow = {
  /** A name that payers know: "Base". */
  nameOf(chainId: number): string
  /** Null when nothing was seen, or the payment is not on a chain. */
  progressOf(payment: Payment): Promise<ChainProgress | null>
}

/** One way to pay that the payer may choose. */
export type Choice = { channel: ChannelId; network: { id: number; name: string } | null }

export type PaymentView = {
  channel: ChannelId
  network: { id: number; name: string } | null
  instructions: Instructions | null
  due: Money
  arrived: Money
  /** Zero once all of it is there. */
  missing: Money
  progress: ChainProgress | null
}

/** Everything that a payer sees of one order, in any language. */
export type PayView = {
  /** Changes with everything that shows: the event id of the live stream. */
  id: string
  code: string
  shortCode: string
  merchant: string
  goodsName: string | null
  state: PayState
  final: boolean
  /** Whether the order can still be paid in time. */
  open: boolean
  fiat: Money
  due: Money
  rate: bigint
  expiresAt: Date
  paidAt: Date | null
  refunded: Money
  choices: readonly Choice[]
  payment: PaymentView | null
  returnUrl: string | null
  shopUrl: string | null
  token: string
}

export type PayViewDeps = { db: Db; clock: Clock; channels: Channels; chain: ChainWindow; payerKey: Buffer }

export const isOrderCode = (text: string): boolean => /^[0-9A-Za-z]{24}$/.test(text)

function listChoices(channels: Channels, chain: ChainWindow): Choice[] {
  return channels.available.flatMap((id): Choice[] => {
    const networks = channels.find(id)?.networks ?? []
    if (networks.length === 0) return [{ channel: id, network: null }]
    return networks.map((chainId) => ({ channel: id, network: { id: chainId, name: chain.nameOf(chainId) } }))
  })
}

function viewPayment(payment: Payment, progress: ChainProgress | null, chain: ChainWindow): PaymentView {
  const arrived = arrivedUnits(payment, progress)
  const missing = payment.dueUnits > arrived ? payment.dueUnits - arrived : 0n
  return {
    channel: payment.channel,
    network: payment.network === null ? null : { id: payment.network, name: chain.nameOf(payment.network) },
    instructions: payment.instructions,
    due: { asset: 'USDC', units: payment.dueUnits },
    arrived: { asset: 'USDC', units: arrived },
    missing: { asset: 'USDC', units: missing },
    progress,
  }
}

/** @throws ORDER_NOT_FOUND */
export async function readPayView(deps: PayViewDeps, code: string): Promise<PayView> {
  const { db, chain, channels } = deps
  const order = isOrderCode(code) ? await findOrderByCode(db, code) : undefined
  if (!order) throw new AppError('ORDER_NOT_FOUND')
  const [merchant, payment] = await Promise.all([
    findMerchantName(db, order.companyId),
    order.paymentId === null ? undefined : findPayment(db, order.companyId, order.paymentId),
  ])
  const progress = payment?.network ? await chain.progressOf(payment) : null
  const now = deps.clock()
  const state = stateOf(order, payment, progress, now)
  const marks = [order.version, payment?.number, payment?.status, payment?.receivedUnits]
  const moving = [progress?.seenUnits, progress?.confirmations, state]
  return {
    id: [...marks, ...moving].map((part) => String(part ?? '')).join('.'),
    code: order.code,
    shortCode: order.shortCode,
    merchant: merchant ?? '',
    goodsName: order.goods?.goodsName ?? null,
    state,
    final: isFinalState(state, order, payment, now),
    open: ['choose', 'preparing', 'waiting', 'partly'].includes(state),
    fiat: order.from,
    due: order.to,
    rate: order.rate,
    expiresAt: order.expiresAt,
    paidAt: order.paidAt,
    refunded: { asset: order.to.asset, units: order.refundedUnits },
    choices: listChoices(channels, chain),
    payment: payment ? viewPayment(payment, progress, chain) : null,
    returnUrl: payment?.returnUrl ?? order.returnUrl,
    shopUrl: payment?.cancelUrl ?? order.cancelUrl ?? order.websiteUrl,
    token: payerToken(deps.payerKey, order.code),
  }
}
