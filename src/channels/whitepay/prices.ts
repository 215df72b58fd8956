import { type Clock, HOUR } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import { EXPONENTS, formatMoney, type Money, parseDecimal } from '../../kernel/money.ts'
import type { ChannelLimits } from '../channel.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { WhitepayApi } from './api.ts'

/** The amount of an order at Whitepay, and the limits of its currency. */
export type Price = ChannelLimits & { asked: Money }

/** The documented maximum of any order, whatever its currency. */
const CEILING = '10000000'
const DIGITS = 18

/** A limit in whole units, rounded to the safe side; null: none given. */
function limitUnits(text: string | undefined, exponent: number, rounding: 'up' | 'down'): bigint | null {
  const exact = text === undefined ? undefined : parseDecimal(text, DIGITS)
  if (exact === undefined || exact === 0n) return null
  const step = 10n ** BigInt(DIGITS - exponent)
  return rounding === 'up' ? (exact + step - 1n) / step : exact / step
}

function priceOf(row: unknown, asked: Money): Price {
  const { asset } = asked
  const exponent = EXPONENTS[asset]
  const money = (units: bigint | null): Money | null => (units === null ? null : { asset, units })
  const ceiling = limitUnits(CEILING, exponent, 'down') ?? 0n
  const told = limitUnits(textAt(row, 'max_amount'), exponent, 'down')
  return {
    asked,
    min: money(limitUnits(textAt(row, 'min_amount'), exponent, 'up')),
    max: money(told !== null && told < ceiling ? told : ceiling),
  }
}

/** In the order's fiat if Whitepay supports it, otherwise in USDC. @throws ProviderRefusal when it supports neither */
export function choosePrice(rows: readonly unknown[], { due, fiat }: { due: Money; fiat: Money }): Price {
  for (const asked of [fiat, due]) {
    const row = rows.find((one) => textAt(one, 'ticker')?.toUpperCase() === asked.asset)
    if (row !== undefined) return priceOf(row, asked)
  }
  throw new ProviderRefusal('request', `Whitepay takes neither ${fiat.asset} nor ${due.asset} as an order's currency.`)
}

/** @throws ProviderRefusal with the violated limit */
export function assertWithin({ asked, min, max }: Price): void {
  if (min !== null && asked.units < min.units)
    throw new ProviderRefusal('amount', `Whitepay takes at least ${formatMoney(min)} ${min.asset}.`)
  if (max !== null && asked.units > max.units)
    throw new ProviderRefusal('amount', `Whitepay takes at most ${formatMoney(max)} ${max.asset}.`)
}

/** Caches one of Whitepay's lists for an hour. @throws ProviderTrouble when the answer contains no list */
export function cacheList(
  api: WhitepayApi,
  clock: Clock,
  { path, keys }: { path: string; keys: readonly string[] },
): () => Promise<readonly unknown[]> {
  let kept: { rows: readonly unknown[]; until: number } | null = null
  return async () => {
    if (kept !== null && clock() < kept.until) return kept.rows
    const body = (await api({ method: 'GET', path, missing: 'account' })) as Record<string, unknown> | null
    const rows = Array.isArray(body) ? body : keys.map((key) => body?.[key]).find(Array.isArray)
    if (rows === undefined) throw new ProviderTrouble(`Whitepay's answer to ${path} holds no list`)
    kept = { rows, until: clock() + HOUR }
    return rows
  }
}
