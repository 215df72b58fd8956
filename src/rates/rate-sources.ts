import { request } from 'undici'
import type { Config } from '../config.ts'
import { parseJsonExact, textAt } from '../json.ts'
import { type Fiat, parseDecimal, RATE_EXPONENT } from '../money.ts'

/** One place that knows prices. It answers units of USDC for one unit of `from`, scaled by 10^RATE_EXPONENT. */
export type RateSource = {
  readonly name: string
  /** Undefined: this source does not know the currency. Throws when it cannot answer. */
  fetchRate(from: Fiat): Promise<bigint | undefined>
}

const ONE = 10n ** BigInt(RATE_EXPONENT)
const TIMEOUT_MS = 5000
const MAX_BODY_BYTES = 1 << 20

function parseRate(text: string | undefined, source: string): bigint {
  const digits = text === undefined ? undefined : /^\d+(?:\.\d{0,12})?/.exec(text)?.[0]
  const rate = digits === undefined ? undefined : parseDecimal(digits.replace(/\.$/, ''), RATE_EXPONENT)
  if (rate === undefined || rate === 0n) throw new Error(`${source} answered no price`)
  return rate
}

/** A price that means "fiat for one USDC", turned round. */
const inverse = (price: bigint): bigint => (ONE * ONE) / price

async function get(url: string): Promise<string> {
  const answer = await request(url, {
    headersTimeout: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json, application/xml', 'user-agent': 'comptoir' },
  })
  let text = ''
  for await (const chunk of answer.body.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_BODY_BYTES) throw new Error('the answer is too large')
  }
  if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`)
  return text
}

type Make = (baseUrl: string) => RateSource

const MAKERS: Record<string, { baseUrl: string; make: Make }> = {
  /** docs.kraken.com, REST Ticker: errors come with HTTP 200; `a` is the ask, in fiat for one USDC. */
  kraken: {
    baseUrl: 'https://api.kraken.com',
    make: (baseUrl) => ({
      name: 'kraken',
      async fetchRate(from) {
        if (from === 'XPF') return undefined
        const body = parseJsonExact(await get(`${baseUrl}/0/public/Ticker?pair=USDC${from}`))
        const refusal = textAt(body, 'error', 0)
        if (refusal !== undefined) throw new Error(`kraken: ${refusal}`)
        const result = (body as { result?: Record<string, unknown> }).result ?? {}
        return inverse(parseRate(textAt(Object.values(result)[0], 'a', 0), 'kraken'))
      },
    }),
  },
  /** docs.cdp.coinbase.com, exchange rates: already units of USDC for one unit of the currency. */
  coinbase: {
    baseUrl: 'https://api.coinbase.com',
    make: (baseUrl) => ({
      name: 'coinbase',
      async fetchRate(from) {
        if (from === 'XPF') return undefined
        const body = parseJsonExact(await get(`${baseUrl}/v2/exchange-rates?currency=${from}`))
        return parseRate(textAt(body, 'data', 'rates', 'USDC'), 'coinbase')
      },
    }),
  },
  /** binance-spot-api-docs, bookTicker: EURUSDC is USDC for one EUR; the bid is what one EUR buys. */
  binance: {
    baseUrl: 'https://data-api.binance.vision',
    make: (baseUrl) => ({
      name: 'binance',
      async fetchRate(from) {
        if (from !== 'EUR') return undefined
        const body = parseJsonExact(await get(`${baseUrl}/api/v3/ticker/bookTicker?symbol=EURUSDC`))
        return parseRate(textAt(body, 'bidPrice'), 'binance')
      },
    }),
  },
  /** bitstamp.net/api: `ask` in fiat for one USDC. */
  bitstamp: {
    baseUrl: 'https://www.bitstamp.net',
    make: (baseUrl) => ({
      name: 'bitstamp',
      async fetchRate(from) {
        if (from !== 'EUR' && from !== 'USD') return undefined
        const body = parseJsonExact(await get(`${baseUrl}/api/v2/ticker/usdc${from.toLowerCase()}/`))
        return inverse(parseRate(textAt(body, 'ask'), 'bitstamp'))
      },
    }),
  },
  /** docs.coingecko.com, simple price: fiat for one USDC, as JSON numbers. */
  coingecko: {
    baseUrl: 'https://api.coingecko.com',
    make: (baseUrl) => ({
      name: 'coingecko',
      async fetchRate(from) {
        if (from === 'XPF') return undefined
        const fiat = from.toLowerCase()
        const body = parseJsonExact(
          await get(`${baseUrl}/api/v3/simple/price?ids=usd-coin&vs_currencies=${fiat}&precision=full`),
        )
        return inverse(parseRate(textAt(body, 'usd-coin', fiat), 'coingecko'))
      },
    }),
  },
  /**
   * ECB euro foreign exchange reference rates: units of each currency for one EUR, once a working day.
   * Counts one USDC as one USD, which the deviation rule against the venues checks.
   */
  ecb: {
    baseUrl: 'https://www.ecb.europa.eu',
    make: (baseUrl) => ({
      name: 'ecb',
      async fetchRate(from) {
        if (from === 'XPF') return undefined
        const xml = await get(`${baseUrl}/stats/eurofxref/eurofxref-daily.xml`)
        const day = /time=['"](\d{4}-\d{2}-\d{2})['"]/.exec(xml)?.[1]
        if (day === undefined || Date.now() - Date.parse(day) > 5 * 86_400_000)
          throw new Error('ecb: the reference rates are old')
        const perEuro = (currency: string): bigint =>
          currency === 'EUR'
            ? ONE
            : parseRate(new RegExp(`currency=['"]${currency}['"]\\s+rate=['"]([\\d.]+)['"]`).exec(xml)?.[1], 'ecb')
        return (perEuro('USD') * ONE) / perEuro(from)
      },
    }),
  },
}

function fixedSource(rates: Record<string, string>): RateSource {
  return {
    name: 'fixed',
    fetchRate: async (from) => (rates[from] === undefined ? undefined : parseRate(rates[from], 'fixed')),
  }
}

/** The sources that the configuration names, in its order. */
export function openSources(config: Config['rates']): RateSource[] {
  return config.sources.flatMap((name) => {
    if (name === 'fixed') return [fixedSource(config.fixed)]
    const maker = MAKERS[name]
    return maker ? [maker.make(config.baseUrls[name] ?? maker.baseUrl)] : []
  })
}
