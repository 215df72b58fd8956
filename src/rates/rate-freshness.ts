import { type Clock, DAY, HOUR, MINUTE } from '../kernel/clock.ts'
import type { Fiat } from '../kernel/money.ts'

/**
 * How long a market’s price may stay identical. EUR trades all the time; CHF and GBP have quiet nights; USDC is one
 * dollar for hours.
 */
const MAX_SAME_MS: Readonly<Record<Fiat, number>> = {
  EUR: HOUR,
  GBP: 3 * HOUR,
  CHF: 3 * HOUR,
  USD: DAY,
  XPF: HOUR,
}

/** After a gap this long between readings, counting starts again: the price may have moved meanwhile. */
const MAX_GAP_MS = 10 * MINUTE

/** How often a price is read without demand, so that counting continues while a shop is quiet. */
export const READ_EVERY_MS = 4 * MINUTE

type Seen = { rate: bigint; since: number; lookedAt: number }

export type FreshnessWatch = {
  /** @returns how long the price has been the same, in milliseconds; null: no longer than its market allows */
  frozenFor(source: string, from: Fiat, rate: bigint): number | null
}

/** Detects a source that answers in time but never moves. */
export function watchFreshness(clock: Clock): FreshnessWatch {
  const seen = new Map<string, Seen>()
  return {
    frozenFor(source, from, rate) {
      const key = `${source}:${from}`
      const now = clock()
      const before = seen.get(key)
      const isSame = before?.rate === rate && now - before.lookedAt <= MAX_GAP_MS
      const since = before && isSame ? before.since : now
      seen.set(key, { rate, since, lookedAt: now })
      return now - since > MAX_SAME_MS[from] ? now - since : null
    },
  }
}
