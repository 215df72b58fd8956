import type { Fiat } from '../kernel/money.ts'
import type { RateSource } from './rate-source.ts'

type Covering = Pick<RateSource, 'name' | 'covers'>

/** The franc Pacifique has a legal parity with the euro: without a source of its own it is priced through EUR. */
export const pricedThrough = (sources: readonly Covering[], from: Fiat): Fiat =>
  from === 'XPF' && !sources.some(({ covers }) => covers.includes(from)) ? 'EUR' : from

/** A currency with too few sources for a rate, and the names of those that have its price. */
export type Shortage = { from: Fiat; names: string[] }

/** The currencies that never have a rate, however well the sources answer. */
export const listShortages = (
  sources: readonly Covering[],
  { fiatAssets, minSources }: { fiatAssets: readonly Fiat[]; minSources: number },
): Shortage[] =>
  fiatAssets.flatMap((from) => {
    const through = pricedThrough(sources, from)
    const names = sources.filter(({ covers }) => covers.includes(through)).map(({ name }) => name)
    return names.length < minSources ? [{ from, names }] : []
  })
