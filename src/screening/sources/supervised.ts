import { ProviderTrouble } from '../../channels/provider-errors.ts'
import { Circuit, CircuitOpen, type CircuitRules } from '../../kernel/circuit.ts'
import { type Clock, SECOND } from '../../kernel/clock.ts'
import { type Answer, type Place, type ScreeningSource, unavailable } from '../screening.ts'

/** What waits is polled at least every 30 s, so no pause is longer than that. */
const RULES: CircuitRules = {
  openAfter: 3,
  pausesMs: { trouble: [5 * SECOND], credentials: [20 * SECOND], clock: [20 * SECOND] },
  maxBusyMs: 20 * SECOND,
}
/** A source's two requests take at most five seconds each; the lease of a poll lasts a minute. */
const LIMIT_MS = 12 * SECOND

/** Never throws: any error counts as no answer. */
export type SafeSource = ScreeningSource & { readonly supervised: true }

function within<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ProviderTrouble('no answer in time')), LIMIT_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

const retryOf = (error: unknown): number | null => (error instanceof ProviderTrouble ? error.retryAfterMs : null)

/** A source with a circuit breaker: one that is down does not delay the others. */
export function superviseSource(source: ScreeningSource, clock: Clock): SafeSource {
  const circuit = new Circuit(clock, RULES)
  return {
    id: source.id,
    supervised: true,
    async screen(place: Place): Promise<Answer> {
      try {
        return await circuit.run(
          () => within(source.screen(place)),
          (error) => ({ means: 'fails', retryAfterMs: retryOf(error) }),
        )
      } catch (error) {
        if (error instanceof CircuitOpen) return unavailable('it did not answer before and is left alone for a moment')
        return unavailable(error instanceof Error ? error.message : String(error))
      }
    },
  }
}
