import type { Scheduler } from '../virtual/scheduler.ts'

const SECOND = 1000
/** A claim whose answer is lost keeps its delivery for the lease (15 s), and the next may be lost, too. */
const LATE_BY_DATABASE_MS = 60 * SECOND
/** What a dead node leaves behind is taken over within five seconds and sent within one, for each node that dies. */
const LATE_BY_NODE_MS = 6 * SECOND
const PROMPT_MS = SECOND
/** How long a fault goes on to be felt. */
const FELT_MS = { database: 45 * SECOND, node: 8 * SECOND, death: 0 } as const
const KEPT = 5000

type Cause = keyof typeof FELT_MS

/** What went wrong and when: how late something may be because of it. */
export class Conditions {
  readonly #scheduler: Scheduler
  readonly #times: Record<Cause, number[]> = { database: [], node: [], death: [] }

  /** Stories under way that trouble everyone, by name, and since when. */
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

  /** This story troubles everyone until the function that it returns is called. */
  noteTrouble(name: string): () => void {
    this.#troubles.set(name, this.#scheduler.nowMs)
    return () => void this.#troubles.delete(name)
  }

  /** For a run that failed: what troubled everyone then. */
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

  /** The clock jumped ahead: what was due meanwhile is late by that. */
  noteJump(fromMs: number, ms: number): void {
    this.#jumps.push({ fromMs, ms })
    this.note('database')
  }

  /** How late a webhook may be that was due then. */
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
