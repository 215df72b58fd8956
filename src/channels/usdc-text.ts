import { EXPONENTS, formatDecimal, formatMoney, type Money, parseDecimal } from '../kernel/money.ts'
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

/** The value of a dollar coin in USDC units, as good as its own; undefined for any other coin. */
export function dollarUnits({ asset, units }: Pick<UnmatchedMoney, 'asset' | 'units'>): bigint | undefined {
  if (asset === 'USDC') return units
  return asset === 'USDT' ? units / 10n ** BigInt(PROVIDER_DIGITS - EXPONENTS.USDC) : undefined
}

/** The same value in another dollar coin, cut; undefined if one of both has no known value. */
export function inDollarCoin(asset: string, money: Pick<UnmatchedMoney, 'asset' | 'units'>): bigint | undefined {
  const value = dollarUnits(money)
  if (value === undefined || asset === 'USDC') return value
  return asset === 'USDT' ? value * 10n ** BigInt(PROVIDER_DIGITS - EXPONENTS.USDC) : undefined
}

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
