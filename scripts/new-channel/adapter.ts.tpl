import { DAY, MINUTE, SECOND } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import { formatMoney, type Money } from '../../kernel/money.ts'
import {
  type Channel,
  type Instructions,
  NO_INSTRUCTIONS,
  type PaymentKey,
  type PaymentReport,
  type PaymentRequest,
  type Recovery,
} from '../channel.ts'
import { baseUrl, type ChannelContext, defineChannel, plain, seconds, secret } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import { type __PASCAL__Api, isRefusedWith, open__PASCAL__Api, PAYMENT_NOT_OPEN, PAYMENT_UNKNOWN } from './api.ts'
import { readCallback } from './callback.ts'
import { refundPayment } from './refunds.ts'
import { reportOf } from './status-map.ts'

const settings = {
  BASE_URL: baseUrl('__BASE_URL__'),
  API_KEY: plain('id of the API key, from the console of __NAME__'),
  API_SECRET: secret('secret of the API key, signs what we send'),
  CALLBACK_SECRET: secret('secret of callbacks, signs what __NAME__ sends'),
  CALLBACK_MAX_AGE_SECONDS: seconds('how far the time of a callback may be from our clock', '300'),
}

/** 0.10 and 100,000 USDC. */
const MIN: Money = { asset: 'USDC', units: 100_000n }
const MAX: Money = { asset: 'USDC', units: 100_000_000_000n }
/** The provider allows one day from its own clock. */
const LONGEST_MS = DAY - MINUTE

/** Null: it says too little for anybody to pay. */
function instructionsOf(payment: unknown): (Instructions & { providerReference: string }) | null {
  const providerReference = textAt(payment, 'id') || null
  const checkoutUrl = textAt(payment, 'checkout_url') || null
  if (providerReference === null || checkoutUrl === null) return null
  const deepLink = textAt(payment, 'app_link') || null
  return { ...NO_INSTRUCTIONS, providerReference, checkoutUrl, qrData: checkoutUrl, deepLink }
}

const paymentOf = (request: PaymentRequest, nowMs: number) => ({
  reference: request.merchantReference,
  amount: formatMoney(request.due),
  currency: 'USDC',
  description: request.description,
  expires_at: new Date(Math.min(request.expiresAt.getTime(), nowMs + LONGEST_MS)).toISOString(),
  callback_url: request.callbackUrl,
  ...(request.returnUrl === null ? {} : { return_url: request.returnUrl }),
  ...(request.cancelUrl === null ? {} : { cancel_url: request.cancelUrl }),
})

async function create(api: __PASCAL__Api, request: PaymentRequest, nowMs: number) {
  const { units } = request.due
  if (units < MIN.units || units > MAX.units) {
    const range = `${formatMoney(MIN)} to ${formatMoney(MAX)} USDC`
    throw new ProviderRefusal('amount', `__NAME__ takes ${range}, not ${formatMoney(request.due)}`)
  }
  const data = await api.post('/v1/payments', paymentOf(request, nowMs))
  const instructions = instructionsOf(data)
  if (instructions === null) throw new ProviderTrouble('__NAME__ made a payment without a link', { cause: data })
  return instructions
}

async function recover(api: __PASCAL__Api, { merchantReference }: PaymentRequest): Promise<Recovery> {
  try {
    const data = await api.get(`/v1/payments?reference=${merchantReference}`)
    const providerReference = textAt(data, 'id')
    if (providerReference === undefined || textAt(data, 'reference') !== merchantReference)
      throw new ProviderTrouble('__NAME__ described another payment', { cause: data })
    const instructions = instructionsOf(data)
    return instructions === null ? { outcome: 'lost', providerReference } : { outcome: 'found', instructions }
  } catch (error) {
    if (isRefusedWith(error, PAYMENT_UNKNOWN)) return { outcome: 'absent' }
    throw error
  }
}

async function fetchReport(
  api: __PASCAL__Api,
  { providerReference, merchantReference, due }: PaymentKey & { providerReference: string },
): Promise<PaymentReport> {
  const unknown = (providerStatus: string): PaymentReport => ({ outcome: 'unknown', providerReference, providerStatus })
  try {
    const data = await api.get(`/v1/payments/${encodeURIComponent(providerReference)}`)
    const named = textAt(data, 'reference')
    if (named !== merchantReference) return unknown(`__NAME__ described another payment, ${named}`)
    return reportOf(data, providerReference, due)
  } catch (error) {
    if (isRefusedWith(error, PAYMENT_UNKNOWN)) return unknown('__NAME__ does not know the payment')
    throw error
  }
}

async function close(api: __PASCAL__Api, providerReference: string): Promise<void> {
  try {
    await api.post(`/v1/payments/${encodeURIComponent(providerReference)}/close`, {})
  } catch (error) {
    if (!isRefusedWith(error, PAYMENT_NOT_OPEN)) throw error
  }
}

function open__PASCAL__(values: Readonly<Record<keyof typeof settings, string>>, context: ChannelContext): Channel {
  const { clock } = context
  const { BASE_URL, API_KEY: apiKey, API_SECRET: apiSecret } = values
  const api = open__PASCAL__Api({ baseUrl: BASE_URL, apiKey, apiSecret }, context)
  const rules = { secret: values.CALLBACK_SECRET, maxAgeMs: Number(values.CALLBACK_MAX_AGE_SECONDS) * SECOND }
  return {
    id: '__ID__',
    networks: [],
    async findLimits() {
      return { min: MIN, max: MAX }
    },
    createPayment: (request) => create(api, request, clock()),
    recoverPayment: (request) => recover(api, request),
    fetchPayment: (payment) => fetchReport(api, payment),
    async readCallback(callback) {
      return readCallback(callback, rules, clock())
    },
    acknowledgement: { contentType: 'text/plain', body: 'OK' },
    closePayment: ({ providerReference }) => close(api, providerReference),
    refundPayment: (refund) => refundPayment(api, refund),
  }
}

/**
 * __NAME__: hosted checkout, priced in USDC.
 * Where its facts come from: docs/channels/__ID__.md
 */
export const __CAMEL__ = defineChannel({ id: '__ID__', env: '__ENV__', settings, open: open__PASCAL__ })
