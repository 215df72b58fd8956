import { binance } from './binance/adapter.ts'
import { coinbase } from './coinbase/adapter.ts'
import { cryptopay } from './cryptopay/adapter.ts'
import { gatepay } from './gatepay/adapter.ts'
import type { ChannelKind } from './kind.ts'
import { kucoinpay } from './kucoinpay/adapter.ts'
import { whitepay } from './whitepay/adapter.ts'
import { whitepayNonCustody } from './whitepay-non-custody/adapter.ts'

/**
 * Every provider that can be configured, besides the payer's own wallet, which needs a chain; payers see this order.
 */
export const CHANNEL_KINDS: readonly ChannelKind[] = [
  binance,
  whitepay,
  whitepayNonCustody,
  cryptopay,
  gatepay,
  coinbase,
  kucoinpay,
]
