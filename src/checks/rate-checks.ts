import type { Config } from '../config/config.ts'
import { RATE_SOURCES } from '../config/settings/selling.ts'
import { systemClock } from '../kernel/clock.ts'
import { listShortages, type Shortage } from '../rates/rate-coverage.ts'
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
