import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isAtLeast, unitsOf } from './decimal.ts'
import { exactNumber, type Fields, isText, parseExact } from './exact-json.ts'
import type { Imitation, PaymentEvent, ProviderPayment, ProviderRefund, SignedCallback } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'
import {
  CALL_NAMES,
  isSignature,
  REFUND_NAMES,
  type Refusal,
  sealPayer,
  signatureText,
  signedWith,
  TRADE_NAMES,
  textOf,
} from './kucoinpay/protocol.ts'
import { rsaKeyOf } from './rsa-keys.ts'

const CLOCK_MS = 60_000
const LONGEST_MS = 3_600_000
const MAX_AMOUNT = '1000000'
/** The two versions that integrators send: 3.8.1 in production, 1.0 in a published example. */
const VERSIONS = ['1.0', '3.8.1']
const MERCHANT_ID = 'm-001'

type Answered = { data: unknown } | Refusal
type Path = keyof typeof CALL_NAMES

const refusal = (code: string, msg: string): Refusal => ({ code, msg })

const header = (request: FastifyRequest, name: string): string => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

/** Canonical decimal text of a number or a string: no exponent, no trailing zeros, at most 6 digits. */
function amountOf(value: unknown): string | Refusal {
  const text = textOf(value)
  if (text === undefined || !/^(0|[1-9]\d*)(\.\d*[1-9])?$/.test(text))
    return refusal('4001', 'amount is missing or malformed')
  if (unitsOf(text, 6) === undefined) return refusal('480026', 'too many decimals')
  return text
}

const isRefusal = (value: string | Refusal): value is Refusal => typeof value !== 'string'

/** Order statuses as both public integrations list them (chapter 3, "order info"; chapter 4, "trade notice"). */
function statusOf(payment: ProviderPayment): string {
  if (payment.unknownStatus) return 'ORBITING'
  const { state } = payment
  if (state === 'open') return 'CREATED'
  if (state === 'part') return 'PROCESSING'
  if (state === 'paid') return 'SUCCEEDED'
  return state === 'failed' ? 'FAILED' : 'CANCELLED'
}

/** Adds ".0" to whole numbers: a reader that re-serialises parsed numbers cannot verify them. */
const trapped = (amount: string): string => (amount.includes('.') ? amount : `${amount}.0`)

/** KuCoin Pay as two public integrations describe it, under `/kucoinpay/api/v1/…`. */
class KucoinpayImitation implements Imitation {
  readonly prefix = 'kucoinpay'
  readonly name = 'KuCoin Pay'
  readonly credentialHeader = 'pay-api-key'
  /** Not documented; an invention. */
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
      '/api/v1/refund/create': (body, request) => this.#refund(body, request),
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

  /** Why a request is refused; null when its headers are valid. */
  #checkAccess(request: FastifyRequest, names: readonly string[], body: Fields): Refusal | null {
    const timestamp = header(request, 'pay-api-timestamp')
    const { now } = this.#options
    if (header(request, 'pay-api-key') !== this.#apiKey) return refusal('480036', 'merchant or API key is invalid')
    if (!VERSIONS.includes(header(request, 'pay-api-version'))) return refusal('4001', 'PAY-API-VERSION is missing')
    if (!/^\d{13}$/.test(timestamp) || Math.abs(now() - Number(timestamp)) > CLOCK_MS)
      return refusal('480006', 'request timed out')
    const text = signatureText(names, { ...body, apiKey: this.#apiKey, timestamp })
    if (!isSignature(this.#merchantPublic, text, header(request, 'pay-api-sign')))
      return refusal('480004', 'signature verification failed')
    const empty = Object.entries(body).find(([, value]) => value === '')
    return empty ? refusal('4001', `${empty[0]} is empty`) : null
  }

  #find({ payOrderId, requestId }: Fields): ProviderPayment | undefined {
    const { payerConsole } = this.#options
    const found = isText(payOrderId)
      ? payerConsole.find(payOrderId)
      : isText(requestId)
        ? payerConsole.findByMerchant(this.prefix, requestId)
        : undefined
    const isRight = found?.provider === this.prefix && (!isText(requestId) || found.merchantReference === requestId)
    return found && isRight ? payerConsole.refresh(found) : undefined
  }

  #payments(): ProviderPayment[] {
    return this.#options.payerConsole.list().filter(({ provider }) => provider === this.prefix)
  }

  /** Orders and refunds share one space of request ids. */
  #isUsed(requestId: string): boolean {
    return this.#payments().some(
      (one) => one.merchantReference === requestId || one.refunds.some((refund) => refund.requestId === requestId),
    )
  }

  async #create(body: Fields, request: FastifyRequest): Promise<Answered> {
    const { payerConsole, now } = this.#options
    const { requestId, reference, source, subMerchantId, goods, returnUrl, cancelUrl } = body
    const amount = amountOf(body.orderAmount)
    const openMs = Number(textOf(body.expireTime) ?? Number.NaN)
    if (!isText(requestId, 64) || !isText(reference, 64) || !Array.isArray(goods) || goods.length === 0)
      return refusal('4001', 'requestId, reference and goods are required')
    if (subMerchantId !== undefined && !isText(subMerchantId, 64)) return refusal('4001', 'subMerchantId')
    if (source !== undefined && !['WEB', 'ANDROID', 'IOS'].includes(String(source))) return refusal('4001', 'source')
    if (isRefusal(amount)) return amount
    if (body.orderCurrency !== 'USDC' && body.orderCurrency !== 'USDT')
      return refusal('480013', 'currency is not supported')
    if (unitsOf(amount) === 0n) return refusal('480011', 'below the minimum')
    if (!isAtLeast(MAX_AMOUNT, amount)) return refusal('480012', 'above the maximum')
    if (!Number.isInteger(openMs) || openMs <= 0) return refusal('4001', 'expireTime is a duration in milliseconds')
    if (openMs > LONGEST_MS) return refusal('480009', 'expireTime is too long')
    if (this.#isUsed(requestId)) return refusal('480010', 'requestId is used')
    const payment = payerConsole.open({
      reference: `kpt_${randomBytes(12).toString('hex')}`,
      provider: this.prefix,
      merchantReference: requestId,
      amount,
      currency: body.orderCurrency,
      expiresAt: now() + openMs,
      returnUrl: isText(returnUrl) ? returnUrl : null,
      cancelUrl: isText(cancelUrl) ? cancelUrl : null,
      facts: {
        reference,
        openMs,
        version: header(request, 'pay-api-version'),
        ...(isText(subMerchantId) ? { subMerchantId } : {}),
      },
    })
    await payerConsole.beforeAnswer(request, payment)
    return { data: { requestId, payOrderId: payment.reference, expireTime: openMs, ...this.#links(payment) } }
  }

  #links({ reference }: ProviderPayment): Fields {
    const page = `${this.#options.url}/payments/${reference}`
    return { qrcode: Buffer.from(page).toString('base64'), qrcodeUrl: page, appPayUrl: `${page}?from=app` }
  }

  /** The answer about an unknown order is not documented; here `data` is null. */
  #info(body: Fields): Answered {
    if (!isText(body.payOrderId) && !isText(body.requestId))
      return refusal('4001', 'payOrderId or requestId is required')
    const payment = this.#find(body)
    if (!payment) return { data: null }
    const links = payment.state === 'open' ? this.#links(payment) : {}
    return { data: { ...this.#orderFields(payment, statusOf(payment)), ...links } }
  }

  #close(body: Fields): Answered {
    const payment = this.#find(body)
    if (!payment) return refusal('4001', 'requestId is not known')
    if (payment.state !== 'open') return refusal('480019', 'the order is finished already')
    this.#options.payerConsole.close(payment)
    return { data: { requestId: payment.merchantReference, payOrderId: payment.reference } }
  }

  async #refund(body: Fields, request: FastifyRequest): Promise<Answered> {
    const { payerConsole } = this.#options
    const { requestId, payID, refundReason } = body
    const amount = amountOf(body.refundAmount)
    if (!isText(requestId, 64) || !isText(payID) || !isText(refundReason))
      return refusal('4001', 'a parameter is missing')
    if (isRefusal(amount)) return amount
    const payment = this.#find({ payOrderId: payID })
    if (!payment) return refusal('4001', 'payID is not known')
    if (this.#isUsed(requestId)) return refusal('480010', 'requestId is used')
    if (payment.refunds.some(({ state }) => state === 'pending')) return refusal('480015', 'a refund is in progress')
    if (payment.state !== 'paid' || unitsOf(amount) === 0n || !isAtLeast(payerConsole.refundable(payment), amount))
      return refusal('480017', 'the refund exceeds what is left')
    const refund = payerConsole.refund(payment, { id: `kpr_${randomBytes(12).toString('hex')}`, requestId, amount })
    await payerConsole.beforeRefundAnswer(request, payment)
    return { data: { refundId: refund.id, requestId } }
  }

  #refundInfo({ requestId, refundId }: Fields): Answered {
    for (const payment of this.#payments()) {
      const refund = payment.refunds.find((one) => one.requestId === requestId || one.id === refundId)
      if (refund) return { data: this.#refundFields(payment, refund) }
    }
    return { data: null }
  }

  #orderFields(payment: ProviderPayment, status: string): Fields {
    const { payerConsole, now, secretOf } = this.#options
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
      canRefundAmount: isPaid ? payerConsole.refundable(payment) : null,
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

  #refundFields(payment: ProviderPayment, refund: ProviderRefund): Fields {
    const { payerConsole, now } = this.#options
    const left = payerConsole.refundable(payment)
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

  /** A payment has two callbacks: the goods can be shipped, and it is settled. */
  callbacks(payment: ProviderPayment, event: PaymentEvent, refund?: ProviderRefund): SignedCallback[] {
    if (refund) return [this.#signed(REFUND_NAMES, this.#refundFields(payment, refund), payment)]
    if (event === 'created' || event === 'part' || event === 'confirming') return []
    const statuses = event === 'paid' ? ['USER_PAY_COMPLETED', 'SUCCEEDED'] : [statusOf(payment)]
    return statuses.map((status) => this.#signed(TRADE_NAMES, this.#orderFields(payment, status), payment))
  }

  #signed(names: readonly string[], fields: Fields, payment: ProviderPayment): SignedCallback {
    const { callbackBase, now } = this.#options
    const body = JSON.stringify(fields)
    const timestamp = String(now())
    const text = signatureText(names, { ...parseExact(Buffer.from(body)), apiKey: this.#apiKey, timestamp })
    const headers = {
      'content-type': 'application/json',
      'PAY-API-SIGN': signedWith(this.#key, text),
      'PAY-API-TIMESTAMP': timestamp,
      'PAY-API-VERSION': String(payment.facts.version),
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
