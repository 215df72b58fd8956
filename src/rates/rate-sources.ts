import { request } from 'undici'
import type { Config } from '../config/config.ts'
import { type Clock, DAY, MINUTE, SECOND } from '../kernel/clock.ts'
import { parseJsonExact, textAt } from '../kernel/json.ts'
import { type Fiat, parseDecimal, RATE_EXPONENT } from '../kernel/money.ts'
import { SourceBusy, withCircuit } from './rate-circuit.ts'

/** One place that knows prices. It answers units of USDC for one unit of `from`, scaled by 10^RATE_EXPONENT. */
export type RateSource = {
  readonly name: string
  /** Undefined: this source does not know the currency. Throws when it cannot answer. */
  fetchRate(from: Fiat): Promise<bigint | undefined>
}

const ONE = 10n ** BigInt(RATE_EXPONENT)
const TIMEOUT_MS = 5000
const MAX_BODY_BYTES = 1 << 20

/** A price that its source itself dates older than this is no price of now. */
const MAX_PRICE_AGE_MS = 5 * MINUTE
/** Days that the ECB's reference rates may be old: over Easter the next come on the fifth day. */
const MAX_REFERENCE_DAYS = 5

/** Cuts after 12 decimals. Anything but plain digits, also an exponent, is no price. */
function parseRate(text: string | undefined, source: string): bigint {
  const digits = text === undefined ? undefined : /^\d+(?:\.\d{1,12})?(?=\d*$)/.exec(text)?.[0]
  const rate = digits === undefined ? undefined : parseDecimal(digits, RATE_EXPONENT)
  if (rate === undefined || rate === 0n) throw new Error(`${source} answered no price`)
  return rate
}

/** @param seconds Unix time in seconds, as text */
function checkAge(seconds: string | undefined, clock: Clock, source: string): void {
  const ageMs = clock() - Number(seconds) * SECOND
  if (!(ageMs <= MAX_PRICE_AGE_MS)) throw new Error(`${source}: the price is ${Math.round(ageMs / SECOND)} s old`)
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
  if (answer.statusCode === 429 || answer.statusCode === 418) {
    const seconds = Number(answer.headers['retry-after'])
    throw new SourceBusy(answer.statusCode, seconds > 0 ? seconds * SECOND : MINUTE)
  }
  if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`)
  return text
}

type Make = (baseUrl: string, clock: Clock) => RateSource

const MAKERS: Record<string, { baseUrl: string; make: Make }> = {
  /**
   * docs.kraken.com, REST Ticker: errors come with HTTP 200; `a` is the ask, in fiat for one USDC. The entry may have
   * another name than the pair that was asked for.
   */
  kraken: {
    baseUrl: 'https://api.kraken.com',
    make: (baseUrl) => ({
      name: 'kraken',
      async fetchRate(from) {
        if (from === 'XPF') return undefined
        const body = parseJsonExact(await get(`${baseUrl}/0/public/Ticker?pair=USDC${from}`))
        const refusal = textAt(body, 'error', 0)
        if (refusal !== undefined) throw new Error(`kraken: ${refusal}`)
        const [pair] = Object.values((body as { result?: Record<string, unknown> } | null)?.result ?? {})
        return inverse(parseRate(textAt(pair, 'a', 0), 'kraken'))
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
    make: (baseUrl, clock) => ({
      name: 'bitstamp',
      async fetchRate(from) {
        if (from !== 'EUR' && from !== 'USD') return undefined
        const body = parseJsonExact(await get(`${baseUrl}/api/v2/ticker/usdc${from.toLowerCase()}/`))
        checkAge(textAt(body, 'timestamp'), clock, 'bitstamp')
        return inverse(parseRate(textAt(body, 'ask'), 'bitstamp'))
      },
    }),
  },
  /** docs.coingecko.com, simple price: fiat for one USDC, as JSON numbers. */
  coingecko: {
    baseUrl: 'https://api.coingecko.com',
    make: (baseUrl, clock) => ({
      name: 'coingecko',
      async fetchRate(from) {
        if (from === 'XPF') return undefined
        const fiat = from.toLowerCase()
        const query = `ids=usd-coin&vs_currencies=${fiat}&precision=full&include_last_updated_at=true`
        const body = parseJsonExact(await get(`${baseUrl}/api/v3/simple/price?${query}`))
        checkAge(textAt(body, 'usd-coin', 'last_updated_at'), clock, 'coingecko')
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
    make: (baseUrl, clock) => ({
      name: 'ecb',
      async fetchRate(from) {
        if (from === 'XPF') return undefined
        const xml = await get(`${baseUrl}/stats/eurofxref/eurofxref-daily.xml`)
        const day = /time=['"](\d{4}-\d{2}-\d{2})['"]/.exec(xml)?.[1]
        const days = day === undefined ? Number.NaN : Math.floor((clock() - Date.parse(day)) / DAY)
        if (!(days <= MAX_REFERENCE_DAYS)) throw new Error(`ecb: the reference rates are of ${day ?? 'no day'}`)
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

/** The sources that the configuration names, in its order. None is asked before its first quote. */
export function openSources(config: Config['rates'], clock: Clock): RateSource[] {
  return config.sources.flatMap((name) => {
    if (name === 'fixed') return [fixedSource(config.fixed)]
    const maker = MAKERS[name]
    return maker ? [withCircuit(maker.make(config.baseUrls[name] ?? maker.baseUrl, clock), clock)] : []
  })
}
