import { createHash } from 'node:crypto'
import type { Channel, ChannelId } from '../../channels/channel.ts'
import type { ChannelRule } from '../../channels/channel-rules.ts'
import type { Channels } from '../../channels/channel-set.ts'
import type { KycLinks } from '../../compliance/kyc-links.ts'
import { findKycOfOrder } from '../../compliance/kyc-queries.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Money } from '../../kernel/money.ts'
import type { Order } from '../../orders/order.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { isOpen, type OrderStatus } from '../../orders/order-states.ts'
import type { PayerDeps } from '../../payers/payer-service.ts'
import { listOffers } from '../../payments/accept/offers.ts'
import { canRequote, findRateHold, isChainBehind, type RateHold } from '../../payments/accept/requote.ts'
import { keyOf } from '../../payments/accept/start-payment.ts'
import { listMispaymentsOfOrder } from '../../payments/mispayments/mispayment-queries.ts'
import { listPaymentsOfOrder, type Payment } from '../../payments/payment-queries.ts'
import { findEuroRate } from '../../rates/euro.ts'
import { listAskable } from '../../refunds/asked-back/asked-back.ts'
import type { RefundLinks } from '../../refunds/refund-link.ts'
import { listRefundsOfOrder } from '../../refunds/refund-queries.ts'
import type { Facts, Situation } from '../../texts/order-texts.ts'
import type { PayerTokens } from '../shared/payer.ts'
import { readShop, type Shop } from '../shared/shop.ts'
import { type IdentityForm, readIdentityForm } from './identity-fields.ts'
import {
  type PaymentView,
  type Received,
  type RefundView,
  recordsOf,
  shownBy,
  viewPayment,
  viewReceived,
  viewRefund,
} from './pay-money.ts'
import {
  type Attempt,
  arrivedUnits,
  besideComingUnits,
  besideUnits,
  type ChainProgress,
  comingUnits,
  endingOf,
  findConfirming,
  foreignToken,
  isCurrent,
  isFinalSituation,
  type OrderFacts,
  openRefund,
  situationOf,
  surplusUnits,
  uncreditedUnits,
} from './pay-state.ts'

/** One way to pay that the payer may choose. */
export type Choice = {
  channel: ChannelId
  network: { id: number; name: string } | null
  /** The shop's name and position for it. */
  rule: ChannelRule
}

/** Everything that a payer sees of one order, in any language. */
export type PayView = RateHold & {
  /** Changes with everything visible: the event id of the live stream. */
  id: string
  companyId: string
  orderId: string
  code: string
  shortCode: string
  shop: Shop
  goodsName: string | null
  situation: Situation
  status: OrderStatus
  final: boolean
  /** Whether the order can still be paid in time. */
  open: boolean
  /** Whether the payer may get the ended order at a fresh rate. */
  requote: boolean
  /** The time is over, but a payment in time may still be found. */
  chainBehind: boolean
  fiat: Money
  due: Money
  rate: bigint
  expiresAt: Date
  paidAt: Date | null
  refunded: Money
  /** Undecided money of a paid order that did not pay it. */
  surplus: Money
  /** What paid the order, as the receipt says it; before that all undecided money, through every attempt. */
  received: Received
  /** Undecided money from earlier attempts, which does not count towards the price shown. */
  beside: Money
  /** The same on its way. */
  besideComing: Money
  /** Undecided money that reached the current channel, which does not credit it. */
  uncredited: Money
  /** All that providers have seen and not credited yet. */
  coming: Money
  /** The channel of the attempt whose provider confirms what it has seen; null: none does, or a chain. */
  confirms: ChannelId | null
  /** How the order ended if it is not paid. */
  ending: Facts['ending']
  /** Money arrived or is on its way, so the payer cannot cancel. */
  hasMoney: boolean
  /** What any attempt told the payer to pay to: money may be under way that nobody has seen yet. */
  shown: Facts['shown']
  /** Name of another token that arrived instead of USDC. */
  foreignToken: string | null
  /** Without dropped ones, oldest first. */
  refunds: readonly RefundView[]
  choices: readonly Choice[]
  /** Questions that come before the ways to pay. */
  identity: IdentityForm | null
  /** Whether the payer asked for the undecided money that came; null: none did. */
  askBack: 'offered' | 'asked' | null
  payment: PaymentView | null
  /** The receipt of a paid order. */
  receiptUrl: string | null
  returnUrl: string | null
  shopUrl: string | null
  token: string
}

export type PayViewDeps = {
  db: Db
  clock: Clock
  channels: Channels
  payers: PayerDeps
  /** A chain's name as payers know it: "Base". */
  networkName(chainId: number): string
  payerTokens: Pick<PayerTokens, 'of'>
  links: RefundLinks
  receiptUrlOf(order: Order): string
  /** On a chain, a smaller transfer is not shown. */
  dustUnits: bigint
}

export const isOrderCode = (text: string): boolean => /^[0-9A-Za-z]{24}$/.test(text)

/** Leaves out ways to pay that are unavailable now or for this amount; the merchant sees the reason. */
async function listChoices({ channels, networkName, payers }: PayViewDeps, order: Order): Promise<Choice[]> {
  const set = await channels.of(order.companyId)
  const offers = await listOffers(set, { due: order.to, fiat: order.from, euroRate: () => findEuroRate(payers) })
  return offers
    .filter(({ available }) => available)
    .flatMap(({ channel, networks, rule }): Choice[] => {
      if (networks.length === 0 || set.find(channel)?.singleUseLink) return [{ channel, network: null, rule }]
      return networks.map((chainId) => ({ channel, rule, network: { id: chainId, name: networkName(chainId) } }))
    })
}

/**
 * Progress of a payment's transfers; null while there are none. Only on-chain channels are asked, because they read our
 * own tables; others would call their provider for every page view.
 */
async function readProgress(
  { dustUnits }: PayViewDeps,
  channel: Channel | undefined,
  order: Order,
  payment: Payment,
): Promise<ChainProgress | null> {
  const { providerReference } = payment
  if (!channel?.onChain || providerReference === null) return null
  const report = await channel.fetchPayment({ ...keyOf(order, payment), providerReference })
  if (report.outcome !== 'seen') return null
  const { final, pending } = report
  // a receipt, also a signed one, stays when money leaves the chain
  const transfers = order.paidAt === null ? report.transfers : report.transfers.filter((one) => one.final)
  const [first, ...others] = transfers.some((one) => !one.final) ? transfers.filter((one) => !one.final) : transfers
  if (!first) return null
  const byHash = new Map<string, ChainProgress['transactions'][number]>()
  for (const { txHash: hash, network, units } of transfers)
    byHash.set(hash, { hash, network, units: units + (byHash.get(hash)?.units ?? 0n) })
  const youngest = others.reduce((low, one) => (one.confirmations < low.confirmations ? one : low), first)
  return {
    seenUnits: final + pending,
    final: pending === 0n && transfers.every((one) => one.final),
    dust: transfers.every(({ units }) => units < dustUnits),
    confirmations: youngest.confirmations,
    needed: youngest.needed,
    transactions: [...byHash.values()],
  }
}

const OPEN: readonly Situation[] = [
  'choose',
  'unavailable',
  'preparing',
  'providerDown',
  'waiting',
  'partly',
  'onItsWay',
  'wrongToken',
]

/** All attempts to pay the order, oldest first. */
async function readAttempts(deps: PayViewDeps, order: Order) {
  const payments = await listPaymentsOfOrder(deps.db, order.companyId, order.id)
  // no copy that is older than the cache allows: it would show an account that was removed
  if (payments.some(({ ownAccount }) => ownAccount)) await deps.channels.of(order.companyId)
  return Promise.all(
    payments.map(async (payment) => {
      const [channel, offered] = [await deps.channels.forPayment(payment), await deps.channels.forPayer(payment)]
      const progress = await readProgress(deps, channel, order, payment)
      return { payment, accountRemoved: !offered, progress, singleUseLink: channel?.singleUseLink === true }
    }),
  )
}

/** Everything that decides what the page says. */
async function readFacts(deps: PayViewDeps, order: Order) {
  const { db, clock } = deps
  const { companyId, id } = order
  const nowMs = clock()
  const inTime = isOpen(order.status) && order.expiresAt.getTime() > nowMs
  const [attempts, records, refunds, requote, chainBehind] = await Promise.all([
    readAttempts(deps, order),
    listMispaymentsOfOrder(db, companyId, id),
    listRefundsOfOrder(db, companyId, id),
    canRequote(deps, order),
    isChainBehind(deps, order),
  ])
  const choices = inTime || requote ? await listChoices(deps, order) : []
  const counted = attempts.map(({ payment, progress }): Attempt => {
    const own = recordsOf(records, payment)
    const arrived = arrivedUnits(payment, order.paidAt === null ? progress : null, own)
    return { payment, progress, arrived, coming: comingUnits(payment, progress) }
  })
  const current = attempts.find((one) => one.payment.id === order.paymentId)
  const { payment, progress = null, accountRemoved = false } = current ?? {}
  const { arrived = 0n, coming = 0n } = counted.find((one) => isCurrent(order, one.payment)) ?? {}
  const others = counted.filter((one) => !isCurrent(order, one.payment))
  const attempt = { payment, accountRemoved, progress, arrived, coming, others }
  const facts = { order, ...attempt, records, refunds, offered: choices.length, nowMs }
  const isUntouched = arrived + besideUnits(facts) === 0n
  const singleUseLink = current?.singleUseLink === true
  return { facts, choices, singleUseLink, requote: requote && isUntouched && !openRefund(refunds), chainBehind }
}

function askBackOf({ records }: OrderFacts): PayView['askBack'] {
  const askable = listAskable(records)
  if (askable.length === 0) return null
  return askable.every(({ askedBackAt }) => askedBackAt !== null) ? 'asked' : 'offered'
}

/** Changes with everything visible. */
const markOf = ({ order, payment, progress, arrived, coming, others, records, refunds }: OrderFacts): string =>
  [
    ...[order.version, payment?.number, payment?.status, payment?.receivedUnits, arrived, coming],
    progress?.confirmations,
    ...others.flatMap((other) => [other.arrived, other.coming]),
    ...refunds.map(
      ({ status, updatedAt, toSendByHand }) => `${status}${updatedAt.getTime()}${toSendByHand ? 'h' : ''}`,
    ),
    ...records.map(({ status, updatedAt }) => `${status}${updatedAt.getTime()}`),
  ]
    .map((part) => String(part ?? ''))
    .join('.')

/** Changes when the promise about the rate does. */
const holdMark = ({ rateHeld, heldUntil }: RateHold): string => (rateHeld ? '' : `u${heldUntil?.getTime() ?? ''}`)

/** Situations in which the page offers other ways to pay. */
const OFFERS: readonly Situation[] = ['choose', 'preparing', 'providerDown', 'waiting']

/** Whether the payer may choose how to pay. */
const hasWaysIn = (situation: Situation, requote: boolean): boolean => OFFERS.includes(situation) || requote

/** Changes with the visible ways to pay and their texts. */
const choicesMark = (choices: readonly Choice[]): string =>
  createHash('sha256').update(JSON.stringify(choices)).digest('base64url').slice(0, 8)

/** @throws ORDER_NOT_FOUND */
export async function readPayView(deps: PayViewDeps, code: string): Promise<PayView> {
  const { db } = deps
  const order = isOrderCode(code) ? await findOrderByCode(db, code) : undefined
  if (!order) throw new AppError('ORDER_NOT_FOUND')
  const [shop, { facts, choices, singleUseLink, requote, chainBehind }] = await Promise.all([
    readShop(db, order.companyId),
    readFacts(deps, order),
  ])
  const { payment, records, refunds } = facts
  const situation = situationOf(facts)
  const uncredited = uncreditedUnits(facts)
  const paying = payment ? viewPayment(payment, facts, singleUseLink, deps) : null
  const isShown = payment && paying?.instructions && isCurrent(order, payment)
  const hold = await findRateHold(deps, order, isShown ? payment : undefined)
  const held = holdMark(hold)
  const received = viewReceived(deps, facts, paying)
  const besideComing = besideComingUnits(facts)
  const coming = facts.coming + besideComing
  const hasWays = hasWaysIn(situation, requote)
  const identity = hasWays ? await readIdentityForm(deps, order) : null
  const usdc = (units: bigint): Money => ({ asset: order.to.asset, units })
  const offers = hasWays && choicesMark(choices)
  return {
    id: [markOf(facts), situation, identity && 'who', requote && 'again', chainBehind && 'behind', offers, held]
      .map((part) => part || '')
      .join('.'),
    companyId: order.companyId,
    orderId: order.id,
    code: order.code,
    shortCode: order.shortCode,
    shop,
    goodsName: order.goods?.goodsName ?? null,
    situation,
    status: order.status,
    final: isFinalSituation(situation, facts),
    open: OPEN.includes(situation),
    requote,
    chainBehind,
    fiat: order.from,
    due: order.to,
    rate: order.rate,
    ...hold,
    expiresAt: order.expiresAt,
    paidAt: order.paidAt,
    refunded: usdc(order.refundedUnits),
    surplus: usdc(surplusUnits(facts)),
    received,
    beside: usdc(besideUnits(facts) - uncredited),
    besideComing: usdc(besideComing),
    uncredited: usdc(uncredited),
    coming: usdc(coming),
    confirms: findConfirming(facts)?.channel ?? null,
    ending: endingOf(facts),
    hasMoney: received.amount.units + coming > 0n || situation === 'seen' || situation === 'onItsWay',
    shown: shownBy(facts),
    foreignToken: foreignToken(records)?.asset ?? null,
    refunds: refunds
      .filter(({ status }) => status !== 'rejected' && status !== 'refused')
      .map((refund) => viewRefund(deps, facts, refund)),
    choices,
    identity,
    askBack: askBackOf(facts),
    payment: paying,
    receiptUrl: order.paidAt === null ? null : deps.receiptUrlOf(order),
    returnUrl: payment?.returnUrl ?? order.returnUrl,
    shopUrl: payment?.cancelUrl ?? order.cancelUrl ?? order.websiteUrl,
    token: deps.payerTokens.of(order.code),
  }
}

/**
 * Whether the identity check that this link leads to still keeps the order from being paid. A refused one does, too:
 * its page says so.
 */
export async function isCheckOpen(
  { db, kycLinks }: { db: Db; kycLinks: Pick<KycLinks, 'kindOf'> },
  { companyId, orderId, code, situation, requote }: PayView,
  token: string,
): Promise<boolean> {
  if (!hasWaysIn(situation, requote)) return false
  const kyc = await findKycOfOrder(db, companyId, orderId)
  return kyc !== undefined && kyc.status !== 'approved' && kycLinks.kindOf(code, kyc.id, token) !== null
}
