import { randomBytes } from 'node:crypto'
import { unitsOf } from '../decimal.ts'
import { type Fields, isFields, isText, NumberText } from '../exact-json.ts'
import type { ProviderPayment } from '../imitation.ts'
import type { NewPayment } from '../payer-console.ts'
import { coinOn } from './chains.ts'

const HOUR_MS = 3_600_000
const TERMINALS = ['APP', 'WEB', 'WAP', 'MINIAPP', 'OTHERS']
const CURRENCIES = ['USDC', 'USDT', 'BTC', 'ETH', 'GT']
/** "Gate Payment: 0.0001 (all currency units)" (help centre, merchant_integration_guide/38763). */
const MIN_UNITS = 100n
/** "Web3 On-Chain Payment: 0.01 USDT (or equivalent in other currencies)", the same article. */
const MIN_ON_CHAIN_UNITS = 10_000n
const MAX_UNITS = 5_000_000_000_000n
const DOLLARS = ['USDC', 'USDT']

/** A business error; it comes with HTTP 200 ("error codes"). */
export class Refused extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

export const textIn = (fields: Fields, name: string): string => (isText(fields[name]) ? fields[name] : '')
const innerOf = (fields: Fields, name: string): Fields => (isFields(fields[name]) ? fields[name] : {})

export function checkAmount(amount: string, minUnits = MIN_UNITS): void {
  const units = unitsOf(amount, 6)
  if (units === undefined || units < minUnits || units > MAX_UNITS) throw new Refused('400621', 'amount')
}

const isInt64 = (value: unknown): boolean =>
  value instanceof NumberText &&
  /^-?\d{1,19}$/.test(value.text) &&
  BigInt.asIntN(64, BigInt(value.text)) === BigInt(value.text)

/** The guide says seconds; the SDKs and "all time fields are in milliseconds" (common/securityAndSignature) win. */
function expiryOf({ orderExpireTime }: Fields, now: number): number {
  if (orderExpireTime === undefined) return now + HOUR_MS
  const expiresAt = orderExpireTime instanceof NumberText ? Number(orderExpireTime.text) : Number.NaN
  if (!Number.isInteger(expiresAt) || expiresAt <= now || expiresAt > now + HOUR_MS)
    throw new Refused('400001', 'orderExpireTime')
  return expiresAt
}

/**
 * The guide says that it is required ("Create Hosted Checkout Order"); the API reference and the SDKs do not have it,
 * and the address of the console serves ("notifications and callbacks").
 */
function callbackUrlOf({ callbackUrl }: Fields): string | null {
  if (callbackUrl === undefined) return null
  if (!isText(callbackUrl) || !/^https?:\/\//.test(callbackUrl) || !URL.canParse(callbackUrl))
    throw new Refused('400624', 'Invalid callback URL')
  return callbackUrl
}

/** "returnUrl: string(256)" (checkout/order); `cancelUrl` is its sibling. */
function pageUrlOf(fields: Fields, name: string): string | null {
  const url = textIn(fields, name)
  if (url.length > 256) throw new Refused('400001', name)
  return url || null
}

/** Place Checkout Order (checkout/order): what is required there is required here. */
export function readOrder(fields: Fields, now: number): Omit<NewPayment, 'reference' | 'provider'> {
  const merchantReference = textIn(fields, 'merchantTradeNo')
  const goodsName = textIn(innerOf(fields, 'goods'), 'goodsName')
  const terminalType = textIn(innerOf(fields, 'env'), 'terminalType')
  const [currency, amount] = [textIn(fields, 'currency'), textIn(fields, 'orderAmount')]
  const [chain, fullCurrType] = [textIn(fields, 'chain'), textIn(fields, 'fullCurrType')]
  if (!/^[A-Za-z0-9_-]{5,32}$/.test(merchantReference)) throw new Refused('400001', 'merchantTradeNo')
  if (!TERMINALS.includes(terminalType)) throw new Refused('400001', 'terminalType')
  if (goodsName === '') throw new Refused('400001', 'goodsName')
  if (!isInt64(fields.merchantUserId)) throw new Refused('400001', 'merchantUserId')
  if (coinOn(chain, fullCurrType) === undefined) throw new Refused('400001', 'chain, fullCurrType')
  if (!CURRENCIES.includes(currency)) throw new Refused('400001', 'currency')
  checkAmount(amount, DOLLARS.includes(currency) ? MIN_ON_CHAIN_UNITS : MIN_UNITS)
  const tolerance = textIn(fields, 'toleranceAmount') || '0'
  if (unitsOf(tolerance, 6) === undefined) throw new Refused('400621', 'toleranceAmount')
  const address = `0x${randomBytes(20).toString('hex')}`
  return {
    merchantReference,
    amount,
    currency,
    expiresAt: expiryOf(fields, now),
    callbackUrl: callbackUrlOf(fields),
    returnUrl: pageUrlOf(fields, 'returnUrl'),
    cancelUrl: pageUrlOf(fields, 'cancelUrl'),
    facts: { goodsName, tolerance, terminalType, chain, fullCurrType, address },
  }
}

/** The answer to a new order. */
export const createdFields = ({ facts, ...payment }: ProviderPayment, link: string): Fields => ({
  prepayId: payment.reference,
  terminalType: facts.terminalType,
  expireTime: payment.expiresAt,
  qrContent: link,
  location: link,
  currency: payment.currency,
  orderAmount: payment.amount,
  toleranceAmount: facts.tolerance,
  chain: { chain_type: facts.chain, address: facts.address, fullCurrType: facts.fullCurrType },
})
