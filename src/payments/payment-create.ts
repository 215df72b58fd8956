import type { Channel, ChannelId, Instructions, PaymentKey, PaymentRequest } from '../channels/channel.ts'
import { isForOperator, ProviderRefusal } from '../channels/provider-errors.ts'
import { askProvider, type Channels, type PaymentAccount, unavailable } from '../channels/registry.ts'
import type { PayerGate } from '../compliance/payer-gate.ts'
import type { Config } from '../config/config.ts'
import type { Db, Tx } from '../db/db.ts'
import { LeaseLost, pollNow } from '../db/polling.ts'
import { type Clock, MINUTE } from '../kernel/clock.ts'
import { crashPoint } from '../kernel/crash-point.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Order } from '../orders/order.ts'
import { findOrderById, lockOrderById, type OrderChange } from '../orders/order-queries.ts'
import { allows } from '../orders/order-states.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'
import type { PayerDeps } from '../payers/payer-service.ts'
import {
  countPayments,
  findPayment,
  insertPayment,
  lockPayment,
  type NewPayment,
  PAYMENT_POLLS,
  type Payment,
  updatePayment,
  updatePaymentInstructions,
  updatePaymentLinks,
  updatePaymentNextCheck,
  updatePaymentReference,
} from './payment-queries.ts'
import { nextCheckDelayMs } from './payment-rules.ts'

export type AcceptDeps = {
  db: Db
  clock: Clock
  vault: Vault
  config: Pick<Config, 'orders' | 'baseUrl'>
  channels: Channels
  transition: TransitionOrder
  payers: PayerDeps
  /** On a chain, a transfer of less than this moves no order. */
  dustUnits: bigint
  /** Identity checks and spending limits. */
  gate: PayerGate
}

export type Accepted = { paymentChannel: string; status: string; expiresAt: string } & Instructions

/** Longer than a provider may take to answer: until then a creation is under way and not repeated. */
const FIRST_CHECK_MS = 15_000
/** How long a repeated accept waits for the answer to the first one. */
const WAIT_MS = 8_000

const instructionsOf = (order: Order, channel: ChannelId, instructions: Instructions): Accepted => ({
  paymentChannel: channel,
  status: order.status,
  expiresAt: order.expiresAt.toISOString(),
  ...instructions,
})

type NewAttempt = {
  choice: { own: boolean } & Pick<
    NewPayment,
    'channel' | 'network' | 'userAddress' | 'userAddressBy' | 'pastOrders' | 'cancelUrl' | 'returnUrl'
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
  const change = { ...move.change, paymentChannel: choice.channel, paymentId: id }
  const moved = await deps.transition(tx, order, { trigger: 'accept', ...move, change })
  const payment = await findPayment(tx, order.companyId, id)
  if (!payment) throw new Error('the payment was not stored')
  return { order: moved, payment }
}

export const keyOf = (order: Order, payment: Payment): PaymentKey => ({
  companyId: order.companyId,
  // an unmatched payment appends its provider's id
  merchantReference: payment.merchantReference.slice(0, 26),
  providerReference: payment.providerReference,
  network: payment.network,
  due: { asset: 'USDC', units: payment.dueUnits },
  fiat: order.from,
  expiresAt: order.expiresAt,
})

type Payer = { email: string | null; ip: string | null }
const NOBODY: Payer = { email: null, ip: null }

function requestOf(deps: AcceptDeps, order: Order, payment: Payment, payer: Payer): PaymentRequest {
  return {
    ...keyOf(order, payment),
    description: order.goods?.goodsName ?? `Order ${order.shortCode}`,
    goods: order.goods,
    returnUrl: payment.returnUrl ?? order.returnUrl,
    cancelUrl: payment.cancelUrl ?? order.cancelUrl,
    payerEmail: payer.email,
    payerIp: payer.ip,
    userAddress: payment.userAddress,
    callbackUrl: callbackUrlOf(deps.config.baseUrl, payment),
  }
}

/** Stores the instructions and moves the order to AWAITING in one transaction. */
async function forward(
  deps: AcceptDeps,
  { payment, requestId }: Pick<ChannelCall, 'payment' | 'requestId'>,
  instructions: Instructions & { providerReference: string },
  finish: Finish,
): Promise<Accepted> {
  return deps.db.tx(async (tx) => {
    const order = await lockOrderById(tx, payment.companyId, payment.orderId)
    const current = await lockPayment(tx, payment.companyId, payment.id)
    if (!order || !current) throw new AppError('ORDER_NOT_FOUND')
    const now = new Date(deps.clock())
    const nextCheckAt = new Date(now.getTime() + nextCheckDelayMs(0))
    if (current.status === 'creating') await updatePaymentInstructions(tx, current, instructions, { nextCheckAt, now })
    const mine = order.paymentId === payment.id
    const moved =
      mine && allows(order.status, 'forward')
        ? await forwardOrder(deps, tx, order, { channel: payment.channel, requestId, now })
        : order
    const accepted = instructionsOf(moved, payment.channel, current.instructions ?? instructions)
    await finish(tx, accepted)
    return accepted
  })
}

function forwardOrder(
  deps: AcceptDeps,
  tx: Tx,
  order: Order,
  { channel, requestId, now }: { channel: ChannelId; requestId: string | null; now: Date },
): Promise<Order> {
  const chainExpiry = new Date(now.getTime() + deps.config.orders.chainExpiryMinutes * MINUTE)
  const extend = channel === 'crypto' && order.expiresAt < chainExpiry ? { change: { expiresAt: chainExpiry } } : {}
  return deps.transition(tx, order, { trigger: 'forward', actor: `channel:${channel}`, requestId, ...extend })
}

/** The callback address of a payment’s provider. */
export const callbackUrlOf = (baseUrl: string, { channel, companyId, ownAccount }: PaymentAccount): string =>
  `${baseUrl}/api/next/channels/${channel}/callback${ownAccount ? `/${companyId}` : ''}`

/** The provider refused: the payment failed, and the order may be paid another way. */
async function recordProviderRefusal(deps: AcceptDeps, payment: Payment, words: string): Promise<void> {
  await deps.db.tx(async (tx) => {
    const current = await lockPayment(tx, payment.companyId, payment.id)
    if (current?.status !== 'creating') return
    await updatePayment(tx, current, { status: 'failed', words, nextCheckAt: null }, new Date(deps.clock()))
  })
}

/**
 * Waits for the provider. Reports its refusal; anything else leaves the payment to the next poll.
 * @throws CHANNEL_NOT_AVAILABLE, CHANNEL_UNAVAILABLE
 */
async function askFor<Answer>(deps: AcceptDeps, payment: Payment, ask: Promise<Answer>): Promise<Answer> {
  try {
    return await ask
  } catch (error) {
    if (error instanceof ProviderRefusal) {
      await recordProviderRefusal(deps, payment, error.message)
      // a fault for the operator to fix: the payer may try again soon
      if (isForOperator(error.reason)) throw unavailable(error)
      const message = `${payment.channel} refused this payment: ${error.message}. Choose another channel.`
      throw new AppError('CHANNEL_NOT_AVAILABLE', { message, cause: error })
    }
    await updatePaymentNextCheck(deps.db, payment, new Date(deps.clock() + nextCheckDelayMs(payment.checks)))
    throw unavailable(error)
  }
}

type Finish = (tx: Tx, accepted: Accepted) => Promise<void>
export type ChannelCall = { channel: Channel; order: Order; payment: Payment; payer: Payer; requestId: string | null }

async function create(deps: AcceptDeps, called: ChannelCall, finish: Finish): Promise<Accepted> {
  const { channel, order, payment, payer } = called
  const request = requestOf(deps, order, payment, payer)
  const instructions = await askFor(deps, payment, channel.createPayment(request))
  crashPoint('accept:after-provider')
  return forward(deps, called, instructions, finish)
}

/** The earlier creation exists but cannot be paid: closes it and starts a payment with a new reference. */
async function replacePayment(deps: AcceptDeps, called: ChannelCall, lost: string, finish: Finish): Promise<Accepted> {
  const { channel, payment: old } = called
  const attempt = await deps.db.tx(async (tx) => {
    const order = await lockOrderById(tx, old.companyId, old.orderId)
    const current = await lockPayment(tx, old.companyId, old.id)
    if (!order || current?.status !== 'creating') throw new AppError('CHANNEL_UNAVAILABLE', { retryAfter: 5 })
    const now = new Date(deps.clock())
    await updatePaymentReference(tx, current, lost)
    const words = 'its links could not be had again'
    await updatePayment(tx, current, { status: 'closing', words, nextCheckAt: now }, now)
    if (order.paymentId !== old.id || !allows(order.status, 'accept')) return undefined
    const { network, userAddress, userAddressBy, cancelUrl, returnUrl, ownAccount: own } = current
    const place = { channel: channel.id, own, network, cancelUrl, returnUrl }
    const choice = { ...place, userAddress, userAddressBy, pastOrders: null }
    const move = { actor: `channel:${channel.id}`, requestId: called.requestId }
    return startPayment(deps, tx, order, { choice, move })
  })
  if (!attempt) throw new AppError('ORDER_STATE_CONFLICT')
  return create(deps, { ...called, ...attempt }, finish)
}

/** Asks about an unanswered creation before repeating it, so that the provider holds one order only. */
async function recover(deps: AcceptDeps, called: ChannelCall, finish: Finish): Promise<Accepted> {
  const { channel, order, payment, payer } = called
  if (!channel.recoverPayment) return create(deps, called, finish)
  const found = await askFor(deps, payment, channel.recoverPayment(requestOf(deps, order, payment, payer)))
  if (found.outcome === 'absent') return create(deps, called, finish)
  if (found.outcome === 'lost') return replacePayment(deps, called, found.providerReference, finish)
  return forward(deps, called, found.instructions, finish)
}

/** Fetches a new single-use link to the same payment. */
async function refreshLink(deps: AcceptDeps, called: ChannelCall, finish: Finish): Promise<Accepted> {
  const { channel, order, payment, payer } = called
  const fresh = await askProvider(channel.createPayment(requestOf(deps, order, payment, payer)))
  const accepted = instructionsOf(order, channel.id, fresh)
  await deps.db.tx(async (tx) => {
    await updatePaymentLinks(tx, payment, fresh)
    await finish(tx, accepted)
  })
  return accepted
}

/** Another request is asking the provider: waits for its answer, even one for another payment of the order. */
async function waitForAnswer(deps: AcceptDeps, called: ChannelCall, finish: Finish): Promise<Accepted> {
  const { companyId, orderId, channel } = called.payment
  for (let waited = 0; waited < WAIT_MS; waited += 200) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const order = await findOrderById(deps.db, companyId, orderId)
    const payment = order?.paymentId ? await findPayment(deps.db, companyId, order.paymentId) : undefined
    if (!order || payment?.channel !== channel || payment.status === 'failed') break
    if (payment.instructions === null) continue
    const accepted = instructionsOf(order, channel, payment.instructions)
    await deps.db.tx((tx) => finish(tx, accepted))
    return accepted
  }
  throw new AppError('CHANNEL_UNAVAILABLE', { retryAfter: 5 })
}

/** Polls the payment ahead of the engine. Undefined: another request holds it. */
async function recoverNow(deps: AcceptDeps, called: ChannelCall, finish: Finish): Promise<Accepted | undefined> {
  try {
    const taken = await pollNow(deps, PAYMENT_POLLS, called.payment, (db) => recover({ ...deps, db }, called, finish))
    return taken?.result
  } catch (error) {
    throw error instanceof LeaseLost ? unavailable(error) : error
  }
}

/** Creates the payment at its provider: once, even after earlier tries. */
export async function createAtProvider(
  deps: AcceptDeps,
  called: ChannelCall,
  fresh: boolean,
  finish: Finish,
): Promise<Accepted> {
  const { channel, order, payment } = called
  if (fresh) return create(deps, called, finish)
  // deposit addresses are ours: asking twice is safe
  if (payment.status === 'creating' && channel.onChain) return create(deps, called, finish)
  if (payment.status === 'creating') {
    return (await recoverNow(deps, called, finish)) ?? waitForAnswer(deps, called, finish)
  }
  if (channel.singleUseLink && payment.status === 'awaiting') return refreshLink(deps, called, finish)
  if (payment.instructions === null) throw new AppError('CHANNEL_UNAVAILABLE', { retryAfter: 5 })
  const accepted = instructionsOf(order, channel.id, payment.instructions)
  await deps.db.tx((tx) => finish(tx, accepted))
  return accepted
}

/** Retries an unanswered creation from a job. The provider’s refusal ends it. */
export async function resumePayment(deps: AcceptDeps, { companyId, id, orderId }: Payment): Promise<void> {
  const [order, payment] = await Promise.all([
    findOrderById(deps.db, companyId, orderId),
    findPayment(deps.db, companyId, id),
  ])
  const channel = payment && (await deps.channels.forPayment(payment))
  if (!order || !channel || payment.status !== 'creating') return
  try {
    await recover(deps, { channel, order, payment, payer: NOBODY, requestId: null }, async () => {})
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'CHANNEL_NOT_AVAILABLE')) throw error
  }
}
