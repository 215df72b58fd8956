import type { ChannelId, PaymentKey } from '../../channels/channel.ts'
import type { Channels } from '../../channels/channel-set.ts'
import type { PayerGate } from '../../compliance/payer-gate.ts'
import type { Config } from '../../config/config.ts'
import type { Db, Tx } from '../../db/db.ts'
import { type Clock, HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { Order } from '../../orders/order.ts'
import type { OrderChange } from '../../orders/order-queries.ts'
import type { TransitionOrder } from '../../orders/order-transition.ts'
import type { PayerDeps } from '../../payers/payer-service.ts'
import { countPayments, findPayment, insertPayment, type NewPayment, type Payment } from '../payment-queries.ts'
import { findHold } from './requote-queries.ts'

export type AcceptDeps = {
  db: Db
  clock: Clock
  vault: Vault
  config: Pick<Config, 'orders' | 'baseUrl'>
  channels: Channels
  transition: TransitionOrder
  payers: PayerDeps
  /** On a chain, a smaller transfer does not move the order. */
  dustUnits: bigint
  /** Identity checks and spending limits. */
  gate: PayerGate
}

/** Longer than the provider's timeout: until then the creation is in progress and must not be repeated. */
const FIRST_CHECK_MS = 15 * SECOND

export type NewAttempt = {
  choice: { own: boolean } & Pick<
    NewPayment,
    | 'channel'
    | 'accountMark'
    | 'network'
    | 'userAddress'
    | 'userAddressBy'
    | 'pos'
    | 'pastOrders'
    | 'cancelUrl'
    | 'returnUrl'
  >
  move: {
    actor: string
    requestId: string | null
    trigger?: 'accept' | 'requote'
    change?: Omit<OrderChange, 'status'>
  }
}

/** Stores the payment and points the order to it before the provider is called, so that a crash loses neither. */
export async function startPayment(
  deps: AcceptDeps,
  tx: Tx,
  order: Order,
  { choice, move }: NewAttempt,
): Promise<{ order: Order; payment: Payment }> {
  const now = new Date(deps.clock())
  const number = (await countPayments(tx, order.companyId, order.id)) + 1
  const id = newId(now.getTime())
  const { own, ...fields } = choice
  await insertPayment(tx, {
    ...fields,
    companyId: order.companyId,
    id,
    orderId: order.id,
    number,
    ownAccount: own,
    merchantReference: `${order.id}${String(number).padStart(2, '0')}`,
    dueUnits: order.to.units,
    nextCheckAt: new Date(now.getTime() + FIRST_CHECK_MS),
    at: now,
  })
  const moved = await pointOrder(deps, tx, order, { channel: choice.channel, paymentId: id, move })
  const payment = await findPayment(tx, order.companyId, id)
  if (!payment) throw new Error('the payment was not stored')
  return { order: moved, payment }
}

type Chosen = { channel: ChannelId; move: NewAttempt['move'] }

/** The order is paid through this attempt from now on. */
export async function pointOrder(
  deps: AcceptDeps,
  tx: Tx,
  order: Order,
  { paymentId, ...chosen }: Chosen & { paymentId: string },
): Promise<Order> {
  const { channel, move } = chosen
  const expiresAt = await longerExpiry(deps, tx, order, chosen)
  const change = { ...move.change, paymentChannel: channel, paymentId, ...(expiresAt && { expiresAt }) }
  return deps.transition(tx, order, { trigger: 'accept', ...move, change })
}

/** A payer who chooses a way in the order's last seconds still needs time to open an app and pay. */
const LEAST_MINUTES = 2
/** From the first choice on, or beyond the order's own end: who goes on choosing does not keep the price for ever. */
const LONGEST_HOLD_MS = HOUR

const neededMinutes = ({ channelMinutes, chainExpiryMinutes }: Config['orders'], channel: ChannelId): number =>
  Math.max(channelMinutes[channel] ?? 0, channel === 'crypto' ? chainExpiryMinutes : 0, LEAST_MINUTES)

/** Latest expiry of a payment through this channel; null: no later than that of its order. */
async function longerExpiry(
  { clock, config }: AcceptDeps,
  tx: Tx,
  order: Order,
  { channel, move: { change } }: Chosen,
): Promise<Date | null> {
  const expiresAt = change?.expiresAt ?? order.expiresAt
  const neededMs = neededMinutes(config.orders, channel) * MINUTE
  const needed = clock() + neededMs
  if (needed <= expiresAt.getTime()) return null
  // the first choice at this price
  if (change?.quoteId !== undefined || order.paymentId === null) return new Date(needed)
  const { chosenAt, endsAt } = await findHold(tx, order)
  const longest = Math.max((chosenAt?.getTime() ?? clock()) + LONGEST_HOLD_MS, (endsAt?.getTime() ?? 0) + neededMs)
  const latest = Math.min(needed, longest)
  return latest > expiresAt.getTime() ? new Date(latest) : null
}

export const keyOf = (order: Order, payment: Payment): PaymentKey => ({
  companyId: order.companyId,
  // for a second payment under one reference, a hyphen and the provider's id are appended
  merchantReference: payment.merchantReference.replace(/-.*$/s, ''),
  providerReference: payment.providerReference,
  network: payment.network,
  tokenAddress: payment.tokenAddress,
  due: { asset: 'USDC', units: payment.dueUnits },
  fiat: order.from,
  expiresAt: order.expiresAt,
})
