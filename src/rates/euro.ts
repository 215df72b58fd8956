import { convert, EXPONENTS, type Fiat, type Money, parseMoney, RATE_EXPONENT } from '../kernel/money.ts'
import type { Quote, Rates } from './rate-service.ts'

/* Limits that a company has in EUR, for orders in any currency. */

/** Units of USDC for one EUR, or null without a fresh rate. Call before opening a transaction. */
export const findEuroRate = async ({ rates }: { rates: Rates }): Promise<bigint | null> =>
  rates.quote('EUR').then(
    (quote) => quote.rate,
    () => null,
  )

/** Units of USDC that a limit in EUR is worth. Without a rate one USDC counts as one EUR, so the limit is lower. */
export function limitUnits(euro: Money, euroRate: bigint | null): bigint {
  return euroRate === null ? euro.units * 10_000n : convert(euro, euroRate, 'USDC').units
}

/**
 * The largest order of a company in the currency of a quote.
 * @param maximum in EUR, as decimal text
 */
export function largestOrderAt(
  maximum: string,
  { from: asset, rate }: Pick<Quote, 'from' | 'rate'>,
  euroRate: bigint | null,
): Money {
  const euro = parseMoney(maximum, 'EUR')
  if (asset === 'EUR') return euro
  const scale = 10n ** BigInt(EXPONENTS[asset] + RATE_EXPONENT - EXPONENTS.USDC)
  return { asset, units: (limitUnits(euro, euroRate) * scale) / rate }
}

/** The same at the present rates; null without one for the currency, in which no order can be made then. */
export type LargestOrder = (maximum: string, asset: Fiat) => Promise<Money | null>

export const openLargestOrder =
  (rates: Rates): LargestOrder =>
  async (maximum, asset) => {
    if (asset === 'EUR') return parseMoney(maximum, 'EUR')
    const [quote, euroRate] = await Promise.all([rates.quote(asset).catch(() => null), findEuroRate({ rates })])
    return quote && largestOrderAt(maximum, quote, euroRate)
  }
