import { request } from 'undici'
import type { Config } from '../config/config.ts'
import { type Clock, DAY, MINUTE, SECOND } from '../kernel/clock.ts'
import { parseJsonExact, textAt } from '../kernel/json.ts'
import { type Fiat, parseDecimal, RATE_EXPONENT } from '../kernel/money.ts'
import { SourceBusy, withCircuit } from './rate-circuit.ts'
import type { RateSource } from './rate-source.ts'

const ONE = 10n ** BigInt(RATE_EXPONENT)
const TIMEOUT_MS = 5000
const MAX_BODY_BYTES = 1 << 20

/** A price older than this by its own date is stale. */
const MAX_PRICE_AGE_MS = 5 * MINUTE
/** Maximum age of the ECB’s reference rates in days: after Easter the next ones come on the fifth day. */
const MAX_REFERENCE_DAYS = 5

/**
 * A plain decimal, cut after 12 digits of its fraction. No currency costs ten digits before the point: the inverse
 * would be zero. Every digit has one place in the pattern, so that a long text takes no longer.
 */
const PRICE = /^(\d{1,9})(?:\.(\d{1,12})\d*)?$/

/** Plain digits only, no exponent. @throws Error */
function parseRate(text: string | undefined, source: string): bigint {
  const [, whole, fraction = ''] = PRICE.exec(text ?? '') ?? []
  const rate = whole === undefined ? undefined : parseDecimal(`${whole}.${fraction || '0'}`, RATE_EXPONENT)
  if (rate === undefined || rate === 0n) throw new Error(`${source} returned no price`)
  return rate
}

/** @throws Error for a price that is too old or has no time */
function checkAge(at: number, clock: Clock, source: string): number {
  const ageMs = clock() - at
  if (!(ageMs <= MAX_PRICE_AGE_MS)) throw new Error(`${source}: the price is ${Math.round(ageMs / SECOND)} s old`)
  return Math.min(at, clock())
}

/** @param seconds Unix time in seconds, as text */
const ownTime = (seconds: string | undefined): number => Number(seconds) * SECOND

/**
 * When a reply without a time of its own was priced: when it was requested, or earlier if a cache kept it (RFC 9111,
 * 5.1) or its `Date` is older.
 */
function timeOf(headers: Record<string, string | string[] | undefined>, askedAt: number): number {
  const keptSeconds = Number(headers.age ?? 0)
  const written = Date.parse(String(headers.date ?? ''))
  const asked = askedAt - (keptSeconds > 0 ? keptSeconds * SECOND : 0)
  // Date has whole seconds
  return Number.isNaN(written) ? asked : Math.min(asked, written + SECOND)
}

type Reply = { text: string; at: number }

/** Inverts a price given as fiat for one USDC. */
const inverse = (price: bigint): bigint => (ONE * ONE) / price

async function get(url: string, clock: Clock): Promise<Reply> {
  const askedAt = clock()
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
  return { text, at: timeOf(answer.headers, askedAt) }
}

/** No market trades USDC for XPF. */
const MAJOR: readonly Fiat[] = ['EUR', 'CHF', 'USD', 'GBP']

type Make = (baseUrl: string, clock: Clock) => RateSource

const MAKERS: Record<string, { baseUrl: string; make: Make }> = {
  /**
   * docs.kraken.com, REST Ticker: errors come with HTTP 200; `a` is the ask, in fiat for one USDC. The entry may have
   * another name than the pair that was asked for.
   */
  kraken: {
    baseUrl: 'https://api.kraken.com',
    make: (baseUrl, clock) => ({
      name: 'kraken',
      covers: MAJOR,
      moves: MAJOR,
      isPeg: false,
      async fetchPrice(from) {
        const { text, at } = await get(`${baseUrl}/0/public/Ticker?pair=USDC${from}`, clock)
        const body = parseJsonExact(text)
        const refusal = textAt(body, 'error', 0)
        if (refusal !== undefined) throw new Error(`kraken: ${refusal}`)
        const [pair] = Object.values((body as { result?: Record<string, unknown> } | null)?.result ?? {})
        const rate = inverse(parseRate(textAt(pair, 'a', 0), 'kraken'))
        return { rate, at: checkAge(at, clock, 'kraken') }
      },
    }),
  },
  /** docs.cdp.coinbase.com, exchange rates: already units of USDC for one unit of the currency. */
  coinbase: {
    baseUrl: 'https://api.coinbase.com',
    make: (baseUrl, clock) => ({
      name: 'coinbase',
      covers: MAJOR,
      // USDC is redeemed there for one dollar: in USD it is always told as 1, elsewhere as the market of the dollar
      moves: MAJOR.filter((fiat) => fiat !== 'USD'),
      isPeg: true,
      async fetchPrice(from) {
        const { text, at } = await get(`${baseUrl}/v2/exchange-rates?currency=${from}`, clock)
        const rate = parseRate(textAt(parseJsonExact(text), 'data', 'rates', 'USDC'), 'coinbase')
        return { rate, at: checkAge(at, clock, 'coinbase') }
      },
    }),
  },
  /** binance-spot-api-docs, bookTicker: EURUSDC is USDC for one EUR; the bid is what one EUR buys. */
  binance: {
    baseUrl: 'https://data-api.binance.vision',
    make: (baseUrl, clock) => ({
      name: 'binance',
      covers: ['EUR'],
      moves: ['EUR'],
      isPeg: false,
      async fetchPrice() {
        const { text, at } = await get(`${baseUrl}/api/v3/ticker/bookTicker?symbol=EURUSDC`, clock)
        const rate = parseRate(textAt(parseJsonExact(text), 'bidPrice'), 'binance')
        return { rate, at: checkAge(at, clock, 'binance') }
      },
    }),
  },
  /** bitstamp.net/api: `ask` in fiat for one USDC. */
  bitstamp: {
    baseUrl: 'https://www.bitstamp.net',
    make: (baseUrl, clock) => ({
      name: 'bitstamp',
      covers: ['EUR', 'USD'],
      moves: ['EUR', 'USD'],
      isPeg: false,
      async fetchPrice(from) {
        const { text } = await get(`${baseUrl}/api/v2/ticker/usdc${from.toLowerCase()}/`, clock)
        const body = parseJsonExact(text)
        const at = checkAge(ownTime(textAt(body, 'timestamp')), clock, 'bitstamp')
        return { rate: inverse(parseRate(textAt(body, 'ask'), 'bitstamp')), at }
      },
    }),
  },
  /** docs.coingecko.com, simple price: fiat for one USDC, as JSON numbers. */
  coingecko: {
    baseUrl: 'https://api.coingecko.com',
    make: (baseUrl, clock) => ({
      name: 'coingecko',
      covers: MAJOR,
      moves: MAJOR,
      isPeg: false,
      async fetchPrice(from) {
        const fiat = from.toLowerCase()
        const query = `ids=usd-coin&vs_currencies=${fiat}&precision=full&include_last_updated_at=true`
        const { text } = await get(`${baseUrl}/api/v3/simple/price?${query}`, clock)
        const body = parseJsonExact(text)
        const at = checkAge(ownTime(textAt(body, 'usd-coin', 'last_updated_at')), clock, 'coingecko')
        return { rate: inverse(parseRate(textAt(body, 'usd-coin', fiat), 'coingecko')), at }
      },
    }),
  },
  /**
   * ECB euro foreign exchange reference rates: units of each currency for one EUR, once a working day, by date.
   * Counts one USDC as one USD, which the deviation rule against the venues checks.
   */
  ecb: {
    baseUrl: 'https://www.ecb.europa.eu',
    make: (baseUrl, clock) => ({
      name: 'ecb',
      covers: MAJOR,
      moves: [],
      isPeg: true,
      async fetchPrice(from) {
        const { text: xml } = await get(`${baseUrl}/stats/eurofxref/eurofxref-daily.xml`, clock)
        const day = /time=['"](\d{4}-\d{2}-\d{2})['"]/.exec(xml)?.[1]
        const at = day === undefined ? Number.NaN : Math.min(Date.parse(day), clock())
        if (!(Math.floor((clock() - at) / DAY) <= MAX_REFERENCE_DAYS))
          throw new Error(`ecb: the reference rates date from ${day ?? 'no day'}`)
        const perEuro = (currency: string): bigint =>
          currency === 'EUR'
            ? ONE
            : parseRate(new RegExp(`currency=['"]${currency}['"]\\s+rate=['"]([\\d.]+)['"]`).exec(xml)?.[1], 'ecb')
        return { rate: (perEuro('USD') * ONE) / perEuro(from), at }
      },
    }),
  },
}

function fixedSource(rates: Record<string, string>, clock: Clock): RateSource {
  return {
    name: 'fixed',
    covers: [...MAJOR, 'XPF' as const].filter((fiat) => rates[fiat] !== undefined),
    moves: [],
    isPeg: true,
    async fetchPrice(from) {
      return { rate: parseRate(rates[from], 'fixed'), at: clock() }
    },
  }
}

/** The configured sources, in order. None is called before the first quote. */
export function openSources(config: Config['rates'], clock: Clock): RateSource[] {
  return config.sources.flatMap((name) => {
    if (name === 'fixed') return [fixedSource(config.fixed, clock)]
    const maker = MAKERS[name]
    return maker ? [withCircuit(maker.make(config.baseUrls[name] ?? maker.baseUrl, clock), clock)] : []
  })
}
