import type { ChannelId } from './channel.ts'

/** What payers know a channel by; where it is no proper name, the languages have their own words for it. */
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
