import type { Fiat } from '../kernel/money.ts'

/** Units of USDC for one unit of a currency, scaled by 10^RATE_EXPONENT, and the time that it is of. */
export type Price = { rate: bigint; at: number }

/** One place that knows prices. */
export type RateSource = {
  readonly name: string
  /** Its price moves with a market: one that stays the same for too long is no price. */
  readonly moves: boolean
  /** Undefined: this source does not know the currency. Throws when it cannot answer. */
  fetchPrice(from: Fiat): Promise<Price | undefined>
}
