import { readAddress } from '../addresses.ts'
import type { Channel, ChannelId, Instructions, PaymentRequest } from '../channels/channel.ts'
import { askProvider, type Channels } from '../channels/registry.ts'
import { type Clock, MINUTE } from '../clock.ts'
import type { PayerGate } from '../compliance/payer-gate.ts'
import type { Config } from '../config.ts'
import { crashPoint } from '../crash-point.ts'
import type { Db, Tx } from '../db/db.ts'
import { AppError, invalid } from '../errors.ts'
import type { Actor } from '../http/actor.ts'
import type { Call } from '../http/idempotency.ts'
import { newId } from '../ids.ts'
import type { Order } from '../orders/order.ts'
import { lockOrderById } from '../orders/order-queries.ts'
import { readPageUrl } from '../orders/order-rules.ts'
import { lockReachableOrder } from '../orders/order-service.ts'
import { allows, nextStatus } from '../orders/order-states.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'
import { checkIdentity, findEuroRate, notePayerEmail, type PayerDeps } from '../payers/payer-service.ts'
import type { Vault } from '../vault.ts'
import {
  countPayments,
  findPayment,
  insertPayment,
  lockPayment,
  type Payment,
  updatePayment,
  updatePaymentInstructions,
} from './payment-queries.ts'
import { nextCheckDelayMs } from './payment-rules.ts'
import type { AcceptBody } from './payment-schemas.ts'

export type AcceptDeps = {
  db: Db
  clock: Clock
  vault: Vault
  config: Pick<Config, 'orders'>
  channels: Channels
  transition: TransitionOrder
  payers: PayerDeps
  /** Identity checks and spending limits. */
  gate: PayerGate
}

export type Accepted = { paymentChannel: string; status: string; expiresAt: string } & Instructions

export type AcceptRequest = { actor: Actor; code: string; body: AcceptBody; call: Call }

/** How long a provider may take before the outcome counts as unknown and a job takes over. */
const FIRST_CHECK_MS = 15_000

function readNetwork(channel: Channel, network: number | undefined): number | null {
  if (channel.networks.length === 0) return null
  const [only] = channel.networks
  const offered = channel.networks.join(', ')
  if (network === undefined) {
    if (channel.networks.length > 1) throw invalid('network', `is required here; choose one of: ${offered}`)
    return only ?? null
  }
  if (!channel.networks.includes(network)) throw invalid('network', `is not offered here; choose one of: ${offered}`)
  return network
}

const instructionsOf = (order: Order, channel: ChannelId, instructions: Instructions): Accepted => ({
  paymentChannel: channel,
  status: order.status,
  expiresAt: order.expiresAt.toISOString(),
  ...instructions,
})

/** The open attempt that a repeated accept means: same channel, same network, not closed. */
async function findSameAttempt(
  tx: Tx,
  order: Order,
  channel: ChannelId,
  network: number | null,
): Promise<Payment | undefined> {
  if (order.paymentId === null || (order.status !== 'PENDING' && order.status !== 'AWAITING')) return undefined
  const payment = await findPayment(tx, order.companyId, order.paymentId)
  const open = payment?.status === 'creating' || payment?.status === 'awaiting' || payment?.status === 'confirming'
  return open && payment.channel === channel && payment.network === network ? payment : undefined
}

/**
 * The attempt before is given up: it is closed at its provider by a job, and can still receive money that is noticed.
 */
async function giveUpAttempt(tx: Tx, order: Order, now: Date): Promise<void> {
  if (order.paymentId === null) return
  const payment = await lockPayment(tx, order.companyId, order.paymentId)
  if (!payment || payment.status === 'closed' || payment.status === 'failed') return
  if (payment.receivedUnits > 0n || payment.status === 'confirming') {
    throw new AppError('ORDER_STATE_CONFLICT', {
      message: `Money has arrived through ${payment.channel} already; the channel cannot be changed. Pay the rest the same way.`,
    })
  }
  await updatePayment(tx, payment, { status: 'closing', words: 'another channel was chosen', nextCheckAt: now }, now)
}

/** Stores the choice before anybody is called: whatever happens after, the attempt is known. */
async function openAttempt(
  deps: AcceptDeps,
  request: AcceptRequest,
  channel: Channel,
): Promise<{ order: Order; payment: Payment } | { refused: AppError }> {
  const { body, actor, call } = request
  const network = readNetwork(channel, body.network)
  const userAddress = body.userAddress === undefined ? null : readAddress('userAddress', body.userAddress)
  const cancelUrl = readPageUrl('cancelUrl', body.cancelUrl)
  const returnUrl = readPageUrl('returnUrl', body.returnUrl)
  const euroRate = await findEuroRate(deps.payers)
  return deps.db.tx(async (tx) => {
    const order = await lockReachableOrder(tx, actor, request.code)
    const now = new Date(deps.clock())
    const same = await findSameAttempt(tx, order, channel.id, network)
    if (same) return { order, payment: same }
    nextStatus(order.status, 'accept')
    if (order.expiresAt <= now) {
      throw new AppError('ORDER_STATE_CONFLICT', { message: 'The time to pay this order is over. Create a new order.' })
    }
    const email = body.payerEmail ?? null
    await checkIdentity(deps.payers, tx, order, { email, anonymous: body.anonymous ?? false, euroRate })
    if (email !== null) await notePayerEmail(deps.payers, tx, order, email)
    const by = `${actor.kind}:${actor.id}`
    const refused = await deps.gate(tx, order, { email, euroRate, actor: by, requestId: call.requestId })
    if (refused) return { refused }
    await giveUpAttempt(tx, order, now)
    const number = (await countPayments(tx, order.companyId, order.id)) + 1
    const id = newId(now.getTime())
    await insertPayment(tx, {
      companyId: order.companyId,
      id,
      orderId: order.id,
      number,
      channel: channel.id,
      merchantReference: `${order.id}${String(number).padStart(2, '0')}`,
      network,
      dueUnits: order.to.units,
      userAddress,
      pastOrders: body.pastOrders ?? null,
      cancelUrl,
      returnUrl,
      nextCheckAt: new Date(now.getTime() + FIRST_CHECK_MS),
      at: now,
    })
    const moved = await deps.transition(tx, order, {
      trigger: 'accept',
      actor: by,
      requestId: call.requestId,
      change: { paymentChannel: channel.id, paymentId: id },
    })
    const payment = await findPayment(tx, order.companyId, id)
    if (!payment) throw new Error('the payment was not stored')
    return { order: moved, payment }
  })
}

function requestOf(order: Order, payment: Payment, payerEmail: string | null): PaymentRequest {
  return {
    companyId: order.companyId,
    merchantReference: payment.merchantReference,
    due: order.to,
    fiat: order.from,
    network: payment.network,
    expiresAt: order.expiresAt,
    description: order.goods?.goodsName ?? `Order ${order.shortCode}`,
    returnUrl: payment.returnUrl ?? order.returnUrl,
    cancelUrl: payment.cancelUrl ?? order.cancelUrl,
    payerEmail,
    userAddress: payment.userAddress,
    providerReference: payment.providerReference,
  }
}

/** The provider answered: its instructions and AWAITING in one transaction. */
async function forward(
  deps: AcceptDeps,
  payment: Payment,
  instructions: Instructions & { providerReference: string },
  requestId: string | null,
  finish: (tx: Tx, accepted: Accepted) => Promise<void>,
): Promise<Accepted> {
  return deps.db.tx(async (tx) => {
    const order = await lockOrderById(tx, payment.companyId, payment.orderId)
    const current = await lockPayment(tx, payment.companyId, payment.id)
    if (!order || !current) throw new AppError('ORDER_NOT_FOUND')
    const now = new Date(deps.clock())
    const nextCheckAt = new Date(now.getTime() + nextCheckDelayMs(0))
    if (current.status === 'creating') await updatePaymentInstructions(tx, current, instructions, nextCheckAt, now)
    const mine = order.paymentId === payment.id
    const moved =
      mine && allows(order.status, 'forward')
        ? await forwardOrder(deps, tx, order, payment.channel, requestId, now)
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
  channel: ChannelId,
  requestId: string | null,
  now: Date,
): Promise<Order> {
  const chainExpiry = new Date(now.getTime() + deps.config.orders.chainExpiryMinutes * MINUTE)
  const extend = channel === 'crypto' && order.expiresAt < chainExpiry ? { change: { expiresAt: chainExpiry } } : {}
  return deps.transition(tx, order, { trigger: 'forward', actor: `channel:${channel}`, requestId, ...extend })
}

/**
 * Accepts an order with a channel and answers what the payer needs. Repeating it with the same channel gives the same
 * instructions. When the provider does not answer, the order stays PENDING and a job finds out: CHANNEL_UNAVAILABLE.
 */
export async function acceptOrder(deps: AcceptDeps, request: AcceptRequest): Promise<Accepted> {
  const channel = deps.channels.get(request.body.paymentChannel as ChannelId)
  const attempt = await openAttempt(deps, request, channel)
  if ('refused' in attempt) throw attempt.refused
  const { order, payment } = attempt
  crashPoint('accept:after-choice')
  const finish = (tx: Tx, accepted: Accepted): Promise<void> => request.call.remember(tx, accepted)
  if (payment.instructions !== null && payment.status !== 'creating') {
    const accepted = instructionsOf(order, channel.id, payment.instructions)
    await deps.db.tx((tx) => finish(tx, accepted))
    return accepted
  }
  const asked = requestOf(order, payment, request.body.payerEmail ?? null)
  const instructions = await askProvider(channel.createPayment(asked))
  crashPoint('accept:after-provider')
  const accepted = await forward(deps, payment, instructions, request.call.requestId, finish)
  crashPoint('accept:after-forward')
  if (
    accepted.status !== 'AWAITING' &&
    accepted.status !== 'WAITING_CHAIN_CONFIRMATION' &&
    accepted.status !== 'PAID'
  ) {
    throw new AppError('ORDER_STATE_CONFLICT', {
      message: `The order became ${accepted.status} meanwhile. Do not pay; create a new order.`,
    })
  }
  return accepted
}

/** A job's second try for an attempt whose creation never got an answer: same reference, so the same payment. */
export async function resumeAttempt(deps: AcceptDeps, payment: Payment, order: Order): Promise<void> {
  const channel = deps.channels.get(payment.channel)
  const instructions = await channel.createPayment(requestOf(order, payment, null))
  await forward(deps, payment, instructions, null, async () => {})
}
