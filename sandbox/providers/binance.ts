import {
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
} from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { amountOf, checkAddresses, checkOrder, type Refusal, refusal } from './binance/orders.ts'
import { add, isAtLeast, sum, unitsOf } from './decimal.ts'
import { exactNumber, type Fields, isText, NumberText, parseExact } from './exact-json.ts'
import type { Imitation, PaymentEvent, ProviderPayment, ProviderRefund, SignedCallback } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'
import { rsaKeyOf } from './rsa-keys.ts'

/** "api-common" says one second; slow machines get a few more. */
const CLOCK_MS = 5000
/** A close is accepted first; its result arrives later ("api-order-close"). */
const CLOSE_DELAY_MS = 150
/** "Refund attempts more than 10 times" ("api-order-refund", 400302). The console can lower it. */
const REFUND_ATTEMPTS = 10
const MERCHANT_ID = '298765432'

type Answered = { data: unknown } | Refusal

/** The bytes signed in both directions ("api-common", "webhook-common"): each part ends with a line feed. */
const signedBytes = (timestamp: string, nonce: string, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(timestamp),
    Buffer.from('\n'),
    Buffer.from(nonce),
    Buffer.from('\n'),
    body,
    Buffer.from('\n'),
  ])

const header = (request: FastifyRequest, name: string): string => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

/** An id of 18 digits that no floating point number can represent: a careless parser loses digits every time. */
function newId(): string {
  const digits = (BigInt(`0x${randomBytes(8).toString('hex')}`) % 10n ** 16n).toString().padStart(16, '0')
  return String(Number(`29${digits}`)) === `29${digits}` ? newId() : `29${digits}`
}

const letters = (): string => randomBytes(32).reduce((text, byte) => text + String.fromCharCode(97 + (byte % 26)), '')

/** Why a request is refused ("api-common"); null when its headers are valid. */
function checkAccess(
  request: FastifyRequest,
  options: { apiKey: string; secret: string; now: number },
): Refusal | null {
  const timestamp = header(request, 'binancepay-timestamp')
  const nonce = header(request, 'binancepay-nonce')
  if (!header(request, 'content-type').startsWith('application/json')) return refusal(415, '400007', 'Media type')
  if (nonce === '') return refusal(400, '400100', 'BinancePay-Nonce is missing')
  if (nonce.length !== 32) return refusal(400, '400101', 'BinancePay-Nonce must have 32 characters')
  if (!/^[A-Za-z0-9]+$/.test(nonce)) return refusal(400, '400103', 'BinancePay-Nonce has an illegal character')
  const isNow = /^\d{13}$/.test(timestamp) && Math.abs(options.now - Number(timestamp)) <= CLOCK_MS
  if (!isNow) return refusal(406, '400003', 'Timestamp for this request is outside of the time window.')
  if (header(request, 'binancepay-certificate-sn') !== options.apiKey)
    return refusal(401, '400004', 'API key is invalid')
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const bytes = signedBytes(timestamp, nonce, body)
  const right = createHmac('sha512', options.secret).update(bytes).digest('hex').toUpperCase()
  const given = Buffer.from(header(request, 'binancepay-signature'))
  if (given.length !== right.length || !timingSafeEqual(given, Buffer.from(right)))
    return refusal(406, '400002', 'Signature for this request is not valid.')
  return null
}

const settled = (payment: ProviderPayment): string =>
  sum(payment.refunds.filter(({ state }) => state === 'settled').map(({ amount }) => amount))

/** Order statuses of "api-order-query-v2". */
function statusOf(payment: ProviderPayment): string {
  if (payment.unknownStatus) return 'ORBITING'
  const { state, refunds, amount } = payment
  if (state === 'open') return 'INITIAL'
  if (state === 'part' || state === 'confirming') return 'PENDING'
  if (state === 'failed') return 'ERROR'
  if (state === 'expired') return 'EXPIRED'
  if (state === 'closed') return 'CANCELED'
  if (refunds.some((one) => one.state === 'pending')) return 'REFUNDING'
  const gone = settled(payment)
  if (gone === '0') return 'PAID'
  return isAtLeast(gone, amount) ? 'FULL_REFUNDED' : 'REFUNDED'
}

/** How many refund requests the order can still take. */
const attemptsLeft = ({ facts, refunds }: ProviderPayment): number => Number(facts.refundAttempts) - refunds.length

/** "The total refunded amount included this refund request" ("api-order-refund"). */
const refundFields = (payment: ProviderPayment, refund: ProviderRefund, duplicateRequest = 'N'): Fields => ({
  refundRequestId: refund.requestId,
  prepayId: payment.reference,
  orderAmount: payment.amount,
  refundedAmount: refund.state === 'pending' ? add(settled(payment), refund.amount) : settled(payment),
  refundAmount: refund.amount,
  remainingAttempts: attemptsLeft(payment),
  payerOpenId: '1211HS10K81f4273ac031',
  duplicateRequest,
})

/** Binance Pay as documented, under `/binance/binancepay/openapi/…`. */
class BinanceImitation implements Imitation {
  readonly prefix = 'binance'
  readonly name = 'Binance Pay'
  readonly credentialHeader = 'binancepay-certificate-sn'
  /** Up to six repetitions are documented ("webhook-common"), but not their times. */
  readonly retryDelaysMs = [1000, 2000, 5000, 15_000, 60_000, 300_000]
  readonly #options: ImitationOptions
  readonly #apiKey: string
  readonly #secret: string
  readonly #key: KeyObject
  readonly #serial: string
  readonly #publicKey: string
  /** For payments created from now on. */
  #refundAttempts = REFUND_ATTEMPTS
  /** "Only merchant got approved by Binance Operation's approval will receive this" ("refund-order-notification"). */
  #refundInfo = true

  constructor(options: ImitationOptions) {
    this.#options = options
    this.#apiKey = options.secretOf('binance-key')
    this.#secret = options.secretOf('binance-secret')
    this.#key = rsaKeyOf(options.secretOf('binance-webhook-key'))
    this.#publicKey = createPublicKey(this.#key).export({ type: 'spki', format: 'pem' }) as string
    this.#serial = createHash('md5').update(this.#publicKey).digest('hex')
  }

  credentials(): Record<string, string> {
    return {
      CHANNEL_BINANCE_BASE_URL: `${this.#options.url}/binance`,
      CHANNEL_BINANCE_API_KEY: this.#apiKey,
      CHANNEL_BINANCE_API_SECRET: this.#secret,
    }
  }

  register(app: FastifyInstance): void {
    const at = (path: string, work: (body: Fields, request: FastifyRequest) => Answered | Promise<Answered>): void => {
      app.post(`/binancepay/openapi${path}`, async (request, reply) => {
        const access = { apiKey: this.#apiKey, secret: this.#secret, now: this.#options.now() }
        const body = parseExact(request.body)
        const refused = checkAccess(request, access) ?? (body ? null : refusal(400, '400008', 'Body cannot be read'))
        const answer = refused ?? (await work(body ?? {}, request))
        if ('data' in answer) return { status: 'SUCCESS', code: '000000', data: answer.data }
        return reply.code(answer.status).send({ status: 'FAIL', code: answer.code, errorMessage: answer.message })
      })
    }
    at('/v3/order', (body, request) => this.#create(body, request))
    at('/v2/order/query', (body) => this.#query(body))
    at('/order/close', (body) => this.#close(body))
    at('/order/refund', (body, request) => this.#refund(body, request))
    at('/order/refund/query', (body) => this.#refundQuery(body))
    app.post('/console', async (request) => {
      const { refundAttempts, refundInfo } = JSON.parse(String(request.body)) as Fields
      if (Number.isInteger(refundAttempts)) this.#refundAttempts = Number(refundAttempts)
      if (typeof refundInfo === 'boolean') this.#refundInfo = refundInfo
      return { refundAttempts: this.#refundAttempts, refundInfo: this.#refundInfo }
    })
    at('/certificates', () => ({ data: [{ certPublic: this.#publicKey, certSerial: this.#serial }] }))
  }

  #find({ prepayId, merchantTradeNo }: Fields): ProviderPayment | undefined {
    const { payerConsole } = this.#options
    const found = isText(prepayId)
      ? payerConsole.find(prepayId)
      : isText(merchantTradeNo)
        ? payerConsole.findByMerchant(this.prefix, merchantTradeNo)
        : undefined
    return found?.provider === this.prefix ? payerConsole.refresh(found) : undefined
  }

  async #create(body: Fields, request: FastifyRequest): Promise<Answered> {
    const { payerConsole, url, now } = this.#options
    const refused = checkOrder(body, now())
    if (refused) return refused
    const merchantReference = String(body.merchantTradeNo)
    if (payerConsole.findByMerchant(this.prefix, merchantReference))
      return refusal(400, '400201', 'merchantTradeNo is invalid or duplicated')
    const expires = body.orderExpireTime
    const payment = payerConsole.open({
      reference: newId(),
      provider: this.prefix,
      merchantReference,
      amount: amountOf(body.orderAmount) ?? '0',
      currency: String(body.currency),
      expiresAt: expires instanceof NumberText ? Number(expires.text) : now() + 3_600_000,
      callbackUrl: isText(body.webhookUrl) ? body.webhookUrl : null,
      returnUrl: isText(body.returnUrl) ? body.returnUrl : null,
      cancelUrl: isText(body.cancelUrl) ? body.cancelUrl : null,
      facts: { passThroughInfo: body.passThroughInfo, refundAttempts: this.#refundAttempts },
    })
    await payerConsole.beforeAnswer(request, payment)
    const page = `${url}/payments/${payment.reference}`
    const links = {
      qrcodeLink: `${page}?qr=image`,
      qrContent: `${page}?qr=text`,
      checkoutUrl: page,
      deeplink: `bnc://app.binance.com/payment/secpay/${payment.reference}`,
      universalUrl: `${page}?from=universal`,
    }
    const { amount, currency, expiresAt } = payment
    const { reference: prepayId } = payment
    return { data: { prepayId, terminalType: 'WEB', expireTime: expiresAt, ...links, totalFee: amount, currency } }
  }

  #query(body: Fields): Answered {
    const payment = this.#find(body)
    if (!payment) return refusal(400, '400202', 'Order not found')
    const { reference, merchantReference, currency, amount, createdAt, facts } = payment
    const status = statusOf(payment)
    const isPaid = payment.state === 'paid'
    const paid = { transactionId: `M_R_${reference}`, openUserId: '1211HS10K81f4273ac031', transactTime: createdAt + 1 }
    return {
      data: {
        merchantId: exactNumber(MERCHANT_ID),
        prepayId: reference,
        ...(isPaid ? paid : {}),
        merchantTradeNo: merchantReference,
        status,
        currency,
        orderAmount: amount,
        passThroughInfo: facts.passThroughInfo,
        createTime: createdAt,
      },
    }
  }

  #close(body: Fields): Answered {
    const payment = this.#find(body)
    if (!payment) return refusal(400, '400202', 'Order not found')
    if (payment.state !== 'open')
      return refusal(400, '400204', 'The Order is not applicable to close as it was paid or has any payment activity')
    const { payerConsole } = this.#options
    payerConsole.dispatcher.later(CLOSE_DELAY_MS, () => payerConsole.close(payment))
    return { data: true }
  }

  /**
   * "api-order-refund": the same `refundRequestId` is processed once. When `remainingAttempts` is 1, the amount of the
   * next request is ignored and everything left is refunded.
   */
  async #refund(body: Fields, request: FastifyRequest): Promise<Answered> {
    const { payerConsole } = this.#options
    const payment = this.#find({ prepayId: body.prepayId })
    const { refundRequestId, refundReason, webhookUrl } = body
    const asked = amountOf(body.refundAmount, true)
    if (!isText(refundRequestId, 64)) return refusal(400, '400101', 'Parameter refundRequestId has an illegal length')
    // empty in the document's own example
    if (refundReason !== undefined && refundReason !== '' && !isText(refundReason, 256))
      return refusal(400, '400101', 'Parameter refundReason has an illegal length')
    const misaddressed = checkAddresses(body, ['webhookUrl'])
    if (misaddressed) return misaddressed
    if (payment?.state !== 'paid') return refusal(400, '400202', 'Order not found or not paid')
    const earlier = payment.refunds.find(({ requestId }) => requestId === refundRequestId)
    if (earlier) return { data: refundFields(payment, earlier, 'Y') }
    const left = payerConsole.refundable(payment)
    const isLast = attemptsLeft(payment) === 1
    if (asked === null) return refusal(400, '400102', 'Parameter refundAmount has an illegal value')
    if (attemptsLeft(payment) < 1) return refusal(400, '400302', 'Refund attempts more than 10 times')
    if (unitsOf(left) === 0n || (!isLast && !isAtLeast(left, asked)))
      return refusal(400, '400303', 'Refund amount is greater than remaining amount')
    const amount = isLast ? left : asked
    const facts = isText(webhookUrl) ? { webhookUrl } : {}
    const refund = payerConsole.refund(payment, { id: refundRequestId, requestId: refundRequestId, amount, facts })
    await payerConsole.beforeRefundAnswer(request, payment)
    return { data: refundFields(payment, refund) }
  }

  #refundQuery({ refundRequestId }: Fields): Answered {
    const payments = this.#options.payerConsole.list().filter(({ provider }) => provider === this.prefix)
    for (const payment of payments) {
      // no merchant assigned an id to a refund of the console
      const refund = payment.refunds.find((one) => one.requestId === refundRequestId && !one.fromConsole)
      if (!refund) continue
      const refundStatus = { pending: 'REFUND_PENDING', settled: 'REFUND_SUCCESS', refused: 'REFUND_FAIL' }[
        refund.state
      ]
      const fees = { refundedCommission: '0', refundCommission: '0' }
      return { data: { ...refundFields(payment, refund), ...fees, refundStatus } }
    }
    return refusal(400, '400202', 'Refund not found')
  }

  callbacks(payment: ProviderPayment, event: PaymentEvent, refund?: ProviderRefund): SignedCallback[] {
    const status = CALLBACK_STATUS[event]
    // "only when partner use refund open api" ("refund-order-notification")
    if (!status || refund?.fromConsole) return []
    const { reference, merchantReference, amount, currency, createdAt, callbackUrl, facts } = payment
    const [bizType, bizStatus] = status
    const data = {
      merchantTradeNo: merchantReference,
      productType: '02',
      productName: 'Order',
      transactTime: createdAt + 1,
      tradeType: 'WEB',
      totalFee: exactNumber(amount),
      currency,
      passThroughInfo: facts.passThroughInfo,
      ...(bizStatus === 'PAY_SUCCESS' ? { transactionId: `M_R_${reference}`, commission: 0 } : {}),
      ...(refund && this.#refundInfo ? { refundInfo: refundFields(payment, refund) } : {}),
    }
    const body = JSON.stringify({
      bizType,
      data: JSON.stringify(data),
      bizIdStr: reference,
      bizId: exactNumber(reference),
      bizStatus,
    })
    // a refund without its own address: "the webhook url configured on the merchant platform" ("api-order-refund")
    const own = refund ? refund.facts.webhookUrl : callbackUrl
    const url = typeof own === 'string' ? own : `${this.#options.callbackBase}/api/next/channels/binance/callback`
    return [this.#signed(url, body)]
  }

  #signed(url: string, body: string): SignedCallback {
    const timestamp = String(this.#options.now())
    const nonce = letters()
    const signature = sign('sha256', signedBytes(timestamp, nonce, Buffer.from(body)), this.#key).toString('base64')
    const headers = {
      'content-type': 'application/json;charset=utf-8',
      'BinancePay-Timestamp': timestamp,
      'BinancePay-Nonce': nonce,
      'BinancePay-Certificate-SN': this.#serial,
      'BinancePay-Signature': signature,
    }
    return { url, headers, body }
  }

  forge(callback: SignedCallback): SignedCallback {
    const made = randomBytes(256).toString('base64')
    return { ...callback, headers: { ...callback.headers, 'BinancePay-Signature': made } }
  }

  isAcknowledged(status: number, body: string): boolean {
    return status === 200 && parseExact(Buffer.from(body))?.returnCode === 'SUCCESS'
  }
}

/** `bizType` and `bizStatus` ("order-notification", "refund-order-notification"). */
const CALLBACK_STATUS: Partial<Record<PaymentEvent, readonly [string, string]>> = {
  paid: ['PAY', 'PAY_SUCCESS'],
  failed: ['PAY', 'PAY_FAIL'],
  expired: ['PAY', 'PAY_CLOSED'],
  closed: ['PAY', 'PAY_CLOSED'],
  'refund-settled': ['PAY_REFUND', 'REFUND_SUCCESS'],
  'refund-refused': ['PAY_REFUND', 'REFUND_REJECTED'],
}

export const openBinance = (options: ImitationOptions): Imitation => new BinanceImitation(options)
