import { type Clock, SECOND, systemClock } from '../clock.ts'

/** For questions about names and sizes. */
export const LOOK_MS = 5 * SECOND

/** What lies there does not answer; the system gave no error. */
export class SilentMount extends Error {
  override readonly name = 'SilentMount'
  readonly sinceMs: number
  constructor(place: string, sinceMs: number) {
    super(`${place} has not answered since ${new Date(sinceMs).toISOString()}.`)
    this.sinceMs = sinceMs
  }
}

type Waiting = { start(): void; giveUp(): void }

/**
 * A folder or file that may lie on another machine. When that one goes away, a call blocks one of the few threads that
 * all file access, name lookups and passwords of this process share, for as long as it is away. So one call is made at
 * a time, and while it has no answer, none is made beside it: at most one thread is lost.
 */
export class Mount {
  readonly #place: string
  readonly #clock: Clock
  #startedAtMs: number | undefined
  #isOverdue = false
  #waiting: Waiting[] = []
  constructor(place: string, clock: Clock = systemClock) {
    this.#place = place
    this.#clock = clock
  }

  /**
   * @param limitMs how long the call may wait for its turn, and then take
   * @throws SilentMount without an answer by then, and at once while an earlier call has none; or what the call throws
   */
  async call<Result>(work: () => Promise<Result>, limitMs = LOOK_MS): Promise<Result> {
    // in the same breath: whoever calls next finds it taken
    if (this.#startedAtMs !== undefined) await this.#turn(limitMs)
    this.#startedAtMs = this.#clock()
    const answer = work().finally(() => this.#next())
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(this.#silent())
        this.#isOverdue = true
        for (const { giveUp } of this.#waiting.splice(0)) giveUp()
      }, limitMs)
    })
    return Promise.race([answer, late]).finally(() => clearTimeout(timer))
  }

  #silent(): SilentMount {
    return new SilentMount(this.#place, this.#startedAtMs ?? this.#clock())
  }

  async #turn(limitMs: number): Promise<void> {
    if (this.#isOverdue) throw this.#silent()
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve, reject) => {
      const one: Waiting = { start: resolve, giveUp: () => reject(this.#silent()) }
      this.#waiting.push(one)
      timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== one)
        one.giveUp()
      }, limitMs)
    }).finally(() => clearTimeout(timer))
  }

  #next(): void {
    this.#isOverdue = false
    const next = this.#waiting.shift()
    // it keeps its turn: a call that is made before the next one starts waits behind it
    if (next === undefined) this.#startedAtMs = undefined
    else next.start()
  }
}

const mounts = new Map<string, Mount>()

/** The threads are the process's, so whoever looks at one place shares its mount. */
export function mountOf(place: string): Mount {
  const known = mounts.get(place) ?? new Mount(place)
  mounts.set(place, known)
  return known
}
