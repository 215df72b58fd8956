import type { ChannelId } from './channel.ts'

/** A channel's name for payers; one that is not a proper name is translated. */
export const CHANNEL_NAMES: Readonly<Record<ChannelId, string>> = {
  crypto: 'USDC',
  binance: 'Binance Pay',
  whitepay: 'Whitepay',
  'whitepay-non-custody': 'Whitepay',
  cryptopay: 'Crypto.com Pay',
  gatepay: 'Gate Pay',
  coinbase: 'Coinbase',
  kucoinpay: 'KuCoin Pay',
}
