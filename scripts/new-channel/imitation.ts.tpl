import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAtLeast, sum, textOf, unitsOf } from './decimal.ts'
import type { Imitation, PaymentEvent, ProviderPayment, ProviderRefund } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'

const PREFIX = '__ID__'
const DAY_MS = 86_400_000
const MAX_DRIFT_MS = 60_000
/** 10 s, 1, 5 and 30 minutes, 2 hours. */
const RETRY_DELAYS_MS = [10, 60, 300, 1800, 7200].map((seconds) => seconds * 1000)

const REFERENCE = /^[0-9a-z]{8,40}$/
const MIN_AMOUNT = '0.1'
const MAX_AMOUNT = '100000'

const REFUND_STATUS: Record<ProviderRefund['state'], string> = {
  pending: 'pending',
  settled: 'settled',
  refused: 'rejected',
}

class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

type Fields = Record<string, unknown>

const isSame = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))
const invalid = (name: string): Refused => new Refused(422, 'request_invalid', `${name} is missing or wrong`)

function textIn(fields: Fields, name: string, pattern = /./): string {
  const value = fields[name]
  if (typeof value !== 'string' || !pattern.test(value)) throw invalid(name)
  return value
}

/** Six digits after the point, as the provider writes amounts. */
const exact = (amount: string): string => {
  const [whole, fraction = ''] = amount.split('.')
  return `${whole}.${fraction.padEnd(6, '0')}`
}

function amountIn(fields: Fields): string {
  const amount = textIn(fields, 'amount', /^\d+(\.\d{1,6})?$/)
  const units = unitsOf(amount, 6)
  if (textIn(fields, 'currency') !== 'USDC') throw invalid('currency')
  if (units === undefined || units === 0n) throw invalid('amount')
  return textOf(units, 6)
}

function readBody({ body, headers }: FastifyRequest): Fields {
  if (!/^application\/json\b/.test(String(headers['content-type'])))
    throw new Refused(415, 'request_invalid', 'The body must be application/json')
  try {
    const fields: unknown = JSON.parse(String(body))
    if (typeof fields === 'object' && fields !== null) return fields as Fields
  } catch {
    throw new Refused(400, 'request_invalid', 'The body is not JSON')
  }
  throw new Refused(400, 'request_invalid', 'The body is no object')
}

/**
 * __NAME__: JSON over HTTP, every request signed, callbacks signed with a secret of their own.
 */
export const open__PASCAL__ = ({ payerConsole, url, secretOf, now }: ImitationOptions): Imitation => {
  const apiKey = `key_${secretOf(`${PREFIX} key`).slice(0, 20)}`
  const apiSecret = secretOf(`${PREFIX} secret`)
  const callbackSecret = secretOf(`${PREFIX} callbacks`)

  const authenticate = (request: FastifyRequest): void => {
    const header = (name: string): string => String(request.headers[name] ?? '')
    const timestamp = header('x-timestamp')
    const path = request.url.slice(PREFIX.length + 1)
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const signed = createHmac('sha256', apiSecret).update(`${timestamp}\n${request.method}\n${path}\n`).update(body)
    if (header('x-api-key') !== apiKey) throw new Refused(401, 'key_unknown', 'The API key is not known')
    if (!isSame(header('x-signature'), signed.digest('hex')))
      throw new Refused(401, 'signature_wrong', 'The signature is wrong')
    if (!/^\d{13}$/.test(timestamp) || Math.abs(now() - Number(timestamp)) > MAX_DRIFT_MS)
      throw new Refused(401, 'timestamp_stale', 'The time is more than a minute from ours')
  }

  const view = (payment: ProviderPayment): Fields => ({
    id: payment.reference,
    reference: payment.merchantReference,
    status: statusOf(payment),
    currency: payment.currency,
    amount: exact(payment.amount),
    received: exact(payment.received),
    pending: exact('0'),
    refunded: exact(sum(payment.refunds.filter(({ state }) => state === 'settled').map(({ amount }) => amount))),
    checkout_url: `${url}/payments/${payment.reference}`,
    expires_at: new Date(payment.expiresAt).toISOString(),
  })

  const refundView = (payment: ProviderPayment, refund: ProviderRefund): Fields => ({
    id: refund.id,
    reference: refund.requestId,
    payment_id: payment.reference,
    payment_reference: payment.merchantReference,
    currency: payment.currency,
    amount: exact(refund.amount),
    status: REFUND_STATUS[refund.state],
  })

  const found = (payment: ProviderPayment | undefined): ProviderPayment => {
    if (payment?.provider !== PREFIX) throw new Refused(404, 'payment_not_found', 'There is no such payment')
    return payerConsole.refresh(payment)
  }

  const create = (fields: Fields): ProviderPayment => {
    const merchantReference = textIn(fields, 'reference', REFERENCE)
    const amount = amountIn(fields)
    if (!isAtLeast(amount, MIN_AMOUNT) || !isAtLeast(MAX_AMOUNT, amount))
      throw new Refused(422, 'amount_not_allowed', `The amount must be ${MIN_AMOUNT} to ${MAX_AMOUNT}`)
    textIn(fields, 'description')
    const expiresAt = Date.parse(textIn(fields, 'expires_at', /^\d{4}-\d\d-\d\dT[\d:.]+Z$/))
    if (!(expiresAt > now() && expiresAt <= now() + DAY_MS)) throw invalid('expires_at')
    const link = (name: string): string | null =>
      fields[name] === undefined ? null : textIn(fields, name, /^https?:\/\/./)
    const callbackUrl = textIn(fields, 'callback_url', /^https?:\/\/./)
    const links = { callbackUrl, returnUrl: link('return_url'), cancelUrl: link('cancel_url') }
    if (payerConsole.findByMerchant(PREFIX, merchantReference))
      throw new Refused(409, 'reference_exists', 'There is a payment with this reference')
    const reference = `pay_${randomBytes(9).toString('hex')}`
    return payerConsole.open({ reference, provider: PREFIX, merchantReference, amount, currency: 'USDC', expiresAt, ...links })
  }

  const findRefund = (requestId: string): { payment: ProviderPayment; refund: ProviderRefund } | undefined => {
    for (const payment of payerConsole.list().filter(({ provider }) => provider === PREFIX)) {
      const refund = payment.refunds.find((one) => one.requestId === requestId)
      if (refund) return { payment, refund }
    }
    return undefined
  }

  const refund = (payment: ProviderPayment, fields: Fields): ProviderRefund => {
    const requestId = textIn(fields, 'reference', REFERENCE)
    const amount = amountIn(fields)
    textIn(fields, 'reason')
    if (findRefund(requestId)) throw new Refused(409, 'refund_exists', 'There is a refund with this reference')
    if (payment.state !== 'paid') throw new Refused(409, 'payment_not_paid', 'The payment is not paid')
    if (!isAtLeast(payerConsole.refundable(payment), amount))
      throw new Refused(422, 'refund_too_large', `Only ${payerConsole.refundable(payment)} is left`)
    return payerConsole.refund(payment, { id: `re_${randomBytes(9).toString('hex')}`, requestId, amount })
  }

  const answer = async (request: FastifyRequest, reply: FastifyReply, work: () => unknown): Promise<unknown> => {
    try {
      authenticate(request)
      return await work()
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return reply.code(error.status).send({ error: { code: error.code, message: error.message } })
    }
  }

  return {
    prefix: PREFIX,
    name: '__NAME__',
    credentialHeader: 'x-api-key',
    register(app: FastifyInstance) {
      type ById = { Params: { id: string } }
      type ByReference = { Querystring: Fields }
      app.post('/v1/payments', (request, reply) =>
        answer(request, reply, async () => {
          const payment = create(readBody(request))
          await payerConsole.beforeAnswer(request, payment)
          reply.code(201)
          return view(payment)
        }),
      )
      app.get<ByReference>('/v1/payments', (request, reply) =>
        answer(request, reply, () =>
          view(found(payerConsole.findByMerchant(PREFIX, textIn(request.query, 'reference', REFERENCE)))),
        ),
      )
      app.get<ById>('/v1/payments/:id', (request, reply) =>
        answer(request, reply, () => view(found(payerConsole.find(request.params.id)))),
      )
      app.post<ById>('/v1/payments/:id/close', (request, reply) =>
        answer(request, reply, () => {
          readBody(request)
          const payment = found(payerConsole.find(request.params.id))
          if (payment.state !== 'open') throw new Refused(409, 'payment_not_open', 'The payment is not open')
          payerConsole.close(payment)
          return view(payment)
        }),
      )
      app.post<ById>('/v1/payments/:id/refunds', (request, reply) =>
        answer(request, reply, () => {
          const payment = found(payerConsole.find(request.params.id))
          const made = refund(payment, readBody(request))
          reply.code(201)
          return refundView(payment, made)
        }),
      )
      app.get<ByReference>('/v1/refunds', (request, reply) =>
        answer(request, reply, () => {
          const kept = findRefund(textIn(request.query, 'reference', REFERENCE))
          if (!kept) throw new Refused(404, 'refund_not_found', 'There is no such refund')
          return refundView(kept.payment, kept.refund)
        }),
      )
    },
    callbacks(payment, event, kept) {
      const type = typeOf(event)
      if (type === undefined || payment.callbackUrl === null) return []
      const about = kept ? { refund: refundView(payment, kept) } : { payment: view(payment) }
      const body = JSON.stringify({ type, ...about })
      const timestamp = String(now())
      const signature = createHmac('sha256', callbackSecret).update(`${timestamp}.${body}`).digest('hex')
      const headers = { 'content-type': 'application/json', 'x-signature': `t=${timestamp},v1=${signature}` }
      return [{ url: payment.callbackUrl, headers, body }]
    },
    forge: (callback) => ({
      ...callback,
      headers: { ...callback.headers, 'x-signature': `t=${now()},v1=${randomBytes(32).toString('hex')}` },
    }),
    isAcknowledged: (status) => status >= 200 && status < 300,
    retryDelaysMs: RETRY_DELAYS_MS,
    credentials: () => ({
      CHANNEL___ENV___BASE_URL: `${url}/${PREFIX}`,
      CHANNEL___ENV___API_KEY: apiKey,
      CHANNEL___ENV___API_SECRET: apiSecret,
      CHANNEL___ENV___CALLBACK_SECRET: callbackSecret,
    }),
  }

  function statusOf({ state, unknownStatus, facts }: ProviderPayment): string {
    if (unknownStatus) return 'under_mystery'
    if (state === 'failed' && facts.blocked === true) return 'blocked'
    return state === 'part' ? 'partly_paid' : state
  }

  /** Undefined: the provider sends no callback for it. */
  function typeOf(event: PaymentEvent): string | undefined {
    if (event === 'created' || event === 'confirming') return undefined
    if (event === 'part') return 'payment.partly_paid'
    return event.startsWith('refund-') ? event.replace('-', '.') : `payment.${event}`
  }
}
