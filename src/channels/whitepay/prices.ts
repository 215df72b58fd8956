import { type Clock, DAY, HOUR, isYounger, SECOND } from '../../kernel/clock.ts'
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

/** One of Whitepay's lists. */
export type KeptList = {
  /** Waits for Whitepay where no list is kept. */
  read(): Promise<readonly unknown[]>
  /** For a page that goes on without it: while Whitepay does not answer, only the first call is waited for. */
  peek(): Promise<readonly unknown[]>
}

/** How long a failure keeps us from asking again for a page. */
const PAUSE_MS = 30 * SECOND

/**
 * Keeps one of Whitepay's lists. After an hour it is asked for again, in the background; the old one serves until then,
 * for a day at most. A limit that changed meanwhile costs no money: Whitepay checks each order itself.
 * @returns both throw ProviderTrouble when the answer contains no list
 */
export function keepList(
  api: WhitepayApi,
  clock: Clock,
  { path, keys }: { path: string; keys: readonly string[] },
): KeptList {
  let kept: { rows: readonly unknown[]; atMs: number } | null = null
  let failed: { error: unknown; atMs: number } | null = null
  let running: Promise<readonly unknown[]> | null = null
  const fetchRows = async (): Promise<readonly unknown[]> => {
    const body = (await api({ method: 'GET', path, missing: 'account' })) as Record<string, unknown> | null
    const rows = Array.isArray(body) ? body : keys.map((key) => body?.[key]).find(Array.isArray)
    if (rows === undefined) throw new ProviderTrouble(`Whitepay's answer to ${path} holds no list`)
    return rows
  }
  const ask = (): Promise<readonly unknown[]> => {
    running ??= fetchRows()
      .then((rows) => {
        kept = { rows, atMs: clock() }
        failed = null
        return rows
      })
      .catch((error: unknown) => {
        failed = { error, atMs: clock() }
        throw error
      })
      .finally(() => {
        running = null
      })
    return running
  }
  const askBehind = (): void => {
    if (failed === null || !isYounger(failed.atMs, PAUSE_MS, clock())) ask().catch(() => {})
  }
  const read = async (): Promise<readonly unknown[]> => {
    if (kept === null || !isYounger(kept.atMs, DAY, clock())) return ask()
    if (!isYounger(kept.atMs, HOUR, clock())) askBehind()
    return kept.rows
  }
  const peek: KeptList['peek'] = async () => {
    if (failed === null || (kept !== null && isYounger(kept.atMs, DAY, clock()))) return read()
    askBehind()
    throw failed.error
  }
  return { read, peek }
}
