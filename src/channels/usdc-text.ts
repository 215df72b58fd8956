import { EXPONENTS, formatDecimal, formatMoney, MOST_REAL_UNITS, type Money, parseDecimal } from '../kernel/money.ts'
import type { UnmatchedMoney } from './channel.ts'

/**
 * The shortest decimal text, in the form that providers compare and sign: 12.340000 USDC is "12.34", 20.000000 is "20".
 */
export function shortText(money: Money): string {
  const text = formatMoney(money)
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

const PROVIDER_DIGITS = 18

/** A provider's decimal text in 18 digits; further ones are cut. Undefined if it is not a plain decimal. */
export const providerUnits = (text: string): bigint | undefined =>
  parseDecimal(text.replace(/^(\d+\.\d{18})\d+$/, '$1'), PROVIDER_DIGITS)

/** A provider's decimal text as USDC units, cut after the sixth decimal; undefined if it is not a plain decimal. */
export function usdcUnits(text: string | undefined): bigint | undefined {
  const units = text === undefined ? undefined : providerUnits(text)
  return units === undefined ? undefined : units / 10n ** BigInt(PROVIDER_DIGITS - EXPONENTS.USDC)
}

/** A provider's amount in any coin: USDC in its own units, every other coin with 18 digits; 0 if it cannot be read. */
export const coinUnits = (asset: string, text: string): bigint =>
  (asset === 'USDC' ? usdcUnits(text) : providerUnits(text)) ?? 0n

/** By how many of the finest digits one unit of a dollar coin counts; undefined for any other coin. */
export function dollarScale(asset: string): bigint | undefined {
  if (asset === 'USDC') return 10n ** BigInt(PROVIDER_DIGITS - EXPONENTS.USDC)
  return asset === 'USDT' ? 1n : undefined
}

/** The value of a dollar coin in USDC units, cut, as good as its own; undefined for any other coin. */
export function dollarUnits({ asset, units }: Pick<UnmatchedMoney, 'asset' | 'units'>): bigint | undefined {
  const scale = dollarScale(asset)
  return scale === undefined ? undefined : (units * scale) / 10n ** BigInt(PROVIDER_DIGITS - EXPONENTS.USDC)
}

/** What a provider keeps apart, in a dollar coin: an amount that cannot be right is one that cannot be read. */
export const readable = (money: UnmatchedMoney): UnmatchedMoney =>
  money.isOneSum === true && (dollarUnits(money) ?? 0n) > MOST_REAL_UNITS ? { ...money, units: 0n } : money

/** Money too little to matter. An amount of 0 could not be read, and coins of unknown value are never dust. */
export const isDust = (money: Pick<UnmatchedMoney, 'asset' | 'units'>, dustUnits: bigint): boolean =>
  money.units > 0n && (dollarUnits(money) ?? dustUnits) < dustUnits

/**
 * Decimal text of money in USDC, in a native coin or in a coin at a provider, both recorded with 18 digits; null for
 * other tokens, which are recorded in their smallest units.
 */
export function amountText({ asset, units, reference }: UnmatchedMoney): string | null {
  if (asset === 'USDC') return formatDecimal(units, EXPONENTS.USDC)
  return /^(native|gatepay|whitepay):/.test(reference) ? formatDecimal(units, PROVIDER_DIGITS) : null
}
