import { createHash, createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAtLeast, subtract, unitsOf } from './decimal.ts'
import {
  CLOSED_STATUSES,
  callbacksOf,
  isLate,
  orderFields,
  type Quirks,
  refundFields,
  unresolvedBody,
} from './gatepay/objects.ts'
import type { Imitation, ProviderPayment, SignedCallback } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'

const HOUR_MS = 3_600_000
const REFUND_MS = 1000
const MAX_DRIFT_MS = 10_000
const SECOND_MS = 1000
const MINUTE_MS = 60_000

/** Webhooks, "retries": 15 s, 15 s, 30 s, 3, 10 and 20 minutes, 3 × 30 minutes, an hour, 3 × 3 hours, 2 × 6 hours. */
const RETRY_DELAYS_MS = [
  ...[15, 15, 30].map((seconds) => seconds * SECOND_MS),
  ...[3, 10, 20, 30, 30, 30, 60, 180, 180, 180, 360, 360].map((minutes) => minutes * MINUTE_MS),
]
const TERMINALS = ['APP', 'WEB', 'WAP', 'MINIAPP', 'OTHERS']
const CURRENCIES = ['USDC', 'USDT', 'BTC', 'ETH', 'GT']

/** A business error; it comes with HTTP 200 ("error codes"). */
class Refused extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

type Fields = Record<string, unknown>
const textIn = (fields: Fields, name: string): string => (typeof fields[name] === 'string' ? fields[name] : '')
const innerOf = (fields: Fields, name: string): Fields => (fields[name] ?? {}) as Fields

const isSame = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))

export const openGatepay = (options: ImitationOptions): Imitation => {
  const { payerConsole, url, callbackBase, secretOf, now } = options
  const clientId = `gate-${createHash('sha256').update(secretOf('gatepay client')).digest('hex').slice(0, 20)}`
  const secret = secretOf('gatepay secret')
  const nonces = new Set<string>()
  const quirks: Quirks = { closedStatus: 'EXPIRED', zeroPayAmount: false }

  const sign = (timestamp: string, nonce: string, body: string | Buffer): string => {
    const head = Buffer.from(`${timestamp}\n${nonce}\n`)
    return createHmac('sha512', secret)
      .update(Buffer.concat([head, Buffer.from(body), Buffer.from('\n')]))
      .digest('hex')
  }

  const authenticate = (request: FastifyRequest): void => {
    const header = (name: string): string => String(request.headers[`x-gatepay-${name}`] ?? '')
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const timestamp = header('timestamp')
    const nonce = header('nonce')
    if (!/^\d{13}$/.test(timestamp) || Math.abs(now() - Number(timestamp)) > MAX_DRIFT_MS)
      throw new Refused('400003', 'Invalid timestamp')
    if (!/^[A-Za-z0-9]{1,32}$/.test(nonce)) throw new Refused('400020', 'Invalid nonce')
    if (header('certificate-clientid') !== clientId || !isSame(header('signature'), sign(timestamp, nonce, body)))
      throw new Refused('400002', 'Invalid signature')
    if (nonces.has(`${timestamp} ${nonce}`)) throw new Refused('400020', 'Repeated nonce')
    if (nonces.size > 10_000) nonces.clear()
    nonces.add(`${timestamp} ${nonce}`)
  }

  const readBody = (request: FastifyRequest): Fields => {
    if (!/^application\/json\b/.test(String(request.headers['content-type'])))
      throw new Refused('400007', 'Unsupported media type')
    try {
      return JSON.parse(String(request.body)) as Fields
    } catch {
      throw new Refused('400001', 'The body is not JSON')
    }
  }

  const find = (fields: Fields): ProviderPayment => {
    const prepayId = textIn(fields, 'prepayId')
    const found = prepayId
      ? payerConsole.find(prepayId)
      : payerConsole.findByMerchant('gatepay', textIn(fields, 'merchantTradeNo'))
    if (found?.provider !== 'gatepay') throw new Refused('400202', 'Order not found')
    return payerConsole.refresh(found)
  }

  const create = (fields: Fields): ProviderPayment => {
    const merchantReference = textIn(fields, 'merchantTradeNo')
    if (!/^[A-Za-z0-9_-]{5,32}$/.test(merchantReference)) throw new Refused('400001', 'merchantTradeNo')
    if (!TERMINALS.includes(textIn(innerOf(fields, 'env'), 'terminalType'))) throw new Refused('400001', 'terminalType')
    if (textIn(innerOf(fields, 'goods'), 'goodsName') === '') throw new Refused('400001', 'goodsName')
    if (!CURRENCIES.includes(textIn(fields, 'currency'))) throw new Refused('400001', 'currency')
    const amount = textIn(fields, 'orderAmount')
    checkAmount(amount)
    const tolerance = textIn(fields, 'toleranceAmount') || '0'
    if (unitsOf(tolerance, 6) === undefined) throw new Refused('400621', 'toleranceAmount')
    const expiresAt = fields.orderExpireTime ?? now() + HOUR_MS
    if (typeof expiresAt !== 'number' || expiresAt <= now() || expiresAt > now() + HOUR_MS)
      throw new Refused('400001', 'orderExpireTime')
    if (payerConsole.findByMerchant('gatepay', merchantReference))
      throw new Refused('400201', 'merchantTradeNo already used')
    return payerConsole.open({
      reference: `5${randomInt(1e14)}`.padEnd(17, '0'),
      provider: 'gatepay',
      merchantReference,
      amount,
      currency: textIn(fields, 'currency'),
      expiresAt,
      returnUrl: textIn(fields, 'returnUrl') || null,
      cancelUrl: textIn(fields, 'cancelUrl') || null,
      facts: { goodsName: textIn(innerOf(fields, 'goods'), 'goodsName'), tolerance },
    })
  }

  const linkOf = ({ reference }: ProviderPayment): string => `${url}/payments/${reference}`

  const createdFields = (payment: ProviderPayment): Fields => ({
    prepayId: payment.reference,
    terminalType: 'WEB',
    expireTime: payment.expiresAt,
    qrContent: linkOf(payment),
    location: linkOf(payment),
    currency: payment.currency,
    orderAmount: payment.amount,
    toleranceAmount: '0',
  })

  const refund = (fields: Fields): { payment: ProviderPayment; view: Fields } => {
    const payment = find({ prepayId: textIn(fields, 'prepayId') })
    const requestId = textIn(fields, 'refundRequestId')
    const amount = textIn(fields, 'refundAmount')
    if (requestId === '' || ![1, 2].includes(fields.refundStyle as number)) throw new Refused('400001', 'refund')
    checkAmount(amount)
    if (payment.state !== 'paid' || isLate(payment)) throw new Refused('400204', 'Order is not paid')
    const earlier = payment.refunds.find((one) => one.requestId === requestId)
    if (earlier && earlier.amount !== amount) throw new Refused('400001', 'refundRequestId already used')
    if (!earlier && !isAtLeast(payerConsole.refundable(payment), amount))
      throw new Refused('400621', 'more than was paid')
    const id = `8${randomInt(1e14)}`.padEnd(17, '0')
    const kept = earlier ?? payerConsole.refund(payment, { id, requestId, amount }, REFUND_MS)
    return { payment, view: refundFields(payment, kept) }
  }

  const refundDetails = (requestId: string): Fields => {
    for (const payment of payerConsole.list().filter(({ provider }) => provider === 'gatepay')) {
      const kept = payment.refunds.find((one) => one.requestId === requestId)
      if (kept) return refundFields(payment, kept)
    }
    throw new Refused('400202', 'Refund not found')
  }

  /** Every answer is HTTP 200; its code tells what went wrong. */
  const answer = async (reply: FastifyReply, request: FastifyRequest, work: () => unknown): Promise<unknown> => {
    reply.type('application/json')
    try {
      authenticate(request)
      return { status: 'SUCCESS', code: '000000', label: '', errorMessage: '', data: await work() }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return { status: 'FAIL', code: error.code, label: 'FAIL', errorMessage: error.message, data: {} }
    }
  }

  return {
    prefix: 'gatepay',
    name: 'Gate Pay',
    credentialHeader: 'x-gatepay-signature',
    register(app: FastifyInstance) {
      app.post('/v1/pay/checkout/order', (request, reply) =>
        answer(reply, request, async () => {
          const payment = create(readBody(request))
          await payerConsole.beforeAnswer(request, payment)
          // JSON as text inside JSON, as the original sends it
          return JSON.stringify(createdFields(payment))
        }),
      )
      app.get<{ Querystring: Fields }>('/v2/pay/order/query', (request, reply) =>
        answer(reply, request, () => {
          const payment = find(request.query)
          const fields = {
            ...orderFields(payment, quirks),
            location: linkOf(payment),
            qrcode: linkOf(payment),
          }
          // checkout/orderQuery shows a second envelope inside the first
          return request.query.prepayId
            ? { bizCode: '000000', bizData: fields, bizMessage: '' }
            : JSON.stringify(fields)
        }),
      )
      app.post('/v1/pay/order/close', (request, reply) =>
        answer(reply, request, () => {
          const payment = find(readBody(request))
          if (!payerConsole.close(payment)) throw new Refused('400204', 'Order cannot be closed')
          return { result: 'SUCCESS' }
        }),
      )
      app.post('/v2/standard/order/refund', (request, reply) =>
        answer(reply, request, async () => {
          const { payment, view } = refund(readBody(request))
          await payerConsole.beforeRefundAnswer(request, payment)
          return view
        }),
      )
      app.post('/console', async (request) => {
        const { closedStatus, zeroPayAmount } = JSON.parse(String(request.body)) as Fields
        quirks.closedStatus = CLOSED_STATUSES.find((word) => word === closedStatus) ?? quirks.closedStatus
        if (typeof zeroPayAmount === 'boolean') quirks.zeroPayAmount = zeroPayAmount
        return quirks
      })
      app.get<{ Querystring: Fields }>('/v2/pay/refund/details', (request, reply) =>
        answer(reply, request, () => refundDetails(textIn(request.query, 'refundRequestId'))),
      )
    },
    reportsConfirmations: true,
    creditsSurplus: true,
    /** Money after the order's end does not count; it is reported as a delay. */
    async receive(payment, { amount = subtract(payment.amount, payment.received) }) {
      payment.facts.transactTime = now()
      if (payment.state === 'expired' || payment.state === 'closed') payment.facts.late = true
      if (payment.state === 'closed') payment.facts.closedBefore = true
      if (payment.state === 'paid') payment.facts.surplus = !isLate(payment)
      return amount
    },
    callbacks(payment, event, kept) {
      const body = callbacksOf(payment, event, kept, clientId)
      return body === undefined ? [] : [signed(body)]
    },
    unresolved(payment, reason, deposit) {
      const body = unresolvedBody(payment, reason, deposit, now())
      return () => signed(body)
    },
    forge: (callback) => ({
      ...callback,
      headers: { ...callback.headers, 'X-GatePay-Signature': randomBytes(64).toString('hex') },
    }),
    isAcknowledged(status, body) {
      try {
        return status === 200 && (JSON.parse(body) as Fields).returnCode === 'SUCCESS'
      } catch {
        return false
      }
    },
    retryDelaysMs: RETRY_DELAYS_MS,
    credentials: () => ({
      CHANNEL_GATEPAY_BASE_URL: `${url}/gatepay`,
      CHANNEL_GATEPAY_CLIENT_ID: clientId,
      CHANNEL_GATEPAY_SECRET: secret,
    }),
  }

  function signed(body: string): SignedCallback {
    const timestamp = String(now())
    const nonce = randomBytes(8).toString('hex')
    const headers = {
      'content-type': 'application/json',
      'X-GatePay-Timestamp': timestamp,
      'X-GatePay-Nonce': nonce,
      'X-GatePay-Signature': sign(timestamp, nonce, body),
    }
    return { url: `${callbackBase}/api/next/channels/gatepay/callback`, headers, body }
  }

  function checkAmount(amount: string): void {
    const units = unitsOf(amount, 6)
    if (units === undefined || units < 100n || units > 5_000_000_000_000n) throw new Refused('400621', 'amount')
  }
}
