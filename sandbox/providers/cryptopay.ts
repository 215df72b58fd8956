import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EXPONENTS, isCaptured, paymentObject, type RefundCounting, refundObject } from './cryptopay/objects.ts'
import { isAtLeast, textOf } from './decimal.ts'
import type { Imitation, PaymentEvent, ProviderPayment, ProviderRefund, SignedCallback } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'

/** Without `expired_at` the window is `time_window` = 600 s ("payments"). */
const WINDOW_MS = 600_000

/** An answer with an error object. */
class Refused extends Error {
  readonly status: number
  readonly error: { type: string; code: string; error_message: string; param?: string }
  constructor(status: number, type: string, code: string, param?: string) {
    super(code)
    this.status = status
    this.error = { type, code, error_message: `${param ?? ''} ${code}`.trim(), ...(param ? { param } : {}) }
  }
}

const invalid = (param: string, code = 'parameter_invalid'): Refused =>
  new Refused(400, 'invalid_request_error', code, param)

/** Event types ("webhooks"). A refused refund has none. */
const EVENTS: Partial<Record<PaymentEvent, string>> = {
  created: 'payment.created',
  paid: 'payment.captured',
  'refund-pending': 'payment.refund_requested',
  'refund-settled': 'payment.refund_transferred',
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
const isSame = (left: string, right: string): boolean =>
  timingSafeEqual(Buffer.from(digest(left)), Buffer.from(digest(right)))

const uuidOf = (text: string): string => {
  const hex = digest(text)
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

export const openCryptopay = (options: ImitationOptions): Imitation => {
  const { payerConsole, url, callbackBase, secretOf, now } = options
  const keys = [
    { key: `sk_test_${secretOf('cryptopay test key').slice(0, 40)}`, live: false },
    { key: `sk_live_${secretOf('cryptopay live key').slice(0, 40)}`, live: true },
  ]
  const webhookSecret = `whsec_${secretOf('cryptopay webhook').slice(0, 40)}`
  const formerSecret = `whsec_${secretOf('cryptopay former webhook').slice(0, 40)}`
  /**
   * Switches for the sandbox's staff: no document says when `amount_refunded` grows, and money after the end goes back
   * (help centre, "unresolved payments"), but a capture that comes too late must not be lost either.
   */
  const quirks: { amountRefundedAt: RefundCounting; returnsLate: boolean } = {
    amountRefundedAt: 'request',
    returnsLate: false,
  }

  /** Bearer, or Basic with the key as user name and no password. @returns whether the key is a live one */
  const authenticate = ({ headers }: FastifyRequest): boolean => {
    const [scheme = '', rest = ''] = String(headers.authorization ?? '').split(' ')
    const basic = Buffer.from(rest, 'base64').toString('utf8')
    const given = { Bearer: rest, Basic: basic.endsWith(':') ? basic.slice(0, -1) : '' }[scheme] ?? ''
    const found = keys.find(({ key }) => isSame(key, given))
    if (!found) throw new Refused(401, 'authentication_error', 'unauthorized')
    return found.live
  }

  const readForm = (request: FastifyRequest): URLSearchParams => {
    if (!/^application\/x-www-form-urlencoded\b/.test(String(request.headers['content-type'])))
      throw invalid('body', 'content_type_invalid')
    return new URLSearchParams(String(request.body ?? ''))
  }

  const find = (reference: string, live: boolean): ProviderPayment => {
    const found = payerConsole.find(reference)
    if (found?.provider !== 'cryptopay' || found.facts.live !== live)
      throw new Refused(404, 'invalid_request_error', 'resource_not_found', 'id')
    return payerConsole.refresh(found)
  }

  const readMinor = (form: URLSearchParams, currency: string): string => {
    const text = form.get('amount') ?? ''
    if (!/^[1-9]\d{0,40}$/.test(text)) throw invalid('amount')
    return textOf(BigInt(text), EXPONENTS[currency])
  }

  const create = (form: URLSearchParams, live: boolean): ProviderPayment => {
    const currency = form.get('currency') ?? ''
    if (EXPONENTS[currency] === undefined) throw invalid('currency')
    const amount = readMinor(form, currency)
    const expiry = form.get('expired_at')
    if (expiry !== null && !(/^\d{10}$/.test(expiry) && Number(expiry) * 1000 > now())) throw invalid('expired_at')
    if (!['true', 'false', null].includes(form.get('onchain_allowed'))) throw invalid('onchain_allowed')
    return payerConsole.open({
      reference: randomUUID(),
      provider: 'cryptopay',
      merchantReference: form.get('order_id') ?? '',
      amount,
      currency,
      expiresAt: expiry === null ? now() + WINDOW_MS : Number(expiry) * 1000,
      returnUrl: form.get('return_url'),
      cancelUrl: form.get('cancel_url'),
      facts: { live, description: form.get('description') ?? '', onchain: form.get('onchain_allowed') === 'true' },
    })
  }

  const refund = (form: URLSearchParams, live: boolean): { payment: ProviderPayment; object: string } => {
    const payment = find(form.get('payment_id') ?? '', live)
    if (form.get('currency') !== payment.currency) throw invalid('currency')
    const amount = readMinor(form, payment.currency)
    if (!isCaptured(payment)) throw invalid('payment_id', 'payment_not_captured')
    if (!isAtLeast(payerConsole.refundable(payment), amount)) throw invalid('amount', 'amount_too_large')
    const id = randomUUID()
    const facts = { reason: form.get('reason'), description: form.get('description') }
    // two refunds may run concurrently: no document says otherwise, and there is no idempotency key
    const kept = payerConsole.refund(payment, { id, requestId: id, amount, facts })
    return { payment, object: refundObject(payment, kept) }
  }

  const answer = async (
    request: FastifyRequest,
    reply: FastifyReply,
    work: (live: boolean) => string | Promise<string>,
  ): Promise<FastifyReply> => {
    reply.type('application/json')
    try {
      return reply.send(await work(authenticate(request)))
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return reply.code(error.status).send(JSON.stringify({ error: error.error }))
    }
  }

  /**
   * An unknown scheme comes first; `payment.captured` also carries a signature by the previous secret, as in a
   * rotation.
   */
  const sign = (body: string, type: string): string => {
    const t = Math.floor(now() / 1000)
    const hmac = (secret: string): string => createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
    const former = type === 'payment.captured' ? [`v1=${hmac(formerSecret)}`] : []
    return [`t=${t}`, `v0=${randomBytes(32).toString('hex')}`, ...former, `v1=${hmac(webhookSecret)}`].join(',')
  }

  const view = (payment: ProviderPayment): string =>
    paymentObject(payment, { url, nowMs: now(), counting: quirks.amountRefundedAt })

  const callback = (payment: ProviderPayment, type: string, kept?: ProviderRefund): SignedCallback => {
    const id = uuidOf(`${type} ${payment.reference} ${kept?.id ?? ''}`)
    const created = Math.floor((kept?.createdAt ?? payment.createdAt) / 1000)
    const object = kept ? refundObject(payment, kept) : view(payment)
    const body = `{"id":"${id}","object_type":"event","type":"${type}","created":${created},"data":{"object":${object}}}`
    const headers = { 'content-type': 'application/json', 'Pay-Signature': sign(body, type) }
    return { url: `${callbackBase}/api/next/channels/cryptopay/callback`, headers, body }
  }

  return {
    prefix: 'cryptopay',
    name: 'Crypto.com Pay',
    credentialHeader: 'authorization',
    register(app: FastifyInstance) {
      app.post('/console', async (request) => {
        const { amountRefundedAt: at, returnsLate } = JSON.parse(String(request.body)) as Record<string, unknown>
        if (at === 'request' || at === 'transfer') quirks.amountRefundedAt = at
        if (typeof returnsLate === 'boolean') quirks.returnsLate = returnsLate
        return quirks
      })
      // clients use both spellings, with and without a trailing slash
      for (const end of ['', '/']) {
        app.post(`/payments${end}`, (request, reply) =>
          answer(request, reply, async (live) => {
            const payment = create(readForm(request), live)
            await payerConsole.beforeAnswer(request, payment)
            return view(payment)
          }),
        )
        app.post(`/refunds${end}`, (request, reply) =>
          answer(request, reply, async (live) => {
            const { payment, object } = refund(readForm(request), live)
            await payerConsole.beforeRefundAnswer(request, payment)
            return object
          }),
        )
      }
      app.get<{ Params: { id: string } }>('/payments/:id', (request, reply) =>
        answer(request, reply, (live) => view(find(request.params.id, live))),
      )
      app.post<{ Params: { id: string } }>('/payments/:id/cancel', (request, reply) =>
        answer(request, reply, (live) => {
          const payment = find(request.params.id, live)
          if (!payerConsole.close(payment)) throw invalid('id', 'payment_not_pending')
          return view(payment)
        }),
      )
    },
    reportsConfirmations: true,
    /**
     * Only the whole price at once completes a payment: what was too little goes back to the payer, and so does what is
     * too much (help centre, "unresolved payments"; "underpayment": "by sending the exact amount").
     */
    async receive(payment, { amount = payment.amount }) {
      const isLate = payment.state === 'expired' || payment.state === 'closed'
      if (isLate && quirks.returnsLate) payment.facts.late = true
      payment.received = '0'
      return isAtLeast(amount, payment.amount) ? payment.amount : amount
    },
    callbacks(payment, event, kept) {
      const type = event === 'paid' && !isCaptured(payment) ? undefined : EVENTS[event]
      return type === undefined ? [] : [callback(payment, type, kept)]
    },
    forge(callback) {
      const signature = (callback.headers['Pay-Signature'] ?? '').replace(/v1=[0-9a-f]+/g, () => {
        return `v1=${randomBytes(32).toString('hex')}`
      })
      return { ...callback, headers: { ...callback.headers, 'Pay-Signature': signature } }
    },
    isAcknowledged: (status) => status === 200,
    // no document says that a callback is repeated; the strict reading is that it is not
    retryDelaysMs: [],
    credentials: () => ({
      CHANNEL_CRYPTOPAY_BASE_URL: `${url}/cryptopay`,
      CHANNEL_CRYPTOPAY_SECRET_KEY: keys[0]?.key ?? '',
      CHANNEL_CRYPTOPAY_WEBHOOK_SECRET: webhookSecret,
    }),
  }
}
