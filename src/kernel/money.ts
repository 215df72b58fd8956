import { AppError } from './errors.ts'

/** Digits after the point of each asset's smallest unit (ISO 4217; USDC as its contracts have it). */
export const EXPONENTS = { EUR: 2, CHF: 2, XPF: 0, USD: 2, GBP: 2, USDC: 6 } as const

export type Asset = keyof typeof EXPONENTS
export type Fiat = Exclude<Asset, 'USDC'>

/** An amount is always an asset and whole smallest units; a bare number is never money. */
export type Money = { readonly asset: Asset; readonly units: bigint }

export const isAsset = (text: string): text is Asset => Object.hasOwn(EXPONENTS, text)

/** Digits of a decimal text as a bigint scaled by `exponent`, or undefined when it does not fit exactly. */
export function parseDecimal(text: string, exponent: number): bigint | undefined {
  const match = /^(\d{1,24})(?:\.(\d{1,24}))?$/.exec(text)
  if (!match) return undefined
  const fraction = (match[2] ?? '').replace(/0+$/, '')
  if (fraction.length > exponent) return undefined
  return BigInt(`${match[1]}${fraction.padEnd(exponent, '0')}`)
}

/** Larger than any amount that we accept; JSON writes a number of that size with an exponent. */
export const isHuge = (value: number | string): boolean =>
  typeof value === 'number' ? value >= 1e21 : /^\d{25,}(\.\d+)?$/.test(value)

/** Why a text is not an amount: what is wrong with it, not only what would be right. */
function faultOf(text: string, asset: Asset): string {
  if (/^-\d/.test(text)) return 'The amount must be more than 0.'
  if (isHuge(text)) return 'The amount is too large.'
  const digits = EXPONENTS[asset]
  return `The amount must be a plain decimal with at most ${digits} digits after the point for ${asset}.`
}

/** "12.5" EUR gives 1250n. Refuses signs, exponents and more decimals than the asset has: 400 ILLEGAL_AMOUNT. */
export function parseMoney(text: string, asset: Asset): Money {
  const units = parseDecimal(text, EXPONENTS[asset])
  if (units === undefined) {
    throw new AppError('ILLEGAL_AMOUNT', { message: faultOf(text, asset) })
  }
  return { asset, units }
}

/** How far a JSON number may be from the amount that it means: rounding errors of floating point sums are smaller. */
const NUMBER_SLACK_UNITS = 1n
const NUMBER_EXPONENT = 6

/**
 * The amount that a JSON number means: the one with the asset's digits within 0.000001 of it, so 30.299999999999997 is
 * 30.30, and 10.005 EUR is no amount. Exact, computed on the number's shortest decimal text.
 * @throws ILLEGAL_AMOUNT
 */
export function parseMoneyNumber(value: number, asset: Asset): Money {
  if (isHuge(value)) throw new AppError('ILLEGAL_AMOUNT', { message: 'The amount is too large.' })
  const exponent = EXPONENTS[asset]
  const digits = 24
  const exact = parseDecimal(String(value), digits)
  if (exact === undefined) return parseMoney(String(value), asset)
  const unit = 10n ** BigInt(digits - exponent)
  const units = (exact + unit / 2n) / unit
  const distance = exact > units * unit ? exact - units * unit : units * unit - exact
  if (distance > NUMBER_SLACK_UNITS * 10n ** BigInt(digits - NUMBER_EXPONENT)) return parseMoney(String(value), asset)
  return { asset, units }
}

/** Whole units as decimal text with exactly `exponent` digits after the point: (1250n, 2) is "12.50". */
export function formatDecimal(units: bigint, exponent: number): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(exponent + 1, '0')
  return exponent === 0 ? sign + digits : `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

export const formatMoney = ({ asset, units }: Money): string => formatDecimal(units, EXPONENTS[asset])

/** The smallest order: 0.10 of any currency, 1 of a currency without decimals. */
export const leastOf = (asset: Fiat): Money => ({
  asset,
  units: EXPONENTS[asset] === 0 ? 1n : 10n ** BigInt(EXPONENTS[asset] - 1),
})

/** Rates are decimals with up to this many digits after the point, held as scaled integers. */
export const RATE_EXPONENT = 12

/**
 * The only rounding point of the service: floor(amount × rate) in the target asset's smallest unit.
 * @param rate units of `to` for one unit of the source asset, scaled by 10^RATE_EXPONENT
 */
export function convert(from: Money, rate: bigint, to: Asset): Money {
  const shift = BigInt(EXPONENTS[from.asset] + RATE_EXPONENT - EXPONENTS[to])
  return { asset: to, units: (from.units * rate) / 10n ** shift }
}

/** floor(whole × part / total): a refund's share in another currency, never more than its proportion. */
export const proportion = (whole: bigint, part: bigint, total: bigint): bigint => (whole * part) / total

/** ceil(whole × part total): reverses `proportion` when `whole` has the coarser units. */
export const proportionUp = (whole: bigint, part: bigint, total: bigint): bigint => (whole * part + total - 1n) / total

/** The most that any amount of a provider can be: no payer has 10^24 USDC, and columns end at 10^38 units. */
export const MOST_REAL_UNITS = 10n ** 30n

/** Orders that share an address differ in their amounts: each is less than this above its price. */
export const OWN_AMOUNTS_UNITS = 1000n

export const smaller = (left: bigint, right: bigint): bigint => (left < right ? left : right)
export const larger = (left: bigint, right: bigint): bigint => (left > right ? left : right)
