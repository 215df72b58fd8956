import type { Fiat } from '../kernel/money.ts'

/** Units of USDC for one unit of a currency, scaled by 10^RATE_EXPONENT, and the time of the price. */
export type Price = { rate: bigint; at: number }

/** One source of prices. */
export type RateSource = {
  readonly name: string
  /** The currencies whose price it has. */
  readonly covers: readonly Fiat[]
  /** Those of them whose price follows a market: one that does not move for too long is stale. */
  readonly moves: readonly Fiat[]
  /** Whether it knows nothing of a market of USDC: it counts one as one dollar, or says what was set. */
  readonly isPeg: boolean
  /** Of a currency that it covers. Throws when it cannot answer. */
  fetchPrice(from: Fiat): Promise<Price>
}
