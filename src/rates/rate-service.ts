import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { toStorableText } from '../db/storable.ts'
import { type Clock, DAY, isYounger, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Fiat } from '../kernel/money.ts'
import { pricedThrough } from './rate-coverage.ts'
import { type FreshnessWatch, READ_EVERY_MS, watchFreshness } from './rate-freshness.ts'
import { type Evidence, medianRate } from './rate-median.ts'
import { openRateMetrics, type RateMetrics } from './rate-metrics.ts'
import { findPricedCurrencies, insertQuote } from './rate-queries.ts'
import type { RateSource } from './rate-source.ts'
import { openSources } from './rate-sources.ts'

/** A rate with its proof: units of USDC for one unit of `from`, scaled by 10^RATE_EXPONENT. */
export type Quote = {
  id: string
  from: Fiat
  to: 'USDC'
  rate: bigint
  sources: string[]
  at: Date
  evidence: Evidence[]
}

export type Rates = {
  /**
   * A quote within the configured age, cached or new.
   * @param isForOrder an order needs the rate: the operator is alerted while there is none
   * @throws INVALID_EXCHANGE_RATE
   */
  quote(from: Fiat, need?: { isForOrder: boolean }): Promise<Quote>
  /** The last quote of this process, however old; null: it has none. Never asks. */
  peek(from: Fiat): Quote | null
  /** Stores the quote permanently; orders refer to it. */
  store(quote: Quote): Promise<void>
  /**
   * Reads the prices of the currencies sold in during the last week, unless a caller just did. Without it, a process
   * that prices orders only now and then would trust a source that stopped moving: between its rare reads the price may
   * have moved. Also those whose rate was wanted in vain, so that it is known when it is back; and EUR beside any
   * other, because limits are in EUR.
   */
  readAgain(): Promise<void>
}

/** A currency in which no order was priced for this long is read only on demand. */
const QUIET_AFTER_MS = 7 * DAY

/** Legal parity of the franc Pacifique (ieom.fr): 1000 XPF are 8.38 EUR. */
const XPF_IN_EUR = { times: 838n, by: 100_000n } as const

type AskDeps = { sources: readonly RateSource[]; watch: FreshnessWatch; metrics: RateMetrics | undefined }

const failed = (source: string, reason: string): Evidence => ({ source, rate: null, at: null, taken: false, reason })

async function ask(source: RateSource, from: Fiat, { watch, metrics }: AskDeps): Promise<Evidence> {
  const { name } = source
  try {
    const price = await source.fetchPrice(from)
    const frozenMs = source.moves.includes(from) ? watch.frozenFor(name, from, price.rate) : null
    metrics?.noteAnswer(name, price.at)
    metrics?.noteFrozen(name, from, frozenMs !== null)
    if (frozenMs !== null) return failed(name, `the price has not changed for ${Math.floor(frozenMs / MINUTE)} minutes`)
    return { source: name, ...price, taken: false, reason: null }
  } catch (error) {
    metrics?.noteFailure(name)
    return failed(name, toStorableText((error as Error).message, 200))
  }
}

async function askAll(deps: AskDeps, from: Fiat): Promise<Evidence[]> {
  const through = pricedThrough(deps.sources, from)
  const asked = deps.sources.filter(({ covers }) => covers.includes(through))
  const answers = await Promise.all(asked.map((source) => ask(source, through, deps)))
  if (through === from) return answers
  return answers.map((answer) => ({
    ...answer,
    source: `${answer.source} (EUR, parity)`,
    rate: answer.rate === null ? null : (answer.rate * XPF_IN_EUR.times) / XPF_IN_EUR.by,
  }))
}

/**
 * Sources for which USDC is one dollar must not outvote a market where it is worth less: an order would be paid with
 * too little. Where no market answers, or USDC is worth more there, they count.
 */
function contradictsMarket(
  { sources }: AskDeps,
  { from, quoted, evidence }: { from: Fiat; quoted: bigint; evidence: readonly Evidence[] },
): boolean {
  const through = pricedThrough(sources, from)
  const asked = sources.filter(({ covers }) => covers.includes(through))
  const market = evidence.filter(({ rate }, place) => rate !== null && asked[place]?.isPeg === false)
  return market.some(({ rate }) => (rate ?? 0n) > quoted) && !market.some(({ taken }) => taken)
}

const oldestOf = (evidence: readonly Evidence[]): number =>
  Math.min(...evidence.flatMap(({ taken, at }) => (taken && at !== null ? [at] : [])))

/** Median of the configured sources, cached and renewed in the background before it expires; never a default. */
export function openRates(deps: {
  config: Config['rates']
  /** What orders can be priced in. */
  fiatAssets: readonly Fiat[]
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  metrics?: Registry
}): Rates {
  const { config, fiatAssets, db, clock, log } = deps
  const sources = openSources(config, clock)
  const metrics = deps.metrics && openRateMetrics(deps.metrics, clock)
  const asking: AskDeps = { sources, watch: watchFreshness(clock), metrics }
  const cache = new Map<Fiat, Quote>()
  const running = new Map<Fiat, Promise<Quote>>()
  const stored = new Set<string>()

  const make = async (from: Fiat): Promise<Quote> => {
    const at = new Date(clock())
    const { rate, evidence } = medianRate(await askAll(asking, from), config)
    if (rate === undefined || contradictsMarket(asking, { from, quoted: rate, evidence })) {
      metrics?.noteMissing(from)
      log.warn({ from, evidence: evidence.map(({ source, reason }) => ({ source, reason })) }, 'no exchange rate')
      throw new AppError('INVALID_EXCHANGE_RATE')
    }
    const names = evidence.filter((answer) => answer.taken).map((answer) => answer.source)
    const quote: Quote = { id: newId(), from, to: 'USDC', rate, sources: names, at, evidence }
    cache.set(from, quote)
    metrics?.noteRate(from, oldestOf(evidence))
    return quote
  }
  const renew = (from: Fiat): Promise<Quote> => {
    const known = running.get(from)
    if (known) return known
    const started = make(from).finally(() => running.delete(from))
    running.set(from, started)
    return started
  }
  const maxAgeMs = config.maxAgeSeconds * SECOND
  const findYounger = (from: Fiat, ageMs: number): Quote | undefined => {
    const cached = cache.get(from)
    return cached && isYounger(cached.at.getTime(), ageMs, clock()) ? cached : undefined
  }
  return {
    async readAgain() {
      const since = new Date(clock() - QUIET_AFTER_MS)
      const isMoving = sources.some(({ moves }) => moves.length > 0)
      const priced = isMoving ? await findPricedCurrencies(db, fiatAssets, since) : []
      const all = new Set([...priced, ...(metrics?.listWanted() ?? [])])
      if (all.size > 0) all.add('EUR')
      for (const from of all) if (!findYounger(from, READ_EVERY_MS / 2)) await renew(from).catch(() => {})
    },
    async quote(from, { isForOrder } = { isForOrder: false }) {
      const cached = findYounger(from, maxAgeMs)
      if (!cached)
        return renew(from).catch((error: unknown) => {
          if (isForOrder) metrics?.noteWanted(from)
          throw error
        })
      if (!findYounger(from, maxAgeMs / 2)) renew(from).catch(() => {})
      return cached
    },
    peek: (from) => cache.get(from) ?? null,
    async store(quote) {
      if (stored.has(quote.id)) return
      await insertQuote(db, quote)
      if (stored.size > 1000) stored.clear()
      stored.add(quote.id)
    },
  }
}
