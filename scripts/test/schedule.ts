import { setTimeout as sleep } from 'node:timers/promises'

/** `share`: how many cores it keeps busy while it runs, from what it took last. */
export type Planned<Result> = { share: number; run(): Promise<Result> }

type Run<Result> = {
  cores: number
  busy(): number
  done(result: Result): void
  stopped(): boolean
}

/**
 * More than this many at once disturb each other's times, and share the caches: ten took a tenth to a quarter more
 * processor time than six, on two cores, and the whole took longer even where six left a fifth of the cores idle.
 */
const MOST_AT_ONCE = 6
/** So many for each core start whatever the plan says; more only where the cores really have room. */
const SURE_PER_CORE = 2
/** Nearly all of the last two seconds: the machine does something else, or is slower than the recorded one. */
const FULL = 0.97
/** Less than this of the last two seconds: there is room, whatever the plan says. */
const ROOM = 0.85
/** What starts loads its code first, which is more than its share. */
const SETTLE_MS = 700

/**
 * Runs everything: in the given order, except that what the cores have no room for lets others go first, which wait for
 * a clock, a block or a process for much of their time.
 * @param busy share of the cores that was in use just now
 * @param done gets each result
 * @param stopped nothing new starts once this is true
 */
export async function runPlanned<Result>(
  planned: readonly Planned<Result>[],
  { cores, busy, done, stopped }: Run<Result>,
): Promise<void> {
  const waiting = [...planned]
  const running = new Map<Planned<Result>, Promise<void>>()
  let startedAt = 0
  const findNext = (): Planned<Result> | undefined => {
    if (stopped() || running.size >= MOST_AT_ONCE) return undefined
    if (running.size >= cores && Date.now() - startedAt < SETTLE_MS) return undefined
    if (running.size >= cores * SURE_PER_CORE && busy() > FULL) return undefined
    const taken = [...running.keys()].reduce((sum, { share }) => sum + share, 0)
    const fitting = waiting.find(({ share }) => running.size === 0 || taken + share <= cores)
    return fitting ?? (busy() < ROOM ? waiting[0] : undefined)
  }
  while ((waiting.length > 0 && !stopped()) || running.size > 0) {
    const next = findNext()
    if (!next) {
      await Promise.race([...running.values(), sleep(SETTLE_MS)])
      continue
    }
    startedAt = Date.now()
    waiting.splice(waiting.indexOf(next), 1)
    const run = next.run().then((result) => {
      running.delete(next)
      done(result)
    })
    running.set(next, run)
  }
}
