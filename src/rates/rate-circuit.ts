import { Circuit, type CircuitRules, type Verdict } from '../kernel/circuit.ts'
import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import type { Fiat } from '../kernel/money.ts'
import type { RateSource } from './rate-source.ts'

const PAUSE_MS = [30 * SECOND]
const RULES: CircuitRules = {
  openAfter: 3,
  pausesMs: { trouble: PAUSE_MS, credentials: PAUSE_MS, clock: PAUSE_MS },
  maxBusyMs: 10 * MINUTE,
}

/** The source asks to be left alone (HTTP 429; Binance also 418). */
export class SourceBusy extends Error {
  override readonly name = 'SourceBusy'
  readonly retryAfterMs: number
  constructor(status: number, retryAfterMs: number) {
    super(`HTTP ${status}`)
    this.retryAfterMs = retryAfterMs
  }
}

const judgeSource = (error: unknown): Verdict =>
  error instanceof SourceBusy ? { means: 'fails', retryAfterMs: error.retryAfterMs } : { means: 'nothing' }

/**
 * One circuit per currency, so that a dead source costs its timeout twice a minute instead of at every quote; and one
 * for the whole source, which opens when the source asks for a pause.
 */
export function withCircuit(source: RateSource, clock: Clock): RateSource {
  const whole = new Circuit(clock, RULES)
  const byCurrency = new Map<Fiat, Circuit>()
  const circuitOf = (from: Fiat): Circuit => {
    const circuit = byCurrency.get(from) ?? new Circuit(clock, RULES)
    byCurrency.set(from, circuit)
    return circuit
  }
  return {
    ...source,
    fetchPrice: (from) =>
      whole.run(
        () =>
          circuitOf(from).run(
            () => source.fetchPrice(from),
            () => ({ means: 'fails' }),
          ),
        judgeSource,
      ),
  }
}
