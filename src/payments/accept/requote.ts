import { isSoldAlready, isTakenBack, lockPurchase } from '../../companies/button-landing.ts'
import { brokenConstraint, type Queryable, type Tx } from '../../db/db.ts'
import { findEndsHeld } from '../../db/restored-queries.ts'
import { HOUR, MINUTE } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { convert } from '../../kernel/money.ts'
import type { Order } from '../../orders/order.ts'
import { isUnread, type OrderChange } from '../../orders/order-queries.ts'
import { allows, isOpen } from '../../orders/order-states.ts'
import type { Quote } from '../../rates/rate-service.ts'
import { findPayment, type Payment } from '../payment-queries.ts'
import {
  existsMoney,
  existsRival,
  findFirstEnd,
  findQuotedAt,
  findQuotePolicy,
  isShownUnread,
  type RequoteReason,
} from './requote-queries.ts'
import { findSamePayment, type Way } from './same-payment.ts'
import type { AcceptDeps } from './start-payment.ts'

type RequoteDeps = Pick<AcceptDeps, 'db' | 'clock' | 'channels' | 'dustUnits'>

/** A fresh rate, fetched before the transaction, and the reason for it. */
export type FreshQuote = { quote: Quote; reason: RequoteReason }

const isPastExpiry = ({ status, expiresAt }: Order, nowMs: number): boolean =>
  allows(status, 'expire') && expiresAt.getTime() <= nowMs

/** Whether the order is over, even if no job has recorded it yet. */
const hasEnded = (order: Order, nowMs: number): boolean => allows(order.status, 'requote') || isPastExpiry(order, nowMs)

/** Whether the order's time is over, but a payment in time may be in a block that is not read yet. */
export async function isChainBehind(deps: RequoteDeps, order: Order): Promise<boolean> {
  if (order.paymentId === null || !isPastExpiry(order, deps.clock())) return false
  const payment = await findPayment(deps.db, order.companyId, order.paymentId)
  const channel = payment && (await deps.channels.forPayment(payment))
  return channel?.onChain === true && isUnread(deps.db, order, channel.networks)
}

/** The age at which an open payment link takes a fresh rate when it is accepted; null: it keeps its rate. */
async function findLinkQuoteMinutes(q: Queryable, order: Order): Promise<number | null> {
  if (order.alias === null || !isOpen(order.status)) return null
  return (await findQuotePolicy(q, order.companyId)).linkQuoteMinutes
}

/**
 * Whether a payment link takes a fresh rate when this is accepted: its own is older than its company allows. An attempt
 * that is accepted again keeps its price as long from its own beginning, so accepting it twice changes nothing.
 */
async function isLinkStale(deps: RequoteDeps, q: Queryable, order: Order, way: Way): Promise<boolean> {
  const minutes = await findLinkQuoteMinutes(q, order)
  if (minutes === null) return false
  const isOld = (at: Date): boolean => deps.clock() - at.getTime() > minutes * MINUTE
  const at = await findQuotedAt(q, order.quoteId)
  if (at === undefined || !isOld(at)) return false
  const same = await findSamePayment(deps, q, order, way)
  return !same || isOld(same.payment.openedAt)
}

/** What an order's page may promise of its rate. */
export type RateHold = {
  /** Whether it holds until the order expires, whatever the payer chooses. */
  rateHeld: boolean
  /** Until when it holds for the present attempt; null: it is held anyway, or there is none, or that is over. */
  heldUntil: Date | null
}

/** @param shown the attempt whose instructions the payer sees */
export async function findRateHold(deps: RequoteDeps, order: Order, shown: Payment | undefined): Promise<RateHold> {
  const minutes = await findLinkQuoteMinutes(deps.db, order)
  const at = minutes === null ? undefined : await findQuotedAt(deps.db, order.quoteId)
  if (minutes === null || at === undefined) return { rateHeld: true, heldUntil: null }
  const endOf = (from: Date): number => from.getTime() + minutes * MINUTE
  const endsAt = order.expiresAt.getTime()
  if (endOf(at) >= endsAt || (await existsMoney(deps.db, order, deps.dustUnits, 'link')))
    return { rateHeld: true, heldUntil: null }
  const until = shown ? Math.min(endsAt, Math.max(endOf(at), endOf(shown.openedAt))) : 0
  return { rateHeld: false, heldUntil: until > deps.clock() ? new Date(until) : null }
}

type Asked = Way & {
  /** Whether the payer asks for a fresh rate. */
  asked: boolean
}

/**
 * The fresh rate to accept this order at, or null to keep its own. An ended order gets one only on request.
 * @throws INVALID_EXCHANGE_RATE, ORDER_STATE_CONFLICT
 */
export async function findFreshQuote(deps: AcceptDeps, order: Order, ask: Asked): Promise<FreshQuote | null> {
  const reason = hasEnded(order, deps.clock()) ? 'ended' : 'link'
  const wanted = reason === 'ended' ? ask.asked : await isLinkStale(deps, deps.db, order, ask)
  if (wanted && (await isChainBehind(deps, order))) throw new AppError('ORDER_STATE_CONFLICT', { message: UNREAD })
  if (!wanted || (reason === 'link' && (await existsMoney(deps.db, order, deps.dustUnits, reason)))) return null
  const quote = await deps.payers.rates.quote(order.from.asset, { isForOrder: true })
  await deps.payers.rates.store(quote)
  return { quote, reason }
}

const UNREAD =
  'The network is not read up to the order’s last moment yet, so it may be paid. Do not pay again; try again in a minute.'
const REMOVED =
  'The network on which this order was to be paid is not read here any more, so it may be paid. Do not pay again; ' +
  'contact the shop.'
const REPLACED = 'Another order for the same purchase is open or paid. Do not pay this one.'
const RESTORED =
  'The service was restored from a backup after this order was made, so it may be paid already. Do not pay again; try ' +
  'again once the service has compared its orders with the chains.'
const TAKEN_BACK = 'The shop has ended this purchase. Go back to the shop to buy again.'

/** Two orders of one reference were reopened at the same moment: the database lets one of them through. */
export const explainReopening = (error: unknown): unknown =>
  brokenConstraint(error) === 'orders__open_alias' ? new AppError('ORDER_STATE_CONFLICT', { message: REPLACED }) : error

/** Why an ended order gets no fresh rate; null: it may have one. */
async function findRequoteFault(deps: RequoteDeps, q: Queryable, order: Order): Promise<string | null> {
  const held = await findEndsHeld(q)
  if (held && order.createdAt <= held.madeUntil) return RESTORED
  const { requoteHours } = await findQuotePolicy(q, order.companyId)
  const ended = (await findFirstEnd(q, order)) ?? order.expiresAt
  if (deps.clock() - ended.getTime() > requoteHours * HOUR)
    return 'The time to pay this order at a fresh rate is over too. Create a new order.'
  if (await existsMoney(q, order, deps.dustUnits, 'ended'))
    return 'Money for this order has arrived or is on its way, so it gets no fresh rate. See its mispayments.'
  if (await isShownUnread(q, order, deps.channels.operator.find('crypto')?.networks ?? [])) return REMOVED
  if ((await existsRival(q, order)) || (await isSoldAlready({ ...deps, db: q }, order))) return REPLACED
  return (await isTakenBack(q, order)) ? TAKEN_BACK : null
}

/** Whether the payer of an ended order may get it at a fresh rate now. */
export async function canRequote(deps: RequoteDeps, order: Order): Promise<boolean> {
  if (!hasEnded(order, deps.clock()) || (await isChainBehind(deps, order))) return false
  return (await findRequoteFault(deps, deps.db, order)) === null
}

export type Repriced = { order: Order; trigger: 'accept' | 'requote'; change: Omit<OrderChange, 'status'> }

/**
 * The order to accept now, at its own price or at a fresh one. A fresh price reopens an ended order.
 * @throws ORDER_STATE_CONFLICT
 */
export async function repriceOrder(
  deps: AcceptDeps,
  tx: Tx,
  order: Order,
  { fresh, by, ...way }: Way & { fresh: FreshQuote | null; by: { actor: string; requestId: string | null } },
): Promise<Repriced> {
  const now = new Date(deps.clock())
  if (!fresh) return { order, trigger: 'accept', change: {} }
  const { quote } = fresh
  const to = convert(order.from, quote.rate, 'USDC')
  const price = { toUnits: to.units, rate: quote.rate, quoteId: quote.id }
  const priced = { ...order, to, rate: quote.rate, quoteId: quote.id }
  if (!hasEnded(order, now.getTime())) {
    // another accept may have taken a fresh rate meanwhile
    const keeps = !(await isLinkStale(deps, tx, order, way)) || (await existsMoney(tx, order, deps.dustUnits, 'link'))
    return keeps ? { order, trigger: 'accept', change: {} } : { order: priced, trigger: 'accept', change: price }
  }
  if (fresh.reason === 'link') return { order, trigger: 'accept', change: {} }
  await lockPurchase(tx, order)
  const fault = await findRequoteFault(deps, tx, order)
  if (fault !== null) throw new AppError('ORDER_STATE_CONFLICT', { message: fault })
  const ended = allows(order.status, 'requote')
    ? order
    : await deps.transition(tx, order, { ...by, trigger: 'expire', actor: 'time' })
  const expiresAt = new Date(now.getTime() + deps.config.orders.expiryMinutes * MINUTE)
  const { status, version, updatedAt } = ended
  return {
    order: { ...priced, status, version, updatedAt, expiresAt },
    trigger: 'requote',
    change: { ...price, expiresAt },
  }
}
