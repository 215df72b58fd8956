import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { contextAs } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { formatMoney } from '../../kernel/money.ts'
import { type Static, Type } from '../../kernel/schema.ts'
import type { Order } from '../../orders/order.ts'
import { findOrderByCode } from '../../orders/order-queries.ts'
import { isOpen } from '../../orders/order-states.ts'
import { acceptOrder } from '../../payments/accept/accept-order.ts'
import { readTaken } from '../../payments/accept/still-due.ts'
import { findPayment } from '../../payments/payment-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { Situation } from '../../texts/order-texts.ts'
import { factsOf } from '../pay/pay-facts.ts'
import { isOrderCode, type PayView, type PayViewDeps, readPayView } from '../pay/pay-service.ts'
import { openPayerTokens, payerOf } from '../shared/payer.ts'
import {
  findMismatch,
  type PaymentPayload,
  type PaymentRequired,
  REQUIRED_HEADER,
  RESPONSE_HEADER,
  type Requirements,
  readPayload,
  SIGNATURE_HEADER,
  toHeader,
  X402_VERSION,
} from './x402-messages.ts'
import type { Hex, X402Relay } from './x402-relay.ts'

type AcceptDeps = Parameters<typeof acceptOrder>[0]
export type X402Deps = AcceptDeps &
  Omit<PayViewDeps, 'payerTokens'> & {
    config: Pick<Config, 'payUrl'>
    relays: readonly X402Relay[]
    /** The account key of the deposit addresses on each chain that is set up, also without a relayer. */
    xpubs: ReadonlyMap<number, string | null>
    limits: Pick<RateLimits, 'checkRelay'>
  }

const Params = Type.Object({ code: Type.String({ maxLength: 100 }) })
const Query = Type.Object({ network: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })) })

const PAID: readonly string[] = ['PAID', 'REFUNDING', 'REFUNDED', 'FULL_REFUNDED']
const TOO_LITTLE = 'So little is not paid by x402: sending it costs too much. Open the payment page instead.'
/** Validity of a wallet's authorization; the order may end earlier. */
const MAX_TIMEOUT_SECONDS = 300

const receiptOf = (order: Order) => ({
  success: true,
  status: 200,
  data: {
    code: order.code,
    status: order.status,
    fromAmount: formatMoney(order.from),
    fromAsset: order.from.asset,
    toAmount: formatMoney(order.to),
    toAsset: order.to.asset,
    paidAt: order.paidAt?.toISOString() ?? null,
  },
})

async function findOrder(deps: X402Deps, code: string): Promise<Order> {
  const order = isOrderCode(code) ? await findOrderByCode(deps.db, code) : undefined
  if (!order) throw new AppError('ORDER_NOT_FOUND')
  return order
}

/** The chain on which the payer chose to pay from a wallet; null: on none yet. */
const standingOf = ({ payment }: PayView): PayView['choices'][number]['network'] =>
  payment?.channel === 'crypto' ? payment.network : null

/**
 * The relays that may pay to an address that was made for this chain. On another chain it is watched, and the shop's,
 * only if the shop takes wallets there and the addresses are derived from the same key; and what arrives there counts
 * only if the payment takes it.
 */
async function listServing(deps: X402Deps, { choices, code }: PayView, made: number): Promise<X402Relay[]> {
  const offered = choices.flatMap(({ channel, network }) => (channel === 'crypto' && network ? [network.id] : []))
  const key = deps.xpubs.get(made)
  const { companyId, paymentId } = await findOrder(deps, code)
  const payment = paymentId === null ? undefined : await findPayment(deps.db, companyId, paymentId)
  const takes = payment ? await readTaken(deps.db, payment) : () => false
  return deps.relays.filter(
    ({ chainId, xpub }) => chainId === made || (xpub === key && offered.includes(chainId) && takes(chainId)),
  )
}

/** The relays that may pay the order: before it has an address, on the chains that its shop takes. */
async function listUsable(deps: X402Deps, view: PayView): Promise<readonly X402Relay[]> {
  const standing = standingOf(view)
  if (standing) return listServing(deps, view, standing.id)
  const networks = (await deps.channels.of(view.companyId)).find('crypto')?.networks
  // without the channel, accepting says why
  return networks ? deps.relays.filter(({ chainId }) => networks.includes(chainId)) : deps.relays
}

/**
 * The chain that the payer names, otherwise the one that the order is on, otherwise the first.
 * @throws CHANNEL_NOT_AVAILABLE in words that lead to no chain where the order's address may be nobody's
 */
function chooseRelay(
  { relays }: X402Deps,
  usable: readonly X402Relay[],
  { network, standing }: { network: number | null; standing: PayView['choices'][number]['network'] },
): X402Relay {
  const refuse = (message: string) => new AppError('CHANNEL_NOT_AVAILABLE', { message })
  if (relays.length === 0) throw refuse('Paying by x402 is not set up here. Open the payment page instead.')
  if (usable.length === 0)
    throw refuse(
      standing
        ? `The payer chose ${standing.name}, where x402 is not set up. Do not pay on another network: the address of this ` +
            'order may not be the shop’s there. Open the payment page instead.'
        : 'x402 is not set up on the networks that the shop takes. Open the payment page instead.',
    )
  const wanted = network ?? standing?.id
  const relay = relays.find(({ chainId }) => chainId === wanted) ?? (network === null ? usable[0] : undefined)
  if (relay) return relay
  throw refuse(`Choose one of the networks ${usable.map(({ chainId }) => chainId).join(', ')}: ?network=<chain id>.`)
}

/**
 * Whoever only asks must not take a payer off the channel that he chose: what he pays there would be late.
 * @throws ORDER_STATE_CONFLICT
 */
function checkNotElsewhere({ status, paymentChannel }: Order, { chainId }: X402Relay): void {
  const isChosen = status === 'PENDING' || status === 'AWAITING'
  if (!isChosen || paymentChannel === null || paymentChannel === 'crypto') return
  const message = `The payer chose ${paymentChannel}. To pay by x402 instead, name the network: ?network=${chainId}.`
  throw new AppError('ORDER_STATE_CONFLICT', { message })
}

const pageDepsOf = (deps: X402Deps): PayViewDeps => ({ ...deps, payerTokens: openPayerTokens(deps.vault) })

/** Ends without money of the payer's: whoever still wants to pay may do so with another order. */
const EMPTY: readonly Situation[] = ['expired', 'cancelled', 'error', 'sentBack']

/** Why nothing can be paid; about money that has arrived, what the payment page says. */
function goneOf(view: PayView): AppError {
  const { status, situation, shop, shortCode } = view
  if (EMPTY.includes(situation)) {
    // a transfer may be under way that nobody has seen yet
    const sent = `If you have sent a payment, send no other: contact ${shop.name} and quote order ${shortCode}. Otherwise`
    const next = view.shown !== null ? `. ${sent}` : ';'
    return new AppError('ORDER_GONE', { message: `The order is ${status}. Do not pay${next} ask for a new order.` })
  }
  const { order, pay: texts, locale } = TEXTS.en
  const said = order.situations[situation].text(factsOf(view, { texts, locale }))
  const message = `The order is ${status}. ${said} Do not pay again; contact ${shop.name} and quote order ${shortCode}.`
  return new AppError('ORDER_GONE', { message })
}

/**
 * How the order can be paid. Accepting the channel `crypto` creates its deposit address, as on the payment page. An
 * empty list: nothing is left to pay.
 */
async function readRequirements(
  deps: X402Deps,
  request: FastifyRequest,
  { order, network }: { order: Order; network: number | null },
): Promise<Requirements[]> {
  const viewDeps = pageDepsOf(deps)
  const known = await readPayView(viewDeps, order.code)
  const isWaiting = order.status === 'WAITING_CHAIN_CONFIRMATION'
  if (isWaiting && known.payment?.missing.units === 0n) return []
  const standing = standingOf(known)
  const relay = chooseRelay(deps, await listUsable(deps, known), { network, standing })
  if (network === null && request.headers[SIGNATURE_HEADER] === undefined) checkNotElsewhere(order, relay)
  if (!isWaiting) {
    const context = contextAs(request, payerOf(order.code))
    const body = { paymentChannel: 'crypto', network: standing?.id ?? relay.chainId }
    await acceptOrder(deps, { context, code: order.code, body })
  }
  const current = await readPayView(viewDeps, order.code)
  const { payment } = current
  if (payment?.missing.units === 0n) return []
  const [made, payTo] = [standingOf(current), payment?.instructions?.toAddress]
  if (!payment || !made || !payTo) throw new AppError('CHANNEL_NOT_AVAILABLE')
  const { units } = payment.missing
  const seconds = Math.floor((known.expiresAt.getTime() - deps.clock()) / 1000)
  const serving = await listServing(deps, known, made.id)
  const chains = [...serving.filter((one) => one === relay), ...serving.filter((one) => one !== relay)].filter(
    ({ minUnits }) => units >= minUnits,
  )
  if (chains.length === 0) throw new AppError('CHANNEL_NOT_AVAILABLE', { message: TOO_LITTLE })
  const maxTimeoutSeconds = Math.max(30, Math.min(MAX_TIMEOUT_SECONDS, seconds))
  const read = await Promise.allSettled(
    chains.map(
      async ({ chainId, token, domain }): Promise<Requirements> => ({
        ...{ scheme: 'exact', network: `eip155:${chainId}`, amount: String(units), asset: token, payTo },
        maxTimeoutSeconds,
        extra: await domain(),
      }),
    ),
  )
  // a chain that cannot be asked keeps nobody from paying on another one, unless it is the one that was named
  const accepts = read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const failed = (network === null ? read : read.slice(0, 1)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected' && (network !== null || accepts.length === 0)) throw failed.reason
  return accepts
}

/**
 * What is left to pay: nothing once the order is paid. The same payment may be sent twice and complete the order
 * between two reads; then the order is read again.
 */
async function readOpen(
  deps: X402Deps,
  request: FastifyRequest<{ Querystring: Static<typeof Query> }>,
  order: Order,
): Promise<{ order: Order; accepts: Requirements[] }> {
  if (PAID.includes(order.status)) return { order, accepts: [] }
  if (!isOpen(order.status)) throw goneOf(await readPayView(pageDepsOf(deps), order.code))
  const network = request.query.network === undefined ? null : Number(request.query.network)
  try {
    return { order, accepts: await readRequirements(deps, request, { order, network }) }
  } catch (error) {
    const current = await findOrder(deps, order.code)
    if (current.status === order.status) throw error
    return readOpen(deps, request, current)
  }
}

function sendRequired(
  deps: X402Deps,
  reply: FastifyReply,
  { order, accepts, error }: { order: Order; accepts: Requirements[]; error: string },
): FastifyReply {
  const url = `${deps.config.payUrl}/pay/x402/${order.code}`
  const description = `Order ${order.shortCode}: ${formatMoney(order.from)} ${order.from.asset}`
  const required: PaymentRequired = {
    ...{ x402Version: X402_VERSION, error, accepts },
    resource: { url, description, mimeType: 'application/json' },
  }
  return reply.code(402).header(REQUIRED_HEADER, toHeader(required)).send(required)
}

async function settle(
  deps: X402Deps,
  { order, payment: { accepted, payload } }: { order: Order; payment: PaymentPayload },
  beforeNew: () => Promise<void>,
) {
  const chainId = Number(accepted.network.slice('eip155:'.length))
  const { authorization: given, signature } = payload
  const authorization = {
    reference: order.id,
    from: given.from as Hex,
    to: given.to as Hex,
    units: BigInt(given.value),
    validAfter: BigInt(given.validAfter),
    validBefore: BigInt(given.validBefore),
    nonce: given.nonce as Hex,
    signature: signature as Hex,
  }
  return chooseRelay(deps, deps.relays, { network: chainId, standing: null }).submit(authorization, beforeNew)
}

/** Submits the payment and answers with the receipt, once it is in a block. */
async function sendSettled(
  deps: X402Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { order, accepts, payment }: { order: Order; accepts: Requirements[]; payment: PaymentPayload },
): Promise<FastifyReply> {
  const { network } = payment.accepted
  const payer = payment.payload.authorization.from
  const settled = await settle(deps, { order, payment }, () => deps.limits.checkRelay(request, reply, order.companyId))
  if (settled.outcome === 'refused') {
    const failed = { success: false, errorReason: settled.reason, payer, transaction: '', network }
    reply.header(RESPONSE_HEADER, toHeader(failed))
    return sendRequired(deps, reply, { order, accepts, error: settled.reason })
  }
  if (settled.outcome === 'pending')
    throw new AppError('CHANNEL_UNAVAILABLE', {
      message:
        'The payment was taken and is not in a block yet. Send the same request again in a moment; it is paid once.',
      retryAfter: 5,
    })
  const response = { success: true, payer, transaction: settled.txHash ?? '', network }
  reply.header(RESPONSE_HEADER, toHeader(response))
  return reply.send(receiptOf(await findOrder(deps, order.code)))
}

/** x402: programs pay an order with one signature (docs/x402.md). Pages, not API: outside the permission table. */
export const x402Routes: FastifyPluginAsyncTypebox<X402Deps> = async (app, deps) => {
  app.get(
    '/pay/x402/:code',
    {
      config: { open: true, page: true, writes: true },
      // the question accepts the order: a HEAD of a link preview must not
      exposeHeadRoute: false,
      schema: { hide: true, params: Params, querystring: Query },
    },
    async (request, reply) => {
      const found = await findOrder(deps, request.params.code)
      reply.header('cache-control', 'no-store')
      const header = request.headers[SIGNATURE_HEADER]
      if (typeof header !== 'string' && /text\/html/.test(request.headers.accept ?? ''))
        return reply.redirect(`${deps.config.payUrl}/pay?code=${found.code}`, 303)
      const { order, accepts } = await readOpen(deps, request, found)
      // it is paid, or the whole amount has been seen on the chain
      if (accepts.length === 0) return reply.send(receiptOf(order))
      if (typeof header !== 'string')
        return sendRequired(deps, reply, { order, accepts, error: 'PAYMENT-SIGNATURE header is required' })
      const payment = readPayload(header)
      if (!payment) return sendRequired(deps, reply, { order, accepts, error: 'invalid_payload' })
      const mismatch = findMismatch(
        payment,
        accepts.find((one) => one.network === payment.accepted.network),
      )
      if (mismatch !== null) return sendRequired(deps, reply, { order, accepts, error: mismatch })
      return sendSettled(deps, request, reply, { order, accepts, payment })
    },
  )
}
