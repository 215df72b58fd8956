import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EXPONENTS, paymentObject, refundObject } from './cryptopay-objects.ts'
import { isAtLeast, textOf } from './decimal.ts'
import type { DeskPayment, DeskRefund, Happening, Imitation, ImitationOptions, SignedCallback } from './imitation.ts'

/** Without `expired_at` a payment is open for this long. */
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

const EVENTS: Partial<Record<Happening, string>> = {
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
  const { desk, url, callbackBase, secretOf, now } = options
  const keys = [
    { key: `sk_test_${secretOf('cryptopay test key').slice(0, 40)}`, live: false },
    { key: `sk_live_${secretOf('cryptopay live key').slice(0, 40)}`, live: true },
  ]
  const webhookSecret = `whsec_${secretOf('cryptopay webhook').slice(0, 40)}`
  const formerSecret = `whsec_${secretOf('cryptopay former webhook').slice(0, 40)}`

  /** Bearer, or Basic with the key as the user's name and no password. @returns whether the key is a live one */
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

  const find = (reference: string, live: boolean): DeskPayment => {
    const found = desk.find(reference)
    if (found?.provider !== 'cryptopay' || found.facts.live !== live)
      throw new Refused(404, 'invalid_request_error', 'resource_not_found', 'id')
    return desk.refresh(found)
  }

  const readMinor = (form: URLSearchParams, currency: string): string => {
    const text = form.get('amount') ?? ''
    if (!/^[1-9]\d{0,40}$/.test(text)) throw invalid('amount')
    return textOf(BigInt(text), EXPONENTS[currency])
  }

  const create = (form: URLSearchParams, live: boolean): DeskPayment => {
    const currency = form.get('currency') ?? ''
    if (EXPONENTS[currency] === undefined) throw invalid('currency')
    const amount = readMinor(form, currency)
    const expiry = form.get('expired_at')
    if (expiry !== null && !(/^\d{10}$/.test(expiry) && Number(expiry) * 1000 > now())) throw invalid('expired_at')
    if (!['true', 'false', null].includes(form.get('onchain_allowed'))) throw invalid('onchain_allowed')
    return desk.open({
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

  const refund = (form: URLSearchParams, live: boolean): string => {
    const payment = find(form.get('payment_id') ?? '', live)
    if (form.get('currency') !== payment.currency) throw invalid('currency')
    const amount = readMinor(form, payment.currency)
    if (payment.state !== 'paid') throw invalid('payment_id', 'payment_not_captured')
    if (!isAtLeast(desk.refundable(payment), amount)) throw invalid('amount', 'amount_too_large')
    const id = randomUUID()
    return refundObject(payment, desk.refund(payment, { id, requestId: id, amount }))
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

  /** An unknown scheme first; while a payment is captured as if the secret were just being exchanged. */
  const sign = (body: string, type: string): string => {
    const t = Math.floor(now() / 1000)
    const hmac = (secret: string): string => createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
    const former = type === 'payment.captured' ? [`v1=${hmac(formerSecret)}`] : []
    return [`t=${t}`, `v0=${randomBytes(32).toString('hex')}`, ...former, `v1=${hmac(webhookSecret)}`].join(',')
  }

  const tell = (payment: DeskPayment, type: string, kept?: DeskRefund): SignedCallback => {
    const id = uuidOf(`${type} ${payment.reference} ${kept?.id ?? ''}`)
    const created = Math.floor((kept?.createdAt ?? payment.createdAt) / 1000)
    const object = kept ? refundObject(payment, kept) : paymentObject(payment, { url, nowMs: now() })
    const body = `{"id":"${id}","object_type":"event","type":"${type}","created":${created},"data":{"object":${object}}}`
    const headers = { 'content-type': 'application/json', 'Pay-Signature': sign(body, type) }
    return { url: `${callbackBase}/api/next/channels/cryptopay/callback`, headers, body }
  }

  const shown = (payment: DeskPayment): string => paymentObject(payment, { url, nowMs: now() })

  return {
    prefix: 'cryptopay',
    name: 'Crypto.com Pay',
    register(app: FastifyInstance) {
      // clients use both spellings, with and without a slash at the end
      for (const end of ['', '/']) {
        app.post(`/payments${end}`, (request, reply) =>
          answer(request, reply, async (live) => {
            const payment = create(readForm(request), live)
            await desk.beforeAnswer(request, payment)
            return shown(payment)
          }),
        )
        app.post(`/refunds${end}`, (request, reply) =>
          answer(request, reply, (live) => refund(readForm(request), live)),
        )
      }
      app.get<{ Params: { id: string } }>('/payments/:id', (request, reply) =>
        answer(request, reply, (live) => shown(find(request.params.id, live))),
      )
      app.post<{ Params: { id: string } }>('/payments/:id/cancel', (request, reply) =>
        answer(request, reply, (live) => {
          const payment = find(request.params.id, live)
          if (!desk.close(payment)) throw invalid('id', 'payment_not_pending')
          return shown(payment)
        }),
      )
    },
    callbacks(payment, happening, kept) {
      const type = EVENTS[happening]
      return type === undefined ? [] : [tell(payment, type, kept)]
    },
    forge(callback) {
      const signature = (callback.headers['Pay-Signature'] ?? '').replace(/v1=[0-9a-f]+/g, () => {
        return `v1=${randomBytes(32).toString('hex')}`
      })
      return { ...callback, headers: { ...callback.headers, 'Pay-Signature': signature } }
    },
    isAcknowledged: (status) => status === 200,
    // no document tells whether it repeats: the strict reading is that it does not
    retryDelaysMs: [],
    credentials: () => ({
      CHANNEL_CRYPTOPAY_BASE_URL: `${url}/cryptopay`,
      CHANNEL_CRYPTOPAY_SECRET_KEY: keys[0]?.key ?? '',
      CHANNEL_CRYPTOPAY_WEBHOOK_SECRET: webhookSecret,
    }),
  }
}
