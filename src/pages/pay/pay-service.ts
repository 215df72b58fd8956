import { createHash } from 'node:crypto'
import type { Channel, ChannelId, Instructions } from '../../channels/channel.ts'
import type { ChannelRule } from '../../channels/channel-rules.ts'
import type { Channels } from '../../channels/channel-set.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Money } from '../../kernel/money.ts'
import type { Order } from '../../orders/order.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { isOpen, type OrderStatus } from '../../orders/order-states.ts'
import type { PayerDeps } from '../../payers/payer-service.ts'
import { listOffers } from '../../payments/accept/offers.ts'
import { canRequote, findLinkQuoteMinutes, isChainBehind } from '../../payments/accept/requote.ts'
import { keyOf } from '../../payments/accept/start-payment.ts'
import { listMispaymentsOfOrder, type Mispayment } from '../../payments/mispayments/mispayment-queries.ts'
import { listPaymentsOfOrder, type Payment } from '../../payments/payment-queries.ts'
import { findEuroRate } from '../../rates/euro.ts'
import { listAskable } from '../../refunds/asked-back/asked-back.ts'
import { CHANGE, type RefundLinks } from '../../refunds/refund-link.ts'
import { listRefundsOfOrder, type Refund, type RefundStatus } from '../../refunds/refund-queries.ts'
import type { Situation } from '../../texts/order-texts.ts'
import type { PayerTokens } from '../shared/payer.ts'
import { readShop, type Shop } from '../shared/shop.ts'
import { type IdentityForm, readIdentityForm } from './identity-fields.ts'
import {
  type Attempt,
  arrivedUnits,
  besideUnits,
  type ChainProgress,
  countedTransactions,
  foreignToken,
  isCurrent,
  isFinalSituation,
  type OrderFacts,
  openRefund,
  refundSituation,
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

export type PaymentView = {
  channel: ChannelId
  network: { id: number; name: string } | null
  /** The network where the money arrived, once it did: any of our networks counts, also one that was not chosen. */
  moneyNetwork: { id: number; name: string } | null
  /** Null also where its payer is not sent any more. */
  instructions: Instructions | null
  /** Its link works once, so a fresh one is made when the payer presses the button. */
  singleUseLink: boolean
  due: Money
  arrived: Money
  /** Zero once everything has arrived. */
  missing: Money
  progress: ChainProgress | null
  /** Those whose money counts, oldest first. */
  transactions: ChainProgress['transactions']
}

/** One refund as its payer sees it. */
export type RefundView = {
  status: RefundStatus
  situation: Situation
  amount: Money
  /** Of a paid order: it returned money that the payment does not count, such as a second payment. */
  beside: boolean
  /** Its destination, once that is settled; before, what the shop checks as the payer's own. */
  address: string | null
  network: { id: number; name: string } | null
  txHash: string | null
  /** Where the payer enters or changes the address; null when the link was mailed, or nothing is asked. */
  askUrl: string | null
}

/** Everything that a payer sees of one order, in any language. */
export type PayView = {
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
  /** Whether the order keeps its rate until it expires, whatever the payer chooses. */
  rateHeld: boolean
  expiresAt: Date
  paidAt: Date | null
  refunded: Money
  /** Undecided money of a paid order that did not pay it. */
  surplus: Money
  /** All undecided money that arrived, through every attempt. */
  received: { amount: Money; network: { id: number; name: string } | null; transactions: ChainProgress['transactions'] }
  /** The part of it from earlier attempts, which does not count towards the price shown. */
  beside: Money
  /** The part of it that reached the current channel and that the channel does not credit. */
  uncredited: Money
  /** Money arrived or is on its way, so the payer cannot cancel. */
  hasMoney: boolean
  /** The payer was told where to pay, through any attempt: money may be under way that nobody has seen yet. */
  wasShown: boolean
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

const recordsOf = (records: readonly Mispayment[], { id }: Payment): Mispayment[] =>
  records.filter(({ paymentId }) => paymentId === id)

function viewPayment(
  payment: Payment,
  { progress, arrived, records, accountRemoved }: Omit<OrderFacts, 'others' | 'payment'>,
  singleUseLink: boolean,
  { networkName }: PayViewDeps,
): PaymentView {
  const named = (id: number | null) => (id === null ? null : { id, name: networkName(id) })
  const transactions = countedTransactions(progress, recordsOf(records, payment))
  const missing = payment.dueUnits > arrived ? payment.dueUnits - arrived : 0n
  return {
    channel: payment.channel,
    network: named(payment.network),
    moneyNetwork: named((transactions[0] ?? progress?.transactions[0])?.network ?? payment.network),
    // nobody is sent to a place that is not the shop's any more
    instructions: accountRemoved ? null : payment.instructions,
    due: { asset: 'USDC', units: payment.dueUnits },
    arrived: { asset: 'USDC', units: arrived },
    missing: { asset: 'USDC', units: missing },
    ...{ progress, transactions, singleUseLink },
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

function viewRefund(
  { links, networkName }: PayViewDeps,
  { order, records }: Pick<OrderFacts, 'order' | 'records'>,
  refund: Refund,
): RefundView {
  const { status, network, units, id } = refund
  const record = records.find((one) => one.id === refund.mispaymentId)
  const counted = !record || (record.kind === 'over' && record.paymentId === order.paymentId)
  const situation = refundSituation(refund)
  const asks = situation === 'refundAddress' || situation === 'refundCheck'
  return {
    status,
    situation,
    amount: { asset: order.to.asset, units },
    beside: order.paidAt !== null && !counted,
    address: situation === 'refundCheck' ? refund.proposedAddress : refund.address,
    network: network === null ? null : { id: network, name: networkName(network) },
    txHash: refund.txHash,
    // if the mailed link were shown here, anyone with the order's URL could answer for the payer
    askUrl: asks ? `${links.urlOf(order.code, id, 'handed')}${situation === 'refundCheck' ? CHANGE : ''}` : null,
  }
}

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
    return { payment, progress, arrived: arrivedUnits(payment, order.paidAt === null ? progress : null, own) }
  })
  const current = attempts.find((one) => one.payment.id === order.paymentId)
  const { payment, progress = null, accountRemoved = false } = current ?? {}
  const arrived = counted.find((one) => isCurrent(order, one.payment))?.arrived ?? 0n
  const others = counted.filter((one) => !isCurrent(order, one.payment))
  const attempt = { payment, accountRemoved, progress, arrived, others }
  const facts = { order, ...attempt, records, refunds, offered: choices.length, nowMs }
  const isUntouched = arrived + besideUnits(facts) === 0n
  const singleUseLink = current?.singleUseLink === true
  return { facts, choices, singleUseLink, requote: requote && isUntouched && !openRefund(refunds), chainBehind }
}

/** What arrived, through every attempt; the network of the oldest transaction. */
function viewReceived({ networkName }: PayViewDeps, facts: OrderFacts): PayView['received'] {
  const { order, payment, progress, arrived, others } = facts
  const transactions = [...others.map((other) => other.progress), progress].flatMap((one) => one?.transactions ?? [])
  const network = transactions[0]?.network ?? payment?.network ?? null
  return {
    amount: { asset: order.to.asset, units: arrived + besideUnits(facts) },
    network: network === null ? null : { id: network, name: networkName(network) },
    transactions: [...new Map(transactions.map((one) => [one.hash, one])).values()],
  }
}

function askBackOf({ records }: OrderFacts): PayView['askBack'] {
  const askable = listAskable(records)
  if (askable.length === 0) return null
  return askable.every(({ askedBackAt }) => askedBackAt !== null) ? 'asked' : 'offered'
}

/** Changes with everything visible. */
const markOf = ({ order, payment, progress, arrived, others, records, refunds }: OrderFacts): string =>
  [
    ...[order.version, payment?.number, payment?.status, payment?.receivedUnits, arrived, progress?.confirmations],
    ...others.map((other) => other.arrived),
    ...refunds.map(
      ({ status, updatedAt, toSendByHand }) => `${status}${updatedAt.getTime()}${toSendByHand ? 'h' : ''}`,
    ),
    ...records.map(({ status, updatedAt }) => `${status}${updatedAt.getTime()}`),
  ]
    .map((part) => String(part ?? ''))
    .join('.')

/** Situations in which the page offers other ways to pay. */
const OFFERS: readonly Situation[] = ['choose', 'preparing', 'providerDown', 'waiting']

/** Changes with the visible ways to pay and their texts. */
const choicesMark = (choices: readonly Choice[]): string =>
  createHash('sha256').update(JSON.stringify(choices)).digest('base64url').slice(0, 8)

/** @throws ORDER_NOT_FOUND */
export async function readPayView(deps: PayViewDeps, code: string): Promise<PayView> {
  const { db } = deps
  const order = isOrderCode(code) ? await findOrderByCode(db, code) : undefined
  if (!order) throw new AppError('ORDER_NOT_FOUND')
  const [shop, { facts, choices, singleUseLink, requote, chainBehind }, quoteMinutes] = await Promise.all([
    readShop(db, order.companyId),
    readFacts(deps, order),
    findLinkQuoteMinutes(db, order),
  ])
  const { payment, records, refunds } = facts
  const situation = situationOf(facts)
  const uncredited = uncreditedUnits(facts)
  const received = viewReceived(deps, facts)
  const hasWays = OFFERS.includes(situation) || requote
  const identity = hasWays ? await readIdentityForm(deps, order) : null
  const usdc = (units: bigint): Money => ({ asset: order.to.asset, units })
  const offers = hasWays && choicesMark(choices)
  return {
    id: [markOf(facts), situation, identity && 'who', requote && 'again', chainBehind && 'behind', offers]
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
    rateHeld: quoteMinutes === null || (payment?.instructions != null && isCurrent(order, payment)),
    expiresAt: order.expiresAt,
    paidAt: order.paidAt,
    refunded: usdc(order.refundedUnits),
    surplus: usdc(surplusUnits(facts)),
    received,
    beside: usdc(besideUnits(facts) - uncredited),
    uncredited: usdc(uncredited),
    hasMoney: received.amount.units > 0n || situation === 'seen' || situation === 'onItsWay',
    wasShown: [payment, ...facts.others.map((other) => other.payment)].some((one) => one?.instructions != null),
    foreignToken: foreignToken(records)?.asset ?? null,
    refunds: refunds
      .filter(({ status }) => status !== 'rejected' && status !== 'refused')
      .map((refund) => viewRefund(deps, facts, refund)),
    choices,
    identity,
    askBack: askBackOf(facts),
    payment: payment ? viewPayment(payment, facts, singleUseLink, deps) : null,
    receiptUrl: order.paidAt === null ? null : deps.receiptUrlOf(order),
    returnUrl: payment?.returnUrl ?? order.returnUrl,
    shopUrl: payment?.cancelUrl ?? order.cancelUrl ?? order.websiteUrl,
    token: deps.payerTokens.of(order.code),
  }
}
