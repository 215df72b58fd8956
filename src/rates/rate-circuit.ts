import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import type { Fiat } from '../kernel/money.ts'
import type { RateSource } from './rate-sources.ts'

/** Failures in a row after which a source is left alone. */
export const OPEN_AFTER = 3
export const PAUSE_MS = 30 * SECOND
/** A source that says "not so often" is left alone for as long as it says, at most this long. */
const MAX_PAUSE_MS = 10 * MINUTE

/** The source asks to be left alone (HTTP 429; Binance also 418). */
export class SourceBusy extends Error {
  override readonly name = 'SourceBusy'
  readonly retryAfterMs: number
  constructor(status: number, retryAfterMs: number) {
    super(`HTTP ${status}`)
    this.retryAfterMs = retryAfterMs
  }
}

type State = { failures: number; openUntil: number; trying: boolean }

/**
 * Stops asking a source about a currency after three failures in a row; half a minute later one question is let
 * through,
 * whose answer decides. So a dead source costs its timeout twice a minute instead of at every quote.
 */
export function withCircuit(source: RateSource, clock: Clock): RateSource {
  const states = new Map<Fiat, State>()
  let busyUntil = 0
  const fail = (state: State, error: unknown): void => {
    state.failures += 1
    if (state.failures >= OPEN_AFTER) state.openUntil = clock() + PAUSE_MS
    if (error instanceof SourceBusy) busyUntil = clock() + Math.min(error.retryAfterMs, MAX_PAUSE_MS)
  }
  return {
    name: source.name,
    async fetchRate(from) {
      const state = states.get(from) ?? { failures: 0, openUntil: 0, trying: false }
      states.set(from, state)
      if (clock() < busyUntil) throw new Error('not asked: it wants to be left alone')
      const isOpen = state.failures >= OPEN_AFTER
      if (isOpen && (clock() < state.openUntil || state.trying)) {
        throw new Error(`not asked: it failed ${state.failures} times in a row`)
      }
      state.trying = isOpen
      try {
        const rate = await source.fetchRate(from)
        state.failures = 0
        return rate
      } catch (error) {
        fail(state, error)
        throw error
      } finally {
        state.trying = false
      }
    },
  }
}
