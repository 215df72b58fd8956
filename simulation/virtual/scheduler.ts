import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { createHash, type Hash } from 'node:crypto'
import { type Random, seededRandom } from './random.ts'

/** What dies together: a node of the service. Timers, answers and statements of a dead one never fire. */
export type Scope = { readonly name: string; alive: boolean; diedMs?: number }

const scopes = new AsyncLocalStorage<Scope | null>()
export const currentScope = (): Scope | null => scopes.getStore() ?? null
export const runIn = <Result>(scope: Scope | null, work: () => Result): Result => scopes.run(scope, work)

type Work = () => void | Promise<void>

export type Timer = { cancel(): void }

class Event implements Timer {
  readonly atMs: number
  /** Orders events that have the same time. */
  readonly rank: number
  readonly scope: Scope | null
  /** With the caller's async context; null: cancelled, so that nothing of it is retained until its time. */
  job: { context: AsyncResource; work: Work } | null

  constructor(when: { atMs: number; rank: number; scope: Scope | null }, work: Work) {
    this.atMs = when.atMs
    this.rank = when.rank
    this.scope = when.scope
    this.job = { context: captureContext(), work }
  }

  cancel(): void {
    this.job = null
  }
}

/** `AsyncLocalStorage.snapshot()` costs five microseconds, this a fifth of one. */
const captureContext = (): AsyncResource => new AsyncResource('simulation', { requireManualDestroy: true })

const realSetImmediate = globalThis.setImmediate

const isBefore = (left: Event, right: Event): boolean =>
  left.atMs < right.atMs || (left.atMs === right.atMs && left.rank < right.rank)

/**
 * One clock and one queue for everything that happens. An event runs until everything waits for another event; only
 * then does the clock advance. So a run depends on its seed alone.
 */
export class Scheduler {
  readonly random: Random
  readonly #heap: Event[] = []
  readonly #trace: Hash = createHash('sha256')
  #nowMs: number
  #steps = 0
  #crash: { error: unknown } | null = null

  constructor(seed: number, startMs: number) {
    this.random = seededRandom(seed)
    this.#nowMs = startMs
  }

  /** Milliseconds since 1970, with fractions. */
  get nowMs(): number {
    return this.#nowMs
  }

  get steps(): number {
    return this.#steps
  }

  /** Adds to the run's fingerprint. */
  note(text: string | Buffer): void {
    this.#trace.update(text)
  }

  fingerprint(): string {
    return this.#trace.copy().digest('hex').slice(0, 32)
  }

  /** Runs `work` after a delay, in the caller's async context; not if its scope is dead by then. */
  after(delayMs: number, work: Work, scope: Scope | null = currentScope()): Timer {
    const when = { atMs: this.#nowMs + Math.max(0, delayMs), rank: this.random.next(), scope }
    const event = new Event(when, work)
    this.#push(event)
    return event
  }

  /** For answers that arrive later: they run in the caller's async context, and only while the caller is alive. */
  channel(): (delayMs: number, work: Work) => void {
    const scope = currentScope()
    const context = captureContext()
    return (delayMs, work) => void this.after(delayMs, () => context.runInAsyncScope(work), scope)
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, () => resolve()))
  }

  /** All clocks jump ahead, as after a machine was suspended: what was due meanwhile runs now, late. */
  jump(ms: number): void {
    this.#nowMs += ms
  }

  /** Ends the run with this error. */
  fail(error: unknown): void {
    this.#crash ??= { error }
  }

  /** Runs events until `isOver`, or until nothing is left. @throws what `fail` was given */
  async run(isOver: () => boolean): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => realSetImmediate(resolve))
      if (this.#crash) throw this.#crash.error
      if (isOver()) return
      const event = this.#next()
      if (!event) return
      this.#nowMs = Math.max(this.#nowMs, event.atMs)
      this.#steps += 1
      const done = event.job?.context.runInAsyncScope(event.job.work)
      if (done) await done
    }
  }

  #next(): Event | undefined {
    for (;;) {
      const event = this.#pop()
      if (!event || !(event.job === null || event.scope?.alive === false)) return event
    }
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = heap[up] as Event
      if (!isBefore(event, parent)) break
      heap[at] = parent
      at = up
    }
    heap[at] = event
  }

  #pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1
      if (!isBefore(heap[child] as Event, last)) break
      heap[at] = heap[child] as Event
      at = child
    }
    heap[at] = last
    return first
  }
}
