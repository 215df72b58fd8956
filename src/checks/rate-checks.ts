import { whyUnreached } from '../chain/endpoints/unreached.ts'
import type { Config } from '../config/config.ts'
import { RATE_SOURCES } from '../config/settings/selling.ts'
import { systemClock } from '../kernel/clock.ts'
import type { Fiat } from '../kernel/money.ts'
import { listShortages, pricedThrough, type Shortage } from '../rates/rate-coverage.ts'
import type { RateSource } from '../rates/rate-source.ts'
import { openSources } from '../rates/rate-sources.ts'
import { bad, type Check, good } from './check.ts'

const FIX = 'Add sources that price them to RATE_SOURCES, or leave them out of FIAT_ASSETS.'

type Rates = Config['rates']

const shortagesOf = (rates: Rates, needs: { fiatAssets: Config['fiatAssets']; minSources: number }): Shortage[] =>
  listShortages(openSources(rates, systemClock), needs)

/** Sources that are not chosen and have the price of each of these currencies. */
function findHelpful(rates: Rates, short: readonly Shortage[]): string[] {
  const needs = { fiatAssets: short.map(({ from }) => from), minSources: 1 }
  const others = RATE_SOURCES.filter((name) => name !== 'fixed' && !rates.sources.includes(name))
  return others.filter((name) => shortagesOf({ ...rates, sources: [name] }, needs).length === 0)
}

/** Asks no source: whether the chosen ones can price every currency at all. */
export const rateCheck = ({ rates, fiatAssets }: Pick<Config, 'rates' | 'fiatAssets'>): Check => ({
  name: 'rates',
  cure: FIX,
  async run() {
    const { minSources } = rates
    const short = shortagesOf(rates, { fiatAssets, minSources })
    if (short.length === 0) return good('Every currency has enough price sources.')
    const words = short.map(({ from, names }) => `${from} (${names.join(', ') || 'no source'})`)
    const needed = `RATE_MIN_SOURCES is ${minSources}`
    const helpful = findHelpful(rates, short)
    const message = `Orders in these currencies are refused, as too few sources price them (${needed}): ${words.join(', ')}.`
    return bad(message, helpful.length === 0 ? FIX : `${FIX} These have all their prices: ${helpful.join(', ')}.`)
  },
})

type Asked = { name: string; from: Fiat; why: string | null }

async function ask(source: RateSource, from: Fiat): Promise<Asked> {
  const why = await source.fetchPrice(from).then(
    () => null,
    (error: unknown) => whyUnreached(error) ?? (error as Error).message,
  )
  return { name: source.name, from, why }
}

const ANSWER_FIX =
  'Check that this machine may reach them (a firewall, a proxy, DNS), and RATE_<SOURCE>_BASE_URL where it is set. Or choose others in RATE_SOURCES.'

/** Asks each source for the prices that orders need now: without them every order is refused. */
export const priceCheck = ({ rates, fiatAssets }: Pick<Config, 'rates' | 'fiatAssets'>): Check => ({
  name: 'prices',
  cure: ANSWER_FIX,
  async run() {
    const sources = openSources(rates, systemClock)
    const wanted = [...new Set(fiatAssets.map((from) => pricedThrough(sources, from)))]
    const pairs = sources.flatMap((source) =>
      wanted.filter((from) => source.covers.includes(from)).map((from) => [source, from] as const),
    )
    const asked = await Promise.all(pairs.map(([source, from]) => ask(source, from)))
    const silent = new Map(asked.flatMap(({ name, why }) => (why === null ? [] : [[name, why]])))
    const reasons = [...silent].map(([name, why]) => `${name}: ${why}`).join('; ')
    const short = wanted.filter((from) => {
      const answers = asked.filter((one) => one.from === from)
      // which currencies have too few sources at all, the check of the settings says
      return answers.length > 0 && answers.filter(({ why }) => why === null).length < rates.minSources
    })
    if (short.length > 0)
      return bad(
        `Orders in ${short.join(', ')} would be refused now, as too few price sources answer (${reasons}).`,
        ANSWER_FIX,
      )
    return good(
      silent.size === 0 ? 'Every price source answers.' : `Enough price sources answer; not all (${reasons}).`,
    )
  },
})
