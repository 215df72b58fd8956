import { SECOND } from '../../kernel/clock.ts'

const WINDOW_MS = SECOND
/** Below this a chain with a block a second cannot be read any more. */
const MIN_PER_SECOND = 5
const FASTER_AFTER_MS = 60 * SECOND
const FASTER_BY = 1.25

const sleep = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs))

/** Keeps the calls to one node below the rate that it allows. Providers count each call of a batch. */
export class Pace {
  /** Calls of the last second, oldest first. */
  #sent: { atMs: number; calls: number }[] = []
  #last: Promise<void> = Promise.resolve()
  #slowedMs = Number.NEGATIVE_INFINITY

  /** Returns when so many calls may be sent; callers are served in their order. */
  wait(calls: number, perSecond: number | null): Promise<void> {
    if (perSecond === null) {
      this.#note(calls)
      return Promise.resolve()
    }
    const allowed = Math.max(calls, this.#allowed(perSecond))
    this.#last = this.#last.then(async () => {
      while (this.#count() + calls > allowed) await sleep(this.#oldestLeavesMs())
      this.#note(calls)
    })
    return this.#last
  }

  /** @returns what to allow from now on, after a refusal of what was just sent */
  slower(perSecond: number | null): number {
    this.#slowedMs = performance.now()
    const seen = Math.max(1, this.#count())
    return Math.max(MIN_PER_SECOND, Math.floor(Math.min(seen, perSecond ?? seen) * 0.75))
  }

  /** Some of a limit comes back with time: nodes refuse also because others keep them busy. */
  #allowed(perSecond: number): number {
    const quietMs = performance.now() - this.#slowedMs
    const steps = Number.isFinite(quietMs) ? Math.min(8, Math.floor(quietMs / FASTER_AFTER_MS)) : 0
    return Math.floor(perSecond * FASTER_BY ** steps)
  }

  #note(calls: number): void {
    this.#count()
    this.#sent.push({ atMs: performance.now(), calls })
  }

  #count(): number {
    const since = performance.now() - WINDOW_MS
    this.#sent = this.#sent.filter(({ atMs }) => atMs > since)
    return this.#sent.reduce((sum, { calls }) => sum + calls, 0)
  }

  #oldestLeavesMs(): number {
    const [oldest] = this.#sent
    return oldest ? Math.max(1, oldest.atMs + WINDOW_MS - performance.now()) : 1
  }
}
