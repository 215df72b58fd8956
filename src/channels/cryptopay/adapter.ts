import { type Clock, MINUTE, SECOND } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import { isAsset } from '../../kernel/money.ts'
import { type Channel, NO_INSTRUCTIONS, type PaymentKey, type PaymentReport, type PaymentRequest } from '../channel.ts'
import { baseUrl, type ChannelContext, defineChannel, plain, type Setting, secret } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import { flagAt, isDefiniteNo, openPayApi, type PayApi } from './api.ts'
import { readCallback } from './callback.ts'
import { refundPayment } from './refunds.ts'
import { minorUnits, reportOf } from './status-map.ts'

const checked = (description: string, fallback: string, fault: Setting['fault'] & {}): Setting => ({
  description,
  fallback,
  fault,
})
const whole = (text: string): string | null =>
  /^[1-9]\d{0,5}$/.test(text) ? null : 'must be a whole number above zero'
const oneOf =
  (...allowed: string[]) =>
  (text: string): string | null =>
    allowed.includes(text) ? null : `must be one of ${allowed.join(', ')}`
const list = (text: string): string[] => text.split(',').flatMap((word) => word.trim() || [])
const fiats = (text: string): string | null =>
  list(text).every((word) => isAsset(word) && word !== 'USDC')
    ? null
    : 'must be a comma list of EUR, CHF, XPF, USD, GBP'

const settings = {
  BASE_URL: baseUrl('https://pay.crypto.com/api'),
  SECRET_KEY: secret('secret key; whether it is the test or the live one decides the mode'),
  WEBHOOK_SECRET: secret('signature secret of the webhook endpoint, of the same mode'),
  FIATS: checked('currencies that payments may be priced in, comma list', 'EUR,CHF,USD,GBP', fiats),
  ONCHAIN_ALLOWED: checked('whether other wallets than the app may pay: true or false', 'true', oneOf('true', 'false')),
  SUB_MERCHANT_ID: plain('sub-merchant of a marketplace', ''),
  WINDOW_MINUTES: checked('longest time for which a payment is opened', '60', whole),
  CANCEL: checked(
    'whether payments are cancelled there, by an undocumented call: on or off',
    'off',
    oneOf('on', 'off'),
  ),
  CALLBACK_MAX_AGE_SECONDS: checked('how old a signed callback may be', '300', whole),
}

type Values = Readonly<Record<keyof typeof settings, string>>

/** @throws ProviderRefusal for a currency in which it does not price */
function assertTaken({ fiat }: Pick<PaymentRequest, 'fiat'>, { FIATS }: Values): void {
  if (list(FIATS).includes(fiat.asset)) return
  const providerStatus = `Crypto.com Pay is not known to price in ${fiat.asset}; the setting FIATS lists what it takes.`
  throw new ProviderRefusal('request', providerStatus)
}

const pathOf = (providerReference: string): string => `/payments/${encodeURIComponent(providerReference)}`

/**
 * A payment that a callback named is fetched, not created again. @throws ProviderRefusal if it belongs to another order
 */
async function openPayment(api: PayApi, request: PaymentRequest, values: Values, clock: Clock): Promise<unknown> {
  const { providerReference, merchantReference } = request
  if (providerReference === null) return makePayment(api, request, values, clock)
  const named = await api.get(pathOf(providerReference))
  if (textAt(named, 'id') === providerReference && textAt(named, 'order_id') === merchantReference) return named
  throw new ProviderRefusal('state', 'the payment that a callback named is of another order')
}

/** We do not know all of its pricing currencies, so a refusal names the setting that lists them. */
function nameCurrency(error: unknown, currency: string): never {
  if (!(error instanceof ProviderRefusal) || textAt(error.cause, 'error', 'param') !== 'currency') throw error
  const providerStatus = `${error.message}: it does not price in ${currency}; take it out of the setting FIATS.`
  throw new ProviderRefusal(error.reason, providerStatus, error.cause)
}

async function makePayment(api: PayApi, request: PaymentRequest, values: Values, clock: Clock): Promise<unknown> {
  assertTaken(request, values)
  const { fiat, merchantReference } = request
  const endsAtMs = Math.min(request.expiresAt.getTime(), clock() + Number(values.WINDOW_MINUTES) * MINUTE)
  const fields = {
    amount: fiat.units.toString(),
    currency: fiat.asset,
    description: request.description,
    order_id: merchantReference,
    return_url: request.returnUrl,
    cancel_url: request.cancelUrl,
    expired_at: String(Math.floor(endsAtMs / 1000)),
    onchain_allowed: values.ONCHAIN_ALLOWED,
    sub_merchant_id: values.SUB_MERCHANT_ID || null,
  }
  return api.post('/payments', fields).catch((error: unknown) => nameCurrency(error, fiat.asset))
}

async function create(api: PayApi, request: PaymentRequest, values: Values, { clock, live }: ChannelContext) {
  const { fiat } = request
  const payment = await openPayment(api, request, values, clock)
  const providerReference = textAt(payment, 'id')
  const checkoutUrl = textAt(payment, 'payment_url')
  if (!providerReference || !checkoutUrl)
    throw new ProviderTrouble('Crypto.com Pay created a payment without id and link', { cause: payment })
  // its link is never shown: a payment of the other mode counts as absent
  if (flagAt(payment, 'live_mode') !== live)
    throw new ProviderRefusal('credentials', `CHANNEL_CRYPTOPAY_SECRET_KEY is not of ${live ? 'live' : 'test'} mode`)
  if (minorUnits(payment, 'amount') !== fiat.units || textAt(payment, 'currency') !== fiat.asset)
    throw new ProviderTrouble('Crypto.com Pay created a payment of another amount', { cause: payment })
  return { ...NO_INSTRUCTIONS, providerReference, checkoutUrl, qrData: textAt(payment, 'qr_code') || null }
}

async function fetchReport(
  api: PayApi,
  { providerReference, merchantReference, due, fiat }: PaymentKey & { providerReference: string },
  { live, ...scene }: { live: boolean; clock: Clock; weCancel: boolean },
): Promise<PaymentReport> {
  const unknown = (providerStatus: string): PaymentReport => ({ outcome: 'unknown', providerReference, providerStatus })
  try {
    const payment = await api.get(pathOf(providerReference))
    if (textAt(payment, 'id') !== providerReference) return unknown('Crypto.com Pay described another payment')
    if (textAt(payment, 'order_id') !== merchantReference) return unknown('the payment names another order')
    if (flagAt(payment, 'live_mode') !== live) return unknown('the payment is of the other mode, test or live')
    return reportOf(payment, { due, fiat }, scene)
  } catch (error) {
    if (!isDefiniteNo(error)) throw error
    return unknown(error.message)
  }
}

function openCryptoPay(values: Values, context: ChannelContext): Channel {
  const { clock, live } = context
  const { BASE_URL, SECRET_KEY, WEBHOOK_SECRET } = values
  const api = openPayApi({ baseUrl: BASE_URL, secretKey: SECRET_KEY }, context.http)
  const weCancel = values.CANCEL === 'on'
  const maxAgeMs = Number(values.CALLBACK_MAX_AGE_SECONDS) * SECOND
  const channel: Channel = {
    id: 'cryptopay',
    networks: [],
    async findLimits(payment) {
      assertTaken(payment, values)
      return { min: null, max: null }
    },
    createPayment: (request) => create(api, request, values, context),
    fetchPayment: (payment) => fetchReport(api, payment, { live, clock, weCancel }),
    async readCallback(callback) {
      return readCallback(callback, { secret: WEBHOOK_SECRET, maxAgeMs, live, weCancel }, clock)
    },
    acknowledgement: { contentType: 'application/json', body: '{}' },
    refundPayment: (refund) => refundPayment(api, refund),
    refundsInFiat: true,
    refundsByCallback: true,
  }
  if (!weCancel) return channel
  return {
    ...channel,
    async closePayment({ providerReference }) {
      try {
        await api.post(`${pathOf(providerReference)}/cancel`, {})
      } catch (error) {
        if (!isDefiniteNo(error)) throw error
      }
    },
  }
}

/** Crypto.com Pay, priced in the order's fiat. Sources: docs/channels/cryptopay.md */
export const cryptopay = defineChannel({ id: 'cryptopay', env: 'CRYPTOPAY', settings, open: openCryptoPay })
