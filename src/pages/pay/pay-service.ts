import type { ChannelId, Instructions } from '../../channels/channel.ts'
import type { Channels } from '../../channels/channel-set.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Money } from '../../kernel/money.ts'
import type { Order } from '../../orders/order.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { isOpen } from '../../orders/order-states.ts'
import type { PayerDeps } from '../../payers/payer-service.ts'
import { listOffers } from '../../payments/accept/offers.ts'
import { keyOf } from '../../payments/accept/start-payment.ts'
import { listMispaymentsOfPayment } from '../../payments/mispayments/mispayment-queries.ts'
import { findPayment, type Payment } from '../../payments/payment-queries.ts'
import type { PayState } from '../../texts/page-texts.ts'
import { payerToken } from '../shared/payer.ts'
import { findMerchantName } from '../shared/payer-page-queries.ts'
import { type IdentityForm, readIdentityForm } from './identity-fields.ts'
import { arrivedUnits, type ChainProgress, isFinalState, stateOf } from './pay-state.ts'

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
  /** Changes with everything visible: the event id of the live stream. */
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
  /** Asked before a way to pay can be chosen. */
  identity: IdentityForm | null
  payment: PaymentView | null
  returnUrl: string | null
  shopUrl: string | null
  token: string
}

export type PayViewDeps = {
  db: Db
  clock: Clock
  channels: Channels
  payers: PayerDeps
  /** A chain's name that payers know: "Base". */
  networkName(chainId: number): string
  payerKey: Buffer
  /** On a chain, a transfer of less than this is not shown. */
  dustUnits: bigint
}

export const isOrderCode = (text: string): boolean => /^[0-9A-Za-z]{24}$/.test(text)

/** Leaves out ways that are unavailable now or for this amount; the merchant sees the reason. */
async function listChoices({ channels, networkName }: PayViewDeps, order: Order): Promise<Choice[]> {
  const set = await channels.of(order.companyId)
  const offers = await listOffers(set, { due: order.to, fiat: order.from })
  return offers
    .filter(({ available }) => available)
    .flatMap(({ channel, networks }): Choice[] => {
      if (networks.length === 0 || set.find(channel)?.singleUseLink) return [{ channel, network: null }]
      return networks.map((chainId) => ({ channel, network: { id: chainId, name: networkName(chainId) } }))
    })
}

/**
 * How far the transfers of a payment are; null while there are none. Only channels on a chain are asked: their answer
 * comes from our own tables, others would call their provider for every page view.
 */
async function readProgress(
  { channels, dustUnits }: PayViewDeps,
  order: Order,
  payment: Payment,
): Promise<ChainProgress | null> {
  const { providerReference } = payment
  const channel = await channels.forPayment(payment)
  if (!channel?.onChain || providerReference === null) return null
  const report = await channel.fetchPayment({ ...keyOf(order, payment), providerReference })
  if (report.outcome !== 'seen') return null
  const { transfers, final, pending } = report
  const [first, ...others] = transfers.some((one) => !one.final) ? transfers.filter((one) => !one.final) : transfers
  if (!first) return null
  const youngest = others.reduce((low, one) => (one.confirmations < low.confirmations ? one : low), first)
  return {
    seenUnits: final + pending,
    dust: transfers.every(({ units }) => units < dustUnits),
    confirmations: youngest.confirmations,
    needed: youngest.needed,
    transactions: [...new Set(transfers.map(({ txHash }) => txHash))],
  }
}

function viewPayment(
  payment: Payment,
  { progress, arrived }: { progress: ChainProgress | null; arrived: bigint },
  { networkName }: PayViewDeps,
): PaymentView {
  const missing = payment.dueUnits > arrived ? payment.dueUnits - arrived : 0n
  return {
    channel: payment.channel,
    network: payment.network === null ? null : { id: payment.network, name: networkName(payment.network) },
    instructions: payment.instructions,
    due: { asset: 'USDC', units: payment.dueUnits },
    arrived: { asset: 'USDC', units: arrived },
    missing: { asset: 'USDC', units: missing },
    progress,
  }
}

/** @throws ORDER_NOT_FOUND */
export async function readPayView(deps: PayViewDeps, code: string): Promise<PayView> {
  const { db } = deps
  const order = isOrderCode(code) ? await findOrderByCode(db, code) : undefined
  if (!order) throw new AppError('ORDER_NOT_FOUND')
  const [merchant, payment] = await Promise.all([
    findMerchantName(db, order.companyId),
    order.paymentId === null ? undefined : findPayment(db, order.companyId, order.paymentId),
  ])
  const [progress, records, choices] = await Promise.all([
    payment ? readProgress(deps, order, payment) : null,
    payment ? listMispaymentsOfPayment(db, order.companyId, payment.id) : [],
    isOpen(order.status) ? listChoices(deps, order) : [],
  ])
  const now = deps.clock()
  const arrived = payment ? arrivedUnits(payment, progress, records) : 0n
  const state = stateOf(order, payment, arrived, now)
  const identity = state === 'choose' ? await readIdentityForm(deps, order) : null
  const marks = [order.version, payment?.number, payment?.status, payment?.receivedUnits]
  const moving = [arrived, progress?.confirmations, state, identity && 'who']
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
    choices,
    identity,
    payment: payment ? viewPayment(payment, { progress, arrived }, deps) : null,
    returnUrl: payment?.returnUrl ?? order.returnUrl,
    shopUrl: payment?.cancelUrl ?? order.cancelUrl ?? order.websiteUrl,
    token: payerToken(deps.payerKey, order.code),
  }
}
