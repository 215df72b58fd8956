import { SECOND } from '../../kernel/clock.ts'

const WINDOW_MS = SECOND
/** While calls wait for an answer, others may end sooner: recheck this often. */
const LOOK_MS = 50
/** With fewer calls, a chain with a block a second cannot be read. */
const MIN_PER_SECOND = 5
const FASTER_AFTER_MS = 60 * SECOND
const FASTER_BY = 1.25

const sleep = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs))

/** `atMs`: when they were sent; after the answer, when they were answered. */
type Sent = { atMs: number; calls: number; isUnderWay: boolean }

/**
 * A node counts calls when they reach it, which is no later than its answer. So they count for a second after the
 * answer, or for two if there is none; otherwise one slow moment on the way could make two seconds' calls arrive in
 * one.
 */
const leavesAtMs = ({ atMs, isUnderWay }: Sent): number => atMs + (isUnderWay ? 2 : 1) * WINDOW_MS

/** Keeps the calls to one node below its rate limit. Providers count each call of a batch. */
export class Pace {
  /** Calls of the last second, oldest first. */
  #sent: Sent[] = []
  #last: Promise<unknown> = Promise.resolve()
  /** A limit kept from before a restart grows from here on. */
  #slowedMs = performance.now()

  /**
   * Resolves when this many calls may be sent, in first-come order.
   * @returns call it when they were answered or failed
   */
  wait(calls: number, perSecond: number | null): Promise<() => void> {
    if (perSecond === null) return Promise.resolve(this.#note(calls))
    const allowed = Math.max(calls, this.#allowed(perSecond))
    const turn = this.#last.then(async () => {
      while (this.#count() + calls > allowed) await sleep(this.#oldestLeavesMs())
      return this.#note(calls)
    })
    this.#last = turn
    return turn
  }

  /** @returns the new limit, after a refusal of what was just sent */
  slower(perSecond: number | null): number {
    const known = perSecond === null ? Number.POSITIVE_INFINITY : this.#allowed(perSecond)
    this.#slowedMs = performance.now()
    const seen = Math.max(1, this.#count())
    return Math.max(MIN_PER_SECOND, Math.floor(Math.min(seen, known) * 0.75))
  }

  /** Part of the limit is restored over time, because nodes also refuse when other clients keep them busy. */
  #allowed(perSecond: number): number {
    const quietMs = performance.now() - this.#slowedMs
    const steps = Math.min(8, Math.floor(quietMs / FASTER_AFTER_MS))
    return Math.floor(perSecond * FASTER_BY ** steps)
  }

  #note(calls: number): () => void {
    this.#count()
    const sent = { atMs: performance.now(), calls, isUnderWay: true }
    this.#sent.push(sent)
    return () => {
      sent.atMs = Math.min(performance.now(), sent.atMs + WINDOW_MS)
      sent.isUnderWay = false
    }
  }

  #count(): number {
    const nowMs = performance.now()
    this.#sent = this.#sent.filter((sent) => leavesAtMs(sent) > nowMs)
    return this.#sent.reduce((sum, { calls }) => sum + calls, 0)
  }

  #oldestLeavesMs(): number {
    const leaves = Math.min(...this.#sent.map(leavesAtMs)) - performance.now()
    return Math.max(1, this.#sent.some(({ isUnderWay }) => isUnderWay) ? Math.min(LOOK_MS, leaves) : leaves)
  }
}
