import { createHash, createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAtLeast, subtract } from './decimal.ts'
import { type Fields, NumberText, parseExact } from './exact-json.ts'
import { chainsOf } from './gatepay/chains.ts'
import {
  CLOSED_STATUSES,
  callbacksOf,
  isLate,
  orderFields,
  type Quirks,
  refundFields,
  unresolvedBody,
} from './gatepay/objects.ts'
import { checkAmount, createdFields, Refused, readOrder, textIn } from './gatepay/orders.ts'
import type { Imitation, ProviderPayment, SignedCallback } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'

const REFUND_MS = 1000
const MAX_DRIFT_MS = 10_000
const SECOND_MS = 1000
const MINUTE_MS = 60_000

/** Webhooks, "retries": 15 s, 15 s, 30 s, 3, 10 and 20 minutes, 3 × 30 minutes, an hour, 3 × 3 hours, 2 × 6 hours. */
const RETRY_DELAYS_MS = [
  ...[15, 15, 30].map((seconds) => seconds * SECOND_MS),
  ...[3, 10, 20, 30, 30, 30, 60, 180, 180, 180, 360, 360].map((minutes) => minutes * MINUTE_MS),
]
/** An institution uses the same paths below this one, and says for whom (institution/…, "notes"). */
const INSTITUTION = '/payment/open/institution'
const REFUND_STYLES = ['1', '2']

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
    if (request.url.includes(INSTITUTION) && header('on-behalf-of') === '')
      throw new Refused('400001', 'X-GatePay-On-Behalf-Of')
  }

  const readBody = (request: FastifyRequest): Fields => {
    if (!/^application\/json\b/.test(String(request.headers['content-type'])))
      throw new Refused('400007', 'Unsupported media type')
    const fields = parseExact(request.body)
    if (!fields) throw new Refused('400001', 'The body is not JSON')
    return fields
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
    const order = readOrder(fields, now())
    if (payerConsole.findByMerchant('gatepay', order.merchantReference))
      throw new Refused('400201', 'merchantTradeNo already used')
    return payerConsole.open({ ...order, reference: `5${randomInt(1e14)}`.padEnd(17, '0'), provider: 'gatepay' })
  }

  const linkOf = ({ reference }: ProviderPayment): string => `${url}/payments/${reference}`

  const refund = (fields: Fields): { payment: ProviderPayment; view: Fields } => {
    const payment = find({ prepayId: textIn(fields, 'prepayId') })
    const requestId = textIn(fields, 'refundRequestId')
    const amount = textIn(fields, 'refundAmount')
    const style = fields.refundStyle instanceof NumberText ? fields.refundStyle.text : ''
    if (requestId === '' || !REFUND_STYLES.includes(style)) throw new Refused('400001', 'refund')
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

  const routes = (app: FastifyInstance, root: string): void => {
    app.post(`${root}/v1/pay/checkout/order`, (request, reply) =>
      answer(reply, request, async () => {
        const payment = create(readBody(request))
        await payerConsole.beforeAnswer(request, payment)
        // JSON as text inside JSON, as the original sends it
        return JSON.stringify(createdFields(payment, linkOf(payment)))
      }),
    )
    app.get<{ Querystring: Fields }>(`${root}/v2/pay/order/query`, (request, reply) =>
      answer(reply, request, () => {
        const payment = find(request.query)
        const fields = {
          ...orderFields(payment, quirks),
          location: linkOf(payment),
          qrcode: linkOf(payment),
        }
        // checkout/orderQuery shows a second envelope inside the first
        return request.query.prepayId ? { bizCode: '000000', bizData: fields, bizMessage: '' } : JSON.stringify(fields)
      }),
    )
    app.post(`${root}/v1/pay/order/close`, (request, reply) =>
      answer(reply, request, () => {
        const payment = find(readBody(request))
        if (!payerConsole.close(payment)) throw new Refused('400204', 'Order cannot be closed')
        return { result: 'SUCCESS' }
      }),
    )
    app.post(`${root}/v2/standard/order/refund`, (request, reply) =>
      answer(reply, request, async () => {
        const { payment, view } = refund(readBody(request))
        await payerConsole.beforeRefundAnswer(request, payment)
        return view
      }),
    )
    app.get<{ Querystring: Fields }>(`${root}/v2/pay/refund/details`, (request, reply) =>
      answer(reply, request, () => refundDetails(textIn(request.query, 'refundRequestId'))),
    )
    app.get<{ Querystring: Fields }>(`${root}/v1/pay/address/chains`, (request, reply) =>
      answer(reply, request, () => {
        const currency = textIn(request.query, 'currency')
        if (currency === '') throw new Refused('400001', 'currency')
        return { currency, chains: chainsOf(currency) }
      }),
    )
  }

  return {
    prefix: 'gatepay',
    name: 'Gate Pay',
    credentialHeader: 'x-gatepay-signature',
    register(app: FastifyInstance) {
      for (const root of ['', INSTITUTION]) routes(app, root)
      app.post('/console', async (request) => {
        const { closedStatus, zeroPayAmount } = JSON.parse(String(request.body)) as Fields
        quirks.closedStatus = CLOSED_STATUSES.find((word) => word === closedStatus) ?? quirks.closedStatus
        if (typeof zeroPayAmount === 'boolean') quirks.zeroPayAmount = zeroPayAmount
        return quirks
      })
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
      return body === undefined ? [] : [signed(payment, body)]
    },
    unresolved(payment, reason, deposit) {
      const body = unresolvedBody(payment, reason, deposit, now())
      return () => signed(payment, body)
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

  function signed({ callbackUrl }: ProviderPayment, body: string): SignedCallback {
    const timestamp = String(now())
    const nonce = randomBytes(8).toString('hex')
    const headers = {
      'content-type': 'application/json',
      'X-GatePay-Timestamp': timestamp,
      'X-GatePay-Nonce': nonce,
      'X-GatePay-Signature': sign(timestamp, nonce, body),
    }
    return { url: callbackUrl ?? `${callbackBase}/api/next/channels/gatepay/callback`, headers, body }
  }
}
