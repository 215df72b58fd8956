import { addCalendarMonth, MINUTE } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { EXPONENTS, type Fiat, formatMoney, isAsset, type Money, parseDecimal, parseMoney } from '../kernel/money.ts'
import type { CreateOrderBody } from './order-schemas.ts'

/** 0.10 of any currency, in its own digits; 1 for a currency without any. */
const minimumOf = (asset: Fiat): Money => ({
  asset,
  units: EXPONENTS[asset] === 0 ? 1n : 10n ** BigInt(EXPONENTS[asset] - 1),
})

/** How far a JSON number may be from the amount it means: languages print 30.3 as 30.299999999999997. */
const PRINTED_AWAY = 0.000001

/** The amount that a number means; one with more digits than the currency has stays as it is, and is refused. */
function textOf(given: number | string, asset: Fiat): string {
  if (typeof given === 'string') return given
  const rounded = given.toFixed(EXPONENTS[asset])
  return Math.abs(Number(rounded) - given) <= PRINTED_AWAY ? rounded : String(given)
}

/** The amount of a creation, exact. @throws ILLEGAL_AMOUNT, naming the bound that it breaks */
export function readAmount(amount: number | string, asset: Fiat, maximum: string): Money & { asset: Fiat } {
  const money = parseMoney(textOf(amount, asset), asset)
  const least = minimumOf(asset)
  if (money.units < least.units) {
    throw new AppError('ILLEGAL_AMOUNT', { message: `The smallest amount is ${formatMoney(least)} ${asset}.` })
  }
  const most = parseDecimal(maximum, 2) ?? 0n
  if (money.units * 100n > most * 10n ** BigInt(EXPONENTS[asset])) {
    throw new AppError('ILLEGAL_AMOUNT', {
      message: `The largest amount of this account is ${maximum} ${asset}. Ask the operator to raise it.`,
    })
  }
  return { asset, units: money.units }
}

/** @throws VALIDATION_FAILED for an asset that is not offered */
export function readAssets(body: CreateOrderBody, fiatAssets: readonly Fiat[]): Fiat {
  const from = body.fromAsset.toUpperCase()
  if (!isAsset(from) || from === 'USDC' || !fiatAssets.includes(from)) {
    throw invalid('fromAsset', `must be one of: ${fiatAssets.join(', ')}`)
  }
  if (body.toAsset !== undefined && body.toAsset.toUpperCase() !== 'USDC') throw invalid('toAsset', 'must be USDC')
  return from
}

/** @throws VALIDATION_FAILED unless the text is an http(s) URL without credentials */
export function readPageUrl(path: string, text: string | undefined): string | null {
  if (text === undefined) return null
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:\/\/[^\\/?#]/i.test(text))
    throw invalid(path, 'must be a URL that starts with https:// or http://')
  return text
}

/** Where the sale takes place: a till, or a website with its session. @throws VALIDATION_FAILED */
export function checkPlace(body: CreateOrderBody): void {
  if (body.merchantIdentifier === undefined && body.websiteUrl === undefined) {
    throw new AppError('VALIDATION_FAILED', {
      message: 'Say where the sale takes place: merchantIdentifier (a till) or websiteUrl (a website).',
      details: [
        { path: 'merchantIdentifier', message: 'is required without websiteUrl' },
        { path: 'websiteUrl', message: 'is required without merchantIdentifier' },
      ],
    })
  }
  if (body.websiteUrl !== undefined && body.sessionId === undefined) {
    throw invalid('sessionId', 'is required with websiteUrl: the id of the buy-button session')
  }
  if (body.expiryMinutes !== undefined && body.alias === undefined) {
    throw invalid('expiryMinutes', 'is only possible for payment links; send an alias with it')
  }
}

/** Five minutes; a payment link one calendar month or as asked. */
export function expiryOf(body: CreateOrderBody, nowMs: number, defaultMinutes: number): Date {
  if (body.alias === undefined) return new Date(nowMs + defaultMinutes * MINUTE)
  if (body.expiryMinutes !== undefined) return new Date(nowMs + body.expiryMinutes * MINUTE)
  return new Date(addCalendarMonth(nowMs))
}
