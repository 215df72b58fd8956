import { HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'

/** An endpoint is behind if its newest block is this much older than what others, or another and our clock, say. */
const BEHIND_MS = 15 * SECOND
/** Further than this no honest block is ahead of a clock; ours may be a little wrong. */
const EARLY_MS = 10 * MINUTE
/** A node with an older newest block, by our clock, is being synchronised. */
export const STALE_MS = HOUR

/** The time of an endpoint's newest block, in ms; null: it is not known. Minus infinity is behind any other. */
export type HeadTime = { endpoint: Endpoint; at: number | null }

/** A time that is not one node's word: the second newest of three or more; of fewer the newest, up to our clock. */
function measureOf(times: readonly number[], nowMs: number): number | undefined {
  const [newest, second, third] = times.toSorted((left, right) => right - left)
  return third === undefined && newest !== undefined ? Math.min(newest, nowMs) : second
}

/**
 * Sets which endpoints are behind, and which are far ahead of all others and of our clock: the time of a block is only
 * what its node says. One that has not proved its token may be behind, but is no measure for the others. One that was
 * found far ahead stays so until its newest block no longer is, or another one bears it out: that the others are silent
 * proves nothing. One that was always alone is read, because our clock may be the wrong one, but no money counts.
 * @returns those that are found to be so for the first time
 */
export function compareHeads(heads: readonly HeadTime[], nowMs: number): { early: Endpoint[]; aheadAlone: Endpoint[] } {
  const known = heads.flatMap(({ endpoint, at }) => (at === null ? [] : [{ endpoint, at }]))
  const proven = known.filter(({ endpoint, at }) => !endpoint.unproven && Number.isFinite(at))
  const ahead = proven.filter(({ at }) => at - nowMs > EARLY_MS)
  const othersOf = (endpoint: Endpoint) => proven.filter((other) => other.endpoint !== endpoint)
  const early = ahead.flatMap(({ endpoint, at }) => {
    const others = othersOf(endpoint)
    const isFound = (others.length > 0 || endpoint.early) && others.every((other) => at - other.at > EARLY_MS)
    return isFound ? [endpoint] : []
  })
  const aheadAlone = ahead.flatMap(({ endpoint }) =>
    !early.includes(endpoint) && othersOf(endpoint).length === 0 ? [endpoint] : [],
  )
  const measures = proven.filter(({ endpoint }) => !early.includes(endpoint)).map(({ at }) => at)
  const measure = measureOf(measures, nowMs)
  const isOld = (at: number): boolean => nowMs - at > STALE_MS
  const fresh = measures.filter((at) => !isOld(at)).length
  for (const { endpoint, at } of known) {
    endpoint.behind = measure !== undefined && measure - at > BEHIND_MS
    // a chain may stand still for hours: of three or more, one that goes on alone does not silence the others
    endpoint.stale = Number.isFinite(at) && isOld(at) && (measures.length < 3 || fresh > 1)
  }
  const news = { early: early.filter((one) => !one.early), aheadAlone: aheadAlone.filter((one) => !one.aheadAlone) }
  for (const { endpoint } of proven) {
    endpoint.early = early.includes(endpoint)
    endpoint.aheadAlone = aheadAlone.includes(endpoint)
  }
  return news
}
