import type { Scheduler } from '../virtual/scheduler.ts'

const SECOND = 1000
/** A claim whose answer is lost keeps its delivery for the lease (15 s), and the next one may be lost too. */
const LATE_BY_DATABASE_MS = 60 * SECOND
/** What a dead node leaves is taken over within five seconds and sent within one, for each node that dies. */
const LATE_BY_NODE_MS = 6 * SECOND
const PROMPT_MS = SECOND
/** How long the effects of a fault last. */
const FELT_MS = { database: 45 * SECOND, node: 8 * SECOND, death: 0 } as const
const KEPT = 5000

type Cause = keyof typeof FELT_MS

/** What went wrong and when, and so how late something may be. */
export class Conditions {
  readonly #scheduler: Scheduler
  readonly #times: Record<Cause, number[]> = { database: [], node: [], death: [] }

  /** Active stories that affect everyone, by name, with their start times. */
  readonly #troubles = new Map<string, number>()
  readonly #jumps: { fromMs: number; ms: number }[] = []

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  note(cause: Cause): void {
    const times = this.#times[cause]
    times.push(this.#scheduler.nowMs)
    if (times.length > KEPT) times.splice(0, KEPT / 2)
  }

  /** This story affects everyone until the returned function is called. */
  noteTrouble(name: string): () => void {
    this.#troubles.set(name, this.#scheduler.nowMs)
    return () => void this.#troubles.delete(name)
  }

  /** For a failed run: what affected everyone then. */
  describe(): string[] {
    return [...this.#troubles].map(([name, atMs]) => `story "${name}" since ${new Date(atMs).toISOString()}`)
  }

  #was(cause: Cause, fromMs: number): boolean {
    const last = this.#times[cause].findLast((atMs) => atMs <= this.#scheduler.nowMs)
    return last !== undefined && last >= fromMs - FELT_MS[cause]
  }

  /** Neither the database nor a node failed since then, nor shortly before. */
  wereGood(fromMs: number): boolean {
    return !this.#was('database', fromMs) && !this.#was('node', fromMs)
  }

  /** The clock jumped ahead: what was due meanwhile is that much later. */
  noteJump(fromMs: number, ms: number): void {
    this.#jumps.push({ fromMs, ms })
    this.note('database')
  }

  /** How late a webhook due at that time may be. */
  allowedMs(fromMs: number): number {
    const jumps = this.#jumps.filter((jump) => jump.fromMs + jump.ms >= fromMs)
    return jumps.reduce((sum, { ms }) => sum + ms, this.#patienceMs(fromMs))
  }

  #patienceMs(fromMs: number): number {
    if (this.#was('database', fromMs)) return LATE_BY_DATABASE_MS
    if (!this.#was('node', fromMs)) return PROMPT_MS
    const deaths = this.#times.death.filter((atMs) => atMs >= fromMs).length
    return Math.max(1, deaths) * LATE_BY_NODE_MS
  }
}
