import { type Clock, isRecent, MINUTE } from './clock.ts'

/**
 * Why a circuit is open. `trouble`: failures in a row. `busy`: the other side asked for a pause. `credentials` and
 * `clock`: it answers, but rejects our key or our time.
 */
export type OpenCause = 'trouble' | 'busy' | 'credentials' | 'clock'

/** What a failed call says about the other side; `nothing`: the fault was ours. */
export type Verdict =
  | { means: 'works' | 'nothing' }
  | { means: 'fails'; retryAfterMs?: number | null }
  | { means: 'refuses'; cause: 'credentials' | 'clock' }

export type CircuitRules = {
  /** Failures in a row that open it. */
  openAfter: number
  /** The first, second, third … pause per cause, in milliseconds; the last one repeats. */
  pausesMs: Readonly<Record<Exclude<OpenCause, 'busy'>, readonly number[]>>
  /** The longest pause that the other side may ask for. */
  maxBusyMs: number
}

export type CircuitState = {
  state: 'closed' | 'open' | 'half-open'
  cause: OpenCause | null
  /** When the next call is allowed; null while closed. */
  openUntil: number | null
}

/** Thrown instead of calling. */
export class CircuitOpen extends Error {
  override readonly name = 'CircuitOpen'
  readonly openCause: OpenCause
  constructor(cause: OpenCause) {
    super(`not called: left alone for a pause (${cause})`)
    this.openCause = cause
  }
}

/** After this long an unfinished trial no longer counts, and another call may try. */
const TRIAL_MS = MINUTE

/**
 * Open means no calls until the pause is over. Then one call at a time is a trial: its success closes the circuit, its
 * failure opens it again. A trial that hangs is replaced by another.
 */
export class Circuit {
  readonly #clock: Clock
  readonly #rules: CircuitRules
  #failures = 0
  #cause: OpenCause | null = null
  /** How often it has opened since it was last closed. */
  #openings = 0
  #paused = { atMs: 0, forMs: 0 }
  #trial: { startedAt: number } | null = null

  constructor(clock: Clock, rules: CircuitRules) {
    this.#clock = clock
    this.#rules = rules
  }

  get state(): CircuitState {
    if (this.#cause === null) return { state: 'closed', cause: null, openUntil: null }
    const now = this.#clock()
    const { atMs, forMs } = this.#paused
    const isOpen = this.#isPaused(now) || this.#isTrying(now)
    return { state: isOpen ? 'open' : 'half-open', cause: this.#cause, openUntil: atMs + forMs }
  }

  /** @throws CircuitOpen, or the error of `work`, classified by `judge` */
  async run<Result>(work: () => Promise<Result>, judge: (error: unknown) => Verdict): Promise<Result> {
    const trial = this.#enter()
    try {
      const result = await work()
      this.#close()
      return result
    } catch (error) {
      this.#apply(judge(error))
      throw error
    } finally {
      if (trial !== null && this.#trial === trial) this.#trial = null
    }
  }

  #isPaused(now: number): boolean {
    return isRecent(this.#paused.atMs, this.#paused.forMs, now)
  }

  #isTrying(now: number): boolean {
    return this.#trial !== null && isRecent(this.#trial.startedAt, TRIAL_MS, now)
  }

  #enter(): { startedAt: number } | null {
    if (this.#cause === null) return null
    const now = this.#clock()
    if (this.#isPaused(now) || this.#isTrying(now)) throw new CircuitOpen(this.#cause)
    this.#trial = { startedAt: now }
    return this.#trial
  }

  #apply(verdict: Verdict): void {
    if (verdict.means === 'works') this.#close()
    if (verdict.means === 'refuses') this.#open(verdict.cause)
    if (verdict.means !== 'fails') return
    this.#failures += 1
    if (verdict.retryAfterMs) this.#pause('busy', Math.min(verdict.retryAfterMs, this.#rules.maxBusyMs))
    else if (this.#cause !== null || this.#failures >= this.#rules.openAfter) this.#open('trouble')
  }

  #close(): void {
    this.#failures = 0
    this.#openings = 0
    this.#cause = null
    this.#paused = { atMs: 0, forMs: 0 }
  }

  #open(cause: Exclude<OpenCause, 'busy'>): void {
    if (this.#cause !== cause) this.#openings = 0
    const pauses = this.#rules.pausesMs[cause]
    const pauseMs = pauses[Math.min(this.#openings, pauses.length - 1)] ?? MINUTE
    // calls in flight when it opened do not extend the pause
    if (!this.#isPaused(this.#clock()) || this.#cause !== cause) {
      this.#openings += 1
      this.#pause(cause, pauseMs)
    }
  }

  #pause(cause: OpenCause, pauseMs: number): void {
    this.#cause = cause
    this.#paused = { atMs: this.#clock(), forMs: pauseMs }
  }
}
