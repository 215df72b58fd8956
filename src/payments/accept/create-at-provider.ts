import { askProvider, unavailable } from '../../channels/ask-provider.ts'
import type { Channel, ChannelId, Instructions, PaymentRequest } from '../../channels/channel.ts'
import type { PaymentAccount } from '../../channels/channel-set.ts'
import { isForOperator, ProviderRefusal } from '../../channels/provider-errors.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { LeaseLost, pollNow } from '../../db/polling.ts'
import { type AnyContext, systemContext } from '../../http/request-context.ts'
import { crashPoint } from '../../kernel/crash-point.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Order } from '../../orders/order.ts'
import { findOrderById, lockOrderById } from '../../orders/order-queries.ts'
import { allows } from '../../orders/order-states.ts'
import { listMispaymentsOfOrder } from '../mispayments/mispayment-queries.ts'
import { decidedUnits, undecidedUnits } from '../mispayments/standing.ts'
import {
  findPayment,
  lockPayment,
  PAYMENT_POLLS,
  type Payment,
  updatePayment,
  updatePaymentInstructions,
  updatePaymentLinks,
  updatePaymentNextCheck,
  updatePaymentReference,
} from '../payment-queries.ts'
import { nextCheckDelayMs } from '../payment-rules.ts'
import { type AcceptDeps, keyOf, startPayment } from './start-payment.ts'

export type Accepted = { paymentChannel: string; status: string; expiresAt: string } & Instructions

/** How long a repeated accept waits for the answer to the first one. */
const WAIT_MS = 8_000

/** One payment to be created at its provider. */
export type Creation = {
  channel: Channel
  order: Order
  payment: Payment
  payer: Payer
  context: AnyContext
}

/**
 * What the payer needs, not stored yet: from a payment that the provider has just created, a fresh link to an existing
 * one, or what was stored before. It may belong to another payment than the requested one.
 */
type Reached = Pick<Creation, 'order' | 'payment'> &
  (
    | { what: 'created'; instructions: Instructions & { providerReference: string } }
    | { what: 'link' | 'stored'; instructions: Instructions }
  )

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

/** The callback address of a payment’s provider. */
export const callbackUrlOf = (
  baseUrl: string,
  { channel, companyId, ownAccount }: Omit<PaymentAccount, 'accountMark'>,
): string => `${baseUrl}/api/next/channels/${channel}/callback${ownAccount ? `/${companyId}` : ''}`

/** The provider refused: the payment failed, and the order may be paid another way. */
async function recordProviderRefusal(deps: AcceptDeps, payment: Payment, providerStatus: string): Promise<void> {
  await deps.db.tx(async (tx) => {
    const current = await lockPayment(tx, payment.companyId, payment.id)
    if (current?.status !== 'creating') return
    await updatePayment(tx, current, { status: 'failed', providerStatus, nextCheckAt: null }, new Date(deps.clock()))
  })
}

/**
 * Waits for the provider. Records its refusal; any other failure leaves the payment to the next poll.
 * @throws CHANNEL_NOT_AVAILABLE, CHANNEL_UNAVAILABLE
 */
async function askFor<Answer>(deps: AcceptDeps, payment: Payment, ask: Promise<Answer>): Promise<Answer> {
  try {
    return await ask
  } catch (error) {
    if (error instanceof ProviderRefusal) {
      await recordProviderRefusal(deps, payment, error.message)
      // the operator must fix this: the payer may try again soon
      if (isForOperator(error.reason)) throw unavailable(error)
      const message = `${payment.channel} refused this payment: ${error.message}. Choose another channel.`
      throw new AppError('CHANNEL_NOT_AVAILABLE', { message, cause: error })
    }
    await updatePaymentNextCheck(deps.db, payment, new Date(deps.clock() + nextCheckDelayMs(payment, payment.status)))
    throw unavailable(error)
  }
}

/** Asks the provider for the payment. */
async function create(deps: AcceptDeps, creation: Creation): Promise<Reached> {
  const { channel, order, payment, payer } = creation
  const instructions = await askFor(deps, payment, channel.createPayment(requestOf(deps, order, payment, payer)))
  crashPoint('accept:after-provider')
  return { order, payment, instructions, what: 'created' }
}

/** The earlier creation exists but cannot be paid: closes it and starts a payment with a new reference. */
async function replacePayment(deps: AcceptDeps, creation: Creation, lost: string): Promise<Reached> {
  const { channel, payment: old } = creation
  const attempt = await deps.db.tx(async (tx) => {
    const order = await lockOrderById(tx, old.companyId, old.orderId)
    const current = await lockPayment(tx, old.companyId, old.id)
    if (!order || current?.status !== 'creating') throw new AppError('CHANNEL_UNAVAILABLE', { retryAfter: 5 })
    const now = new Date(deps.clock())
    await updatePaymentReference(tx, current, lost)
    const providerStatus = 'its links could not be had again'
    await updatePayment(tx, current, { status: 'closing', providerStatus, nextCheckAt: now, checks: 0 }, now)
    if (order.paymentId !== old.id || !allows(order.status, 'accept')) return undefined
    const { network, userAddress, userAddressBy, cancelUrl, returnUrl, ownAccount: own, accountMark } = current
    const place = { channel: channel.id, own, accountMark, network, cancelUrl, returnUrl }
    const choice = { ...place, userAddress, userAddressBy, pos: null, pastOrders: null }
    return startPayment(deps, tx, order, {
      choice,
      move: { actor: `channel:${channel.id}`, requestId: creation.context.requestId },
    })
  })
  if (!attempt) throw new AppError('ORDER_STATE_CONFLICT')
  return create(deps, { ...creation, ...attempt })
}

/** Looks an unanswered creation up before repeating it, so that the provider holds only one order. */
async function recover(deps: AcceptDeps, creation: Creation): Promise<Reached> {
  const { channel, order, payment, payer } = creation
  if (!channel.recoverPayment) return create(deps, creation)
  const found = await askFor(deps, payment, channel.recoverPayment(requestOf(deps, order, payment, payer)))
  if (found.outcome === 'absent') return create(deps, creation)
  if (found.outcome === 'lost') return replacePayment(deps, creation, found.providerReference)
  return { order, payment, instructions: found.instructions, what: 'created' }
}

/** Another request is waiting for the provider: waits for its result, even if that is another payment of the order. */
async function waitForAnswer(
  deps: AcceptDeps,
  { payment: { companyId, orderId, channel } }: Creation,
): Promise<Reached> {
  for (let waited = 0; waited < WAIT_MS; waited += 200) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const order = await findOrderById(deps.db, companyId, orderId)
    const payment = order?.paymentId ? await findPayment(deps.db, companyId, order.paymentId) : undefined
    if (!order || payment?.channel !== channel || payment.status === 'failed') break
    if (payment.instructions === null) continue
    // read after the instructions: they are committed together with the order's move to AWAITING
    return stored((await findOrderById(deps.db, companyId, orderId)) ?? order, payment)
  }
  throw new AppError('CHANNEL_UNAVAILABLE', { retryAfter: 5 })
}

/** @throws CHANNEL_UNAVAILABLE while the payment has no instructions */
function stored(order: Order, payment: Payment): Reached {
  if (payment.instructions === null) throw new AppError('CHANNEL_UNAVAILABLE', { retryAfter: 5 })
  return { order, payment, instructions: payment.instructions, what: 'stored' }
}

/** The payment was abandoned before its provider answered: closes it there, and shows it to no one. */
async function closeUnseen(tx: Tx, payment: Payment, providerReference: string, now: Date): Promise<void> {
  await updatePaymentReference(tx, payment, providerReference)
  const providerStatus = 'it was made after it was given up'
  await updatePayment(tx, payment, { status: 'closing', providerStatus, nextCheckAt: now, checks: 0 }, now)
}

/** Stores a creation's instructions and moves the order to AWAITING. */
async function forward(
  deps: AcceptDeps,
  tx: Tx,
  { payment, instructions }: Reached & { what: 'created' },
  { requestId }: AnyContext,
): Promise<{ order: Order; instructions: Instructions }> {
  const order = await lockOrderById(tx, payment.companyId, payment.orderId)
  const current = await lockPayment(tx, payment.companyId, payment.id)
  if (!order || !current) throw new AppError('ORDER_NOT_FOUND')
  const now = new Date(deps.clock())
  const nextCheckAt = new Date(now.getTime() + nextCheckDelayMs({ ...current, checks: 0 }, 'awaiting'))
  if (current.status === 'creating') await updatePaymentInstructions(tx, current, instructions, { nextCheckAt, now })
  else if (current.instructions === null && (current.status === 'closing' || current.status === 'closed'))
    await closeUnseen(tx, current, instructions.providerReference, now)
  const mine = order.paymentId === payment.id
  const moved =
    mine && allows(order.status, 'forward')
      ? await forwardOrder(deps, tx, order, { channel: payment.channel, requestId })
      : order
  return { order: moved, instructions: current.instructions ?? instructions }
}

/** Its end was set when the channel was chosen. */
export function forwardOrder(
  { transition }: AcceptDeps,
  tx: Tx,
  order: Order,
  { channel, requestId }: { channel: ChannelId; requestId: string | null },
): Promise<Order> {
  return transition(tx, order, { trigger: 'forward', actor: `channel:${channel}`, requestId })
}

/**
 * Stores what the provider returned, and the response under its idempotency key, in one transaction.
 * @throws ORDER_STATE_CONFLICT when another channel was chosen meanwhile
 */
async function keep(deps: AcceptDeps, reached: Reached, context: AnyContext): Promise<Accepted> {
  const kept = await deps.db.tx(async (tx) => {
    if (reached.what === 'link') await updatePaymentLinks(tx, reached.payment, reached.instructions)
    const { order, instructions } = reached.what === 'created' ? await forward(deps, tx, reached, context) : reached
    // instructions that are already stored stay
    if (order.paymentId !== reached.payment.id) return { overtakenBy: order.paymentChannel }
    const accepted: Accepted = {
      paymentChannel: reached.payment.channel,
      status: order.status,
      expiresAt: order.expiresAt.toISOString(),
      ...instructions,
    }
    await context.remember(tx, accepted)
    return { accepted }
  })
  if (kept.accepted) return kept.accepted
  const message = `The order was accepted again meanwhile, through ${kept.overtakenBy}. Pay as that answer says.`
  throw new AppError('ORDER_STATE_CONFLICT', { message })
}

/** Asks the provider ahead of the polling engine. Undefined: another request or node is already asking. */
async function recoverNow(deps: AcceptDeps, creation: Creation): Promise<Accepted | undefined> {
  try {
    const taken = await pollNow(deps, PAYMENT_POLLS, creation.payment, async (db) => {
      const leased = { ...deps, db }
      return keep(leased, await recover(leased, creation), creation.context)
    })
    return taken?.result
  } catch (error) {
    throw error instanceof LeaseLost ? unavailable(error) : error
  }
}

/** What is still to pay of an open payment. Money that a person sent back or ignored does not count. */
export async function findMissing(q: Queryable, payment: Payment): Promise<bigint> {
  const { companyId, orderId, id, dueUnits, receivedUnits, pendingUnits } = payment
  const records = (await listMispaymentsOfOrder(q, companyId, orderId)).filter(({ paymentId }) => paymentId === id)
  const there = undecidedUnits(receivedUnits + pendingUnits, { decided: decidedUnits(records) })
  return dueUnits > there ? dueUnits - there : 0n
}

/** What the payer needs, for a payment that is already created or that no other request is creating. */
async function reach(deps: AcceptDeps, creation: Creation, isNew: boolean): Promise<Reached | undefined> {
  const { channel, order, payment, payer } = creation
  // deposit addresses are ours: creating twice is safe
  if (isNew || (payment.status === 'creating' && channel.onChain)) return create(deps, creation)
  if (payment.status === 'creating') return undefined
  const missing = channel.singleUseLink ? await findMissing(deps.db, payment) : 0n
  if (missing === 0n) return stored(order, payment)
  const request = requestOf(deps, order, { ...payment, dueUnits: missing }, payer)
  const instructions = await askProvider(channel.createPayment(request))
  return { order, payment, instructions, what: 'link' }
}

/**
 * Creates the payment at its provider: once, even after earlier tries.
 * @param isNew false: it was started by an earlier request
 */
export async function createAtProvider(deps: AcceptDeps, creation: Creation, isNew: boolean): Promise<Accepted> {
  const reached = await reach(deps, creation, isNew)
  if (reached) return keep(deps, reached, creation.context)
  const recovered = await recoverNow(deps, creation)
  return recovered ?? keep(deps, await waitForAnswer(deps, creation), creation.context)
}

/** Refused by the provider, or abandoned: a later try cannot succeed. */
const OVER: readonly string[] = ['CHANNEL_NOT_AVAILABLE', 'ORDER_STATE_CONFLICT']

/** Retries an unanswered creation from a job. The provider’s refusal ends it. */
export async function resumePayment(deps: AcceptDeps, { companyId, id, orderId }: Payment): Promise<void> {
  const [order, payment] = await Promise.all([
    findOrderById(deps.db, companyId, orderId),
    findPayment(deps.db, companyId, id),
  ])
  const channel = payment && (await deps.channels.forPayment(payment))
  if (!order || !channel || payment.status !== 'creating') return
  const creation = { channel, order, payment, payer: NOBODY, context: systemContext('time') }
  try {
    await keep(deps, await recover(deps, creation), creation.context)
  } catch (error) {
    const isOver = error instanceof AppError && OVER.includes(error.code)
    if (!isOver) throw error
  }
}
