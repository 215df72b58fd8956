import { setTimeout as sleep } from 'node:timers/promises'
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

/** @param isFinal nothing better is known even after asking */
export type EuroRate = { rate: bigint | null; isFinal: boolean }

/**
 * The largest order of a company in one currency. What it does not exceed is within the maximum; what exceeds it is
 * above the maximum if `isKnown`, and cannot be compared otherwise: then one USDC counted as one EUR.
 */
export type Largest = Money & { isKnown: boolean; isFinal: boolean }

/**
 * The largest order of a company in the currency of a quote.
 * @param maximum in EUR, as decimal text
 */
export function largestOrderAt(
  maximum: string,
  { from: asset, rate }: Pick<Quote, 'from' | 'rate'>,
  euro: EuroRate,
): Largest {
  const most = parseMoney(maximum, 'EUR')
  if (asset === 'EUR') return { ...most, isKnown: true, isFinal: true }
  const scale = 10n ** BigInt(EXPONENTS[asset] + RATE_EXPONENT - EXPONENTS.USDC)
  const units = (limitUnits(most, euro.rate) * scale) / rate
  return { asset, units, isKnown: euro.rate !== null, isFinal: euro.isFinal }
}

/** Nobody waits longer for a rate that only limits are compared by. */
const ASK_MS = 1000

/** The rate within a second, or the last that this process knows. Call before opening a transaction. */
async function askSoon(rates: Rates, asset: Fiat): Promise<Quote | null> {
  const asked = rates.quote(asset).catch(() => null)
  return (await Promise.race([asked, sleep(ASK_MS, null, { ref: false })])) ?? rates.peek(asset)
}

/** The rate of EUR that this process knows, however old. */
export const peekEuroRate = (rates: Rates): EuroRate => ({ rate: rates.peek('EUR')?.rate ?? null, isFinal: false })

/** The same after asking for it. Call before opening a transaction. */
export const askEuroRate = async (rates: Rates): Promise<EuroRate> => ({
  rate: (await askSoon(rates, 'EUR'))?.rate ?? null,
  isFinal: true,
})

/** A company's largest order in a currency, for people who set prices. Null: no rates are known to compare by. */
export type LargestOrder = {
  /** Waits for each rate at most a second: call before opening a transaction. */
  ask(maximum: string, asset: Fiat): Promise<Money | null>
  /** By the rates that this process knows, however old. */
  peek(maximum: string, asset: Fiat): Money | null
}

export function openLargestOrder(rates: Rates): LargestOrder {
  const at = (maximum: string, asset: Fiat, quote: Pick<Quote, 'from' | 'rate'> | null, euro: EuroRate) => {
    const known = asset === 'EUR' ? { from: asset, rate: 1n } : quote
    const largest = known && largestOrderAt(maximum, known, euro)
    return largest?.isKnown ? { asset, units: largest.units } : null
  }
  return {
    peek: (maximum, asset) => at(maximum, asset, rates.peek(asset), peekEuroRate(rates)),
    async ask(maximum, asset) {
      if (asset === 'EUR') return at(maximum, asset, null, peekEuroRate(rates))
      // one after the other: a source that has just failed takes one question at a time
      const quote = await askSoon(rates, asset)
      return at(maximum, asset, quote, await askEuroRate(rates))
    },
  }
}
