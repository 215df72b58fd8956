/** Gate's own names of networks, by coin: a small choice, with every pair that the examples show ("chainQuery"). */
const CHAINS: Readonly<Record<string, readonly string[]>> = {
  USDC: ['MATIC', 'BSC', 'ETH', 'SOL'],
  USDT: ['MATIC', 'BSC', 'ETH', 'TRX', 'EOS'],
  BTC: ['BTC', 'HT', 'BSC'],
  ETH: ['ETH'],
}

/** A coin on its own chain has the plain name; elsewhere the chain is added: BTC, BTC_BSC ("chainQuery", example). */
const fullCurrTypeOf = (coin: string, chain: string): string => (coin === chain ? coin : `${coin}_${chain}`)

/** Query Supported Chains (addresspayment/chainQuery). */
export const chainsOf = (coin: string): Record<string, string>[] =>
  (CHAINS[coin] ?? []).map((chain) => {
    const fullCurrType = fullCurrTypeOf(coin, chain)
    return { chain, currency: coin, full_curr_type: fullCurrType, symbol: fullCurrType, explorer_url: '' }
  })

/** The coin of a `fullCurrType` on one chain; undefined: no coin of that name is there. */
export const coinOn = (chain: string, fullCurrType: string): string | undefined =>
  Object.keys(CHAINS).find((coin) => CHAINS[coin]?.includes(chain) && fullCurrTypeOf(coin, chain) === fullCurrType)
