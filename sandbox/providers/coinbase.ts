import { randomBytes, randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { jwtFault, makeKey } from './coinbase/jwt.ts'
import { callbacksOf, forge, newPurchase, type Purchase, purchasesOf, statusJson } from './coinbase/purchases.ts'
import { quoteOf, readSession, type Session, sessionFault } from './coinbase/session.ts'
import { subtract, textOf, unitsOf } from './decimal.ts'
import type { Imitation, ProviderPayment } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'

const PREFIX = 'coinbase'
const SESSION_MS = 5 * 60 * 1000
const LIFE_MS = 60 * 60 * 1000

/** The single-use links of one payment, by token. */
type Links = Record<string, { madeAt: number; opened: boolean }>

const linksOf = ({ facts }: ProviderPayment): Links => facts.links as Links

/** USDC has 6 digits; half of an amount may have more. */
const inUsdc = (amount: string): string => textOf((unitsOf(amount) ?? 0n) / 10n ** 12n, 6)

const refuse = (reply: FastifyReply, status: number, errorType: string, errorMessage: string) =>
  reply.code(status).send({ errorType, errorMessage, correlationId: randomUUID() })

function fieldsOf(request: FastifyRequest): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse((request.body as Buffer).toString('utf8'))
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/**
 * Coinbase Onramp under `/coinbase`. The payment's reference is its destination address; paying sends test USDC there
 * on the test chain.
 */
export const openCoinbase = (options: ImitationOptions): Imitation => {
  const { payerConsole, url, now, secretOf, wallet } = options
  const key = makeKey(secretOf('coinbase-key'), secretOf('coinbase-key-id'))
  const id = secretOf('coinbase-webhook')
  const webhookSecret = [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20, 32)].join(
    '-',
  )
  const target = `${options.callbackBase}/api/next/channels/coinbase/callback`
  const sender = { target, secret: webhookSecret, now }

  const guard = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const path = request.raw.url?.split('?')[0] ?? ''
    const uri = `${request.method} ${request.headers.host}${path}`
    const fault = jwtFault(key, request.headers.authorization, { uri, nowSeconds: Math.floor(now() / 1000) })
    return fault === null ? undefined : refuse(reply, 401, 'unauthorized', fault)
  }

  /** A payer whose payment failed may try again with a new session. */
  const reopen = (payment: ProviderPayment, session: Session): ProviderPayment => {
    if (payment.state === 'failed') {
      const { amount } = payment
      const purchases = (payment.facts.purchases ?? []) as Purchase[]
      payment.facts.purchases = [...purchases, newPurchase({ amount, createdAt: now(), status: 'FAILED' })]
    }
    if (payment.state !== 'paid') payment.state = payment.received === '0' ? 'open' : 'part'
    payment.expiresAt = now() + LIFE_MS
    payment.returnUrl = session.redirectUrl
    payment.facts.paymentCurrency = session.paymentCurrency
    payment.facts.purchaseAmount = session.amount
    return payment
  }

  const keep = (session: Session): ProviderPayment => {
    const { address, amount, network, partnerUserRef, redirectUrl, clientIp, paymentCurrency } = session
    const known = payerConsole.find(address)
    if (known) return reopen(known, session)
    return payerConsole.open({
      reference: address,
      provider: PREFIX,
      merchantReference: partnerUserRef.replace(/^sandbox-/, ''),
      amount,
      currency: 'USDC',
      expiresAt: now() + LIFE_MS,
      returnUrl: redirectUrl,
      facts: { partnerUserRef, network, clientIp, paymentCurrency, purchaseAmount: amount, links: {}, purchases: [] },
    })
  }

  const openPage = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { sessionToken = '' } = request.query as { sessionToken?: string }
    const payment = payerConsole
      .list()
      .find((one) => one.provider === PREFIX && Object.hasOwn(linksOf(one), sessionToken))
    const link = payment && linksOf(payment)[sessionToken]
    if (!payment || !link) return reply.code(404).send({ errorMessage: 'unknown session' })
    if (link.opened) return reply.code(410).send({ errorMessage: 'this link was opened already' })
    if (now() >= link.madeAt + SESSION_MS) return reply.code(410).send({ errorMessage: 'this link has expired' })
    link.opened = true
    payerConsole.save()
    return reply.redirect(`${url}/payments/${payment.reference}`, 302)
  }

  const createSession = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const fields = fieldsOf(request)
    const fault = fields === null ? 'the body is no JSON object' : sessionFault(fields)
    if (fields === null || fault !== null) return refuse(reply, 400, 'invalid_request', fault ?? '')
    const payment = keep(readSession(fields))
    const token = randomBytes(24).toString('base64url')
    linksOf(payment)[token] = { madeAt: now(), opened: false }
    payerConsole.save()
    await payerConsole.beforeAnswer(request, payment)
    const session = { onrampUrl: `${url}/${PREFIX}/buy/select-asset?sessionToken=${token}` }
    return reply.code(201).send({ session, ...quoteOf(fields) })
  }

  const listTransactions = async (request: FastifyRequest): Promise<unknown> => {
    const { partnerUserRef } = request.params as { partnerUserRef: string }
    const query = request.query as Record<string, string | undefined>
    const size = Number(query.page_size ?? query.pageSize ?? 1)
    const start = Number(query.page_key ?? query.pageKey ?? 0)
    const all = payerConsole
      .list()
      .filter(({ provider, facts }) => provider === PREFIX && facts.partnerUserRef === partnerUserRef)
      .flatMap((payment) => purchasesOf(payerConsole.refresh(payment)).map((one) => statusJson(payment, one)))
    const next = start + size < all.length ? String(start + size) : ''
    return { transactions: all.slice(start, start + size), next_page_key: next, total_count: String(all.length) }
  }

  return {
    prefix: PREFIX,
    name: 'Coinbase Onramp',
    credentialHeader: 'authorization',
    register(app: FastifyInstance) {
      app.get('/buy/select-asset', openPage)
      app.post('/platform/v2/onramp/sessions', { preHandler: guard }, createSession)
      app.get('/onramp/v1/buy/user/:partnerUserRef/transactions', { preHandler: guard }, listTransactions)
    },
    callbacks: (payment, event) => callbacksOf(payment, event, sender),
    forge: (callback) => forge(callback, now),
    isAcknowledged: (status) => status === 200,
    // not documented; an invention
    retryDelaysMs: [2000, 10_000, 60_000],
    /** The purchase is sent on the test chain. */
    async receive(payment, { amount = subtract(payment.amount, payment.received) }) {
      const purchase = newPurchase({ amount: inUsdc(amount), createdAt: now(), status: 'IN_PROGRESS' })
      const purchases = payment.facts.purchases as Purchase[]
      purchases.push(purchase)
      try {
        const { txHash } = await wallet.pay({ to: payment.reference, amount: purchase.amount })
        Object.assign(purchase, { status: 'SUCCESS', txHash, completedAt: now() } satisfies Partial<Purchase>)
      } catch (error) {
        purchase.status = 'FAILED'
        throw error
      } finally {
        payerConsole.save()
      }
      return amount
    },
    credentials: () => ({
      CHANNEL_COINBASE_BASE_URL: `${url}/${PREFIX}/platform`,
      CHANNEL_COINBASE_STATUS_BASE_URL: `${url}/${PREFIX}`,
      CHANNEL_COINBASE_KEY_ID: key.id,
      CHANNEL_COINBASE_KEY_SECRET: key.secret,
      CHANNEL_COINBASE_WEBHOOK_SECRET: webhookSecret,
    }),
  }
}
