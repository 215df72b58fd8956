import { MINUTE, SECOND } from '../../kernel/clock.ts'
import type { Endpoint } from './endpoint.ts'

/** An endpoint is behind if its newest block is this much older than another one's. */
const BEHIND_MS = 15 * SECOND
/** Further than this no honest block is ahead of a clock; ours may be a little wrong. */
const EARLY_MS = 10 * MINUTE

/** The time of an endpoint's newest block, in ms; null: it is not known. Minus infinity is behind any other. */
export type HeadTime = { endpoint: Endpoint; at: number | null }

/**
 * Sets which endpoints are behind, and which are far ahead of all others and of our clock: the time of a block is only
 * what its node says. One that has not proved its token may be behind, but is no measure for the others, and one that
 * is alone is believed, because our clock may be the wrong one.
 * @returns those that are found far ahead for the first time
 */
export function compareHeads(heads: readonly HeadTime[], nowMs: number): Endpoint[] {
  const known = heads.flatMap(({ endpoint, at }) => (at === null ? [] : [{ endpoint, at }]))
  const proven = known.filter(({ endpoint, at }) => !endpoint.unproven && Number.isFinite(at))
  const isEarly = ({ endpoint, at }: (typeof known)[number]): boolean => {
    const others = proven.filter((other) => other.endpoint !== endpoint)
    return at - nowMs > EARLY_MS && others.length > 0 && others.every((other) => at - other.at > EARLY_MS)
  }
  const early = new Set(proven.filter(isEarly).map(({ endpoint }) => endpoint))
  const measures = proven.filter(({ endpoint }) => !early.has(endpoint)).map(({ at }) => at)
  const newest = Math.max(...measures)
  for (const { endpoint, at } of known) endpoint.behind = measures.length > 0 && newest - at > BEHIND_MS
  const news = [...early].filter((endpoint) => !endpoint.early)
  for (const { endpoint } of known) endpoint.early = early.has(endpoint)
  return news
}
