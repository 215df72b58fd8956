import { unitsOf } from '../decimal.ts'

/** The fields of a session request that passed the checks. */
export type Session = {
  address: string
  network: string
  amount: string
  paymentCurrency: string | null
  partnerUserRef: string
  redirectUrl: string | null
  clientIp: string | null
}

const NETWORKS = ['base', 'ethereum', 'polygon', 'arbitrum', 'optimism']
/** Fiat currencies that are documented for a preset amount. */
const FIAT = ['USD', 'CAD', 'GBP', 'EUR']
const METHODS = ['CARD', 'ACH', 'APPLE_PAY', 'PAYPAL', 'FIAT_WALLET', 'CRYPTO_WALLET']
/** Address ranges that are not public. */
const PRIVATE =
  /^(0\.|10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|::|f[cde])/i

const isAddress = (text: unknown): text is string => typeof text === 'string' && /^0x[0-9a-fA-F]{40}$/.test(text)
const isAmount = (text: unknown): boolean => typeof text === 'string' && (unitsOf(text, 6) ?? 0n) > 0n

/** The portal's allow-list; here it contains every domain except those under `.invalid`. */
function redirectFault(url: unknown): string | null {
  if (url === undefined) return null
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:/.test(url)) return 'redirectUrl is no URI'
  return new URL(url).hostname.endsWith('.invalid') ? 'redirectUrl: the domain is not allow-listed' : null
}

/** "paymentAmount OR purchaseAmount, paymentCurrency": required together (create-an-onramp-session, "one-click"). */
function currencyFault(currency: unknown): string | null {
  if (currency === undefined) return 'paymentCurrency is required with a preset amount'
  return FIAT.includes(String(currency)) ? null : 'paymentCurrency is not supported'
}

/** The first fault of an OnrampSessionRequest (openapi.yaml), or null. */
export function sessionFault(fields: Record<string, unknown>): string | null {
  const { purchaseAmount, paymentAmount, partnerUserRef, clientIp } = fields
  if (fields.purchaseCurrency !== 'USDC') return 'purchaseCurrency must be USDC here'
  if (!isAddress(fields.destinationAddress)) return 'destinationAddress is not a valid address'
  if (!NETWORKS.includes(String(fields.destinationNetwork))) return 'destinationNetwork is not supported'
  if (purchaseAmount !== undefined && paymentAmount !== undefined)
    return 'only one of purchaseAmount and paymentAmount may be given'
  if (!isAmount(purchaseAmount)) return 'purchaseAmount must be a decimal string above zero'
  if (typeof partnerUserRef !== 'string' || partnerUserRef.length === 0 || partnerUserRef.length >= 50)
    return 'partnerUserRef must be shorter than 50 characters'
  if (clientIp !== undefined && (typeof clientIp !== 'string' || PRIVATE.test(clientIp)))
    return 'clientIp must be a public address'
  if (fields.paymentMethod !== undefined && !METHODS.includes(String(fields.paymentMethod)))
    return 'paymentMethod is not supported'
  return currencyFault(fields.paymentCurrency) ?? redirectFault(fields.redirectUrl)
}

export const readSession = (fields: Record<string, unknown>): Session => ({
  address: String(fields.destinationAddress),
  network: String(fields.destinationNetwork),
  amount: String(fields.purchaseAmount),
  paymentCurrency: typeof fields.paymentCurrency === 'string' ? fields.paymentCurrency : null,
  partnerUserRef: String(fields.partnerUserRef),
  redirectUrl: typeof fields.redirectUrl === 'string' ? fields.redirectUrl : null,
  clientIp: typeof fields.clientIp === 'string' ? fields.clientIp : null,
})

/** A quote is returned only if amount, currency, method and country are all given (OnrampQuote). */
export function quoteOf(fields: Record<string, unknown>): { quote?: Record<string, unknown> } {
  const { paymentCurrency, paymentMethod, country, purchaseAmount, destinationNetwork } = fields
  if (!paymentCurrency || !paymentMethod || !country) return {}
  const subtotal = String(purchaseAmount)
  const fees = [{ type: 'FEE_TYPE_NETWORK', amount: '0.00', currency: paymentCurrency }]
  return {
    quote: {
      paymentTotal: subtotal,
      paymentSubtotal: subtotal,
      paymentCurrency,
      purchaseAmount,
      purchaseCurrency: 'USDC',
      destinationNetwork,
      exchangeRate: '1',
      fees,
    },
  }
}
