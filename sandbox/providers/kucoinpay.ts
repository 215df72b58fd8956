import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isAtLeast, unitsOf } from './decimal.ts'
import { exactNumber, type Fields, isText, parseExact } from './exact-json.ts'
import type { DeskPayment, DeskRefund, Happening, Imitation, ImitationOptions, SignedCallback } from './imitation.ts'
import {
  CALL_NAMES,
  isSignature,
  type No,
  REFUND_NAMES,
  sealPayer,
  signatureText,
  signedWith,
  TRADE_NAMES,
  textOf,
} from './kucoinpay-protocol.ts'
import { rsaKeyOf } from './rsa-keys.ts'

const CLOCK_MS = 60_000
const LONGEST_MS = 3_600_000
const MOST = '1000000'
const VERSIONS = ['1.0', '3.8.1']
const MERCHANT_ID = 'm-001'

type Answered = { data: unknown } | No
type Path = keyof typeof CALL_NAMES

const no = (code: string, msg: string): No => ({ code, msg })

const header = (request: FastifyRequest, name: string): string => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

/** Canonical decimal text of a number or a string: no exponent, no zeros at the end, at most 6 digits. */
function amountOf(value: unknown): string | No {
  const text = textOf(value)
  if (text === undefined || !/^(0|[1-9]\d*)(\.\d*[1-9])?$/.test(text))
    return no('4001', 'amount is missing or malformed')
  if (unitsOf(text, 6) === undefined) return no('480026', 'too many decimals')
  return text
}

const isNo = (value: string | No): value is No => typeof value !== 'string'

function statusOf(payment: DeskPayment): string {
  if (payment.unknownWord) return 'ORBITING'
  const { state } = payment
  if (state === 'open') return 'CREATED'
  if (state === 'part') return 'PROCESSING'
  if (state === 'paid') return 'SUCCEEDED'
  return state === 'failed' ? 'FAILED' : 'CANCELLED'
}

/** Whole numbers with ".0": a reader who prints numbers anew cannot verify them. */
const trapped = (amount: string): string => (amount.includes('.') ? amount : `${amount}.0`)

/** KuCoin Pay as public code knows it: `/kucoinpay/api/v1/…`. */
class KucoinpayImitation implements Imitation {
  readonly prefix = 'kucoinpay'
  readonly name = 'KuCoin Pay'
  /** Not documented. */
  readonly retryDelaysMs = [1000, 5000, 30_000, 300_000]
  readonly #options: ImitationOptions
  readonly #apiKey: string
  readonly #merchantKey: KeyObject
  readonly #merchantPublic: KeyObject
  readonly #key: KeyObject

  constructor(options: ImitationOptions) {
    this.#options = options
    this.#apiKey = options.secretOf('kucoinpay-key')
    this.#merchantKey = rsaKeyOf(options.secretOf('kucoinpay-merchant'))
    this.#merchantPublic = createPublicKey(this.#merchantKey)
    this.#key = rsaKeyOf(options.secretOf('kucoinpay-provider'))
  }

  credentials(): Record<string, string> {
    const line = (pem: string | Buffer): string => String(pem).trim().replaceAll('\n', '\\n')
    return {
      CHANNEL_KUCOINPAY_BASE_URL: `${this.#options.url}/kucoinpay`,
      CHANNEL_KUCOINPAY_API_KEY: this.#apiKey,
      CHANNEL_KUCOINPAY_PRIVATE_KEY: line(this.#merchantKey.export({ type: 'pkcs8', format: 'pem' })),
      CHANNEL_KUCOINPAY_PUBLIC_KEY: line(createPublicKey(this.#key).export({ type: 'spki', format: 'pem' })),
    }
  }

  register(app: FastifyInstance): void {
    const works: Record<Path, (body: Fields, request: FastifyRequest) => Answered | Promise<Answered>> = {
      '/api/v1/order/create': (body, request) => this.#create(body, request),
      '/api/v1/order/info': (body) => this.#info(body),
      '/api/v1/order/close': (body) => this.#close(body),
      '/api/v1/refund/create': (body) => this.#refund(body),
      '/api/v1/refund/info': (body) => this.#refundInfo(body),
    }
    for (const [path, work] of Object.entries(works)) {
      app.post(path, async (request) => {
        const body = parseExact(request.body) ?? {}
        const answer = this.#checkAccess(request, CALL_NAMES[path as Path], body) ?? (await work(body, request))
        if ('data' in answer) return { success: true, code: '200', msg: 'success', retry: false, data: answer.data }
        return { success: false, retry: false, data: null, ...answer }
      })
    }
  }

  /** Why a request is not let in; null: it is. */
  #checkAccess(request: FastifyRequest, names: readonly string[], body: Fields): No | null {
    const timestamp = header(request, 'pay-api-timestamp')
    const { now } = this.#options
    if (header(request, 'pay-api-key') !== this.#apiKey) return no('480036', 'merchant or API key is invalid')
    if (!VERSIONS.includes(header(request, 'pay-api-version'))) return no('4001', 'PAY-API-VERSION is missing')
    if (!/^\d{13}$/.test(timestamp) || Math.abs(now() - Number(timestamp)) > CLOCK_MS)
      return no('480006', 'request timed out')
    const text = signatureText(names, { ...body, apiKey: this.#apiKey, timestamp })
    if (!isSignature(this.#merchantPublic, text, header(request, 'pay-api-sign')))
      return no('480004', 'signature verification failed')
    const empty = Object.entries(body).find(([, value]) => value === '')
    return empty ? no('4001', `${empty[0]} is empty`) : null
  }

  #find({ payOrderId, requestId }: Fields): DeskPayment | undefined {
    const { desk } = this.#options
    const found = isText(payOrderId)
      ? desk.find(payOrderId)
      : isText(requestId)
        ? desk.findByMerchant(this.prefix, requestId)
        : undefined
    const isRight = found?.provider === this.prefix && (!isText(requestId) || found.merchantReference === requestId)
    return found && isRight ? desk.refresh(found) : undefined
  }

  #payments(): DeskPayment[] {
    return this.#options.desk.list().filter(({ provider }) => provider === this.prefix)
  }

  /** Orders and refunds share the ids that were used. */
  #isUsed(requestId: string): boolean {
    return this.#payments().some(
      (one) => one.merchantReference === requestId || one.refunds.some((refund) => refund.requestId === requestId),
    )
  }

  async #create(body: Fields, request: FastifyRequest): Promise<Answered> {
    const { desk, now } = this.#options
    const { requestId, reference, source, subMerchantId, goods, returnUrl, cancelUrl } = body
    const amount = amountOf(body.orderAmount)
    const openMs = Number(textOf(body.expireTime) ?? Number.NaN)
    if (!isText(requestId, 64) || !isText(reference, 64) || !Array.isArray(goods) || goods.length === 0)
      return no('4001', 'requestId, reference and goods are required')
    if (source !== undefined && !['WEB', 'ANDROID', 'IOS'].includes(String(source))) return no('4001', 'source')
    if (isNo(amount)) return amount
    if (body.orderCurrency !== 'USDC' && body.orderCurrency !== 'USDT') return no('480013', 'currency is not supported')
    if (unitsOf(amount) === 0n) return no('480011', 'below the minimum')
    if (!isAtLeast(MOST, amount)) return no('480012', 'above the maximum')
    if (!Number.isInteger(openMs) || openMs <= 0) return no('4001', 'expireTime is a duration in milliseconds')
    if (openMs > LONGEST_MS) return no('480009', 'expireTime is too long')
    if (this.#isUsed(requestId)) return no('480010', 'requestId is used')
    const payment = desk.open({
      reference: `kpt_${randomBytes(12).toString('hex')}`,
      provider: this.prefix,
      merchantReference: requestId,
      amount,
      currency: body.orderCurrency,
      expiresAt: now() + openMs,
      returnUrl: isText(returnUrl) ? returnUrl : null,
      cancelUrl: isText(cancelUrl) ? cancelUrl : null,
      facts: { reference, openMs, ...(isText(subMerchantId) ? { subMerchantId } : {}) },
    })
    await desk.beforeAnswer(request, payment)
    return { data: { requestId, payOrderId: payment.reference, expireTime: openMs, ...this.#links(payment) } }
  }

  #links({ reference }: DeskPayment): Fields {
    const page = `${this.#options.url}/payments/${reference}`
    return { qrcode: Buffer.from(page).toString('base64'), qrcodeUrl: page, appPayUrl: `${page}?from=app` }
  }

  /** How an order that nobody knows is answered is not documented; here there are no data. */
  #info(body: Fields): Answered {
    if (!isText(body.payOrderId) && !isText(body.requestId)) return no('4001', 'payOrderId or requestId is required')
    const payment = this.#find(body)
    if (!payment) return { data: null }
    const links = payment.state === 'open' ? this.#links(payment) : {}
    return { data: { ...this.#trade(payment, statusOf(payment)), ...links } }
  }

  #close(body: Fields): Answered {
    const payment = this.#find(body)
    if (!payment) return no('4001', 'requestId is not known')
    if (payment.state !== 'open') return no('480019', 'the order is finished already')
    this.#options.desk.close(payment)
    return { data: { requestId: payment.merchantReference, payOrderId: payment.reference } }
  }

  #refund(body: Fields): Answered {
    const { desk } = this.#options
    const { requestId, payID, refundReason } = body
    const amount = amountOf(body.refundAmount)
    if (!isText(requestId, 64) || !isText(payID) || !isText(refundReason)) return no('4001', 'a parameter is missing')
    if (isNo(amount)) return amount
    const payment = this.#find({ payOrderId: payID })
    if (!payment) return no('4001', 'payID is not known')
    if (this.#isUsed(requestId)) return no('480010', 'requestId is used')
    if (payment.refunds.some(({ state }) => state === 'pending')) return no('480015', 'a refund is in progress')
    if (payment.state !== 'paid' || unitsOf(amount) === 0n || !isAtLeast(desk.refundable(payment), amount))
      return no('480017', 'the refund exceeds what is left')
    const refund = desk.refund(payment, { id: `kpr_${randomBytes(12).toString('hex')}`, requestId, amount })
    return { data: { refundId: refund.id, requestId } }
  }

  #refundInfo({ requestId, refundId }: Fields): Answered {
    for (const payment of this.#payments()) {
      const refund = payment.refunds.find((one) => one.requestId === requestId || one.id === refundId)
      if (refund) return { data: this.#refundFields(payment, refund) }
    }
    return { data: null }
  }

  #trade(payment: DeskPayment, status: string): Fields {
    const { desk, now, secretOf } = this.#options
    const { merchantReference, reference, currency, amount, facts, state } = payment
    const isPaid = state === 'paid'
    if (isPaid) facts.payTime ??= now()
    return {
      orderType: 'TRADE',
      requestId: merchantReference,
      payOrderId: reference,
      status,
      orderCurrency: currency,
      orderAmount: exactNumber(trapped(amount)),
      goods: [{ goodsId: '1', goodsName: 'Order', goodsDesc: 'Order' }],
      reference: facts.reference,
      subMerchantId: facts.subMerchantId ?? null,
      payTime: isPaid ? facts.payTime : null,
      canRefundAmount: isPaid ? desk.refundable(payment) : null,
      refundCurrency: isPaid ? currency : null,
      errorReason: state === 'failed' ? 'PAYER_DECLINED' : null,
      ...(isPaid
        ? {
            payerDetail: sealPayer(
              { firstName: 'Ada' },
              Buffer.from(secretOf('kucoinpay-aes'), 'hex'),
              randomBytes(16),
            ),
          }
        : {}),
      settlementHint: { batch: 7 },
    }
  }

  #refundFields(payment: DeskPayment, refund: DeskRefund): Fields {
    const { desk, now } = this.#options
    const left = desk.refundable(payment)

    const done = unitsOf(left) === 0n ? 'REFUND_FULL' : 'REFUND_PART'
    return {
      orderType: 'REFUND',
      merchantId: MERCHANT_ID,
      payID: payment.reference,
      refundId: refund.id,
      requestId: refund.requestId,
      status: { pending: 'PROCESSING', settled: done, refused: 'FAILED' }[refund.state],
      refundAmount: exactNumber(refund.amount),
      refundCurrency: payment.currency,
      refundFinishTime: refund.state === 'pending' ? null : now(),
      remainingRefundAmount: exactNumber(trapped(left)),
      remainingRefundCurrency: payment.currency,
      subMerchantId: payment.facts.subMerchantId ?? null,
      settlementHint: { batch: 7 },
    }
  }

  /** A payment is told twice: when the goods can go out, and when it is settled. */
  callbacks(payment: DeskPayment, happening: Happening, refund?: DeskRefund): SignedCallback[] {
    if (refund) return [this.#signed(REFUND_NAMES, this.#refundFields(payment, refund))]
    if (happening === 'created' || happening === 'part') return []
    const words = happening === 'paid' ? ['USER_PAY_COMPLETED', 'SUCCEEDED'] : [statusOf(payment)]
    return words.map((status) => this.#signed(TRADE_NAMES, this.#trade(payment, status)))
  }

  #signed(names: readonly string[], fields: Fields): SignedCallback {
    const { callbackBase, now } = this.#options
    const body = JSON.stringify(fields)
    const timestamp = String(now())
    const text = signatureText(names, { ...parseExact(Buffer.from(body)), apiKey: this.#apiKey, timestamp })
    const headers = {
      'content-type': 'application/json',
      'PAY-API-SIGN': signedWith(this.#key, text),
      'PAY-API-TIMESTAMP': timestamp,
      'PAY-API-VERSION': '1.0',
    }
    return { url: `${callbackBase}/api/next/channels/kucoinpay/callback`, headers, body }
  }

  forge(callback: SignedCallback): SignedCallback {
    return { ...callback, headers: { ...callback.headers, 'PAY-API-SIGN': randomBytes(256).toString('base64') } }
  }

  isAcknowledged(status: number): boolean {
    return status === 200
  }
}

export const openKucoinpay = (options: ImitationOptions): Imitation => new KucoinpayImitation(options)
