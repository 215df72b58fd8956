import { SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'

/** Requests that one caller may have in progress while others are being served. */
const TURNS = 2
/** A longer request is waiting for something outside, such as a provider, and gives up its turn. */
const TURN_MS = 100
/** A caller counts as active for this long after a request. */
const PRESENT_MS = SECOND
/** When a queue is this long, further requests are refused at once. */
const MAX_WAITING = 512
const WAIT_MS = 5 * SECOND

const busy = (): AppError =>
  new AppError('BUSY', {
    message: 'Too many requests of this account run at once. Try again as Retry-After says.',
    retryAfter: 2,
  })

type Turn = { begunAt: number }
type Line = {
  /** In order of start; only those started less than `TURN_MS` ago count. */
  running: Set<Turn>
  waiting: ((turn: Turn) => void)[]
  recheck: NodeJS.Timeout | undefined
}
type Request = { key: string; at: number }

export type Turns = {
  /**
   * Takes a turn: at once if there is room, which costs no promise, otherwise when it comes up.
   * @returns ends the turn; idempotent
   * @throws BUSY after five seconds, or at once when the caller's queue is full
   */
  take(key: string): (() => void) | Promise<() => void>
}

/**
 * A process runs one thing at a time, so a caller with hundreds of requests in progress would make every other caller
 * wait for all of them. Alone, a caller may have any number in progress; next to others two, and the rest wait in the
 * caller's own queue.
 */
export function openTurns(): Turns {
  const lines = new Map<string, Line>()
  let latest: Request = { key: '', at: Number.NEGATIVE_INFINITY }
  let other: Request = latest

  const note = (key: string, at: number): void => {
    if (latest.key !== key) other = latest
    latest = { key, at }
  }
  const isAlone = (key: string, now: number): boolean => now - (latest.key === key ? other : latest).at > PRESENT_MS
  const hasRoom = (key: string, line: Line): boolean => {
    const now = performance.now()
    for (const turn of line.running) {
      if (now - turn.begunAt < TURN_MS) break
      line.running.delete(turn)
    }
    return line.running.size < TURNS || isAlone(key, now)
  }
  const begin = (line: Line): Turn => {
    const turn = { begunAt: performance.now() }
    line.running.add(turn)
    return turn
  }
  const admitNext = (key: string, line: Line): void => {
    clearTimeout(line.recheck)
    line.recheck = undefined
    while (line.waiting.length > 0 && hasRoom(key, line)) line.waiting.shift()?.(begin(line))
    if (line.waiting.length > 0) line.recheck = setTimeout(() => admitNext(key, line), TURN_MS)
    // a request that outlived its turn may end after its queue was replaced
    else if (line.running.size === 0 && lines.get(key) === line) lines.delete(key)
  }
  const wait = (key: string, line: Line): Promise<Turn> => {
    if (line.waiting.length >= MAX_WAITING) return Promise.reject(busy())
    return new Promise((resolve, reject) => {
      const admit = (turn: Turn): void => {
        clearTimeout(timer)
        resolve(turn)
      }
      const timer = setTimeout(() => {
        line.waiting.splice(line.waiting.indexOf(admit), 1)
        reject(busy())
      }, WAIT_MS)
      line.waiting.push(admit)
      line.recheck ??= setTimeout(() => admitNext(key, line), TURN_MS)
    })
  }
  return {
    take(key) {
      note(key, performance.now())
      const line = lines.get(key) ?? { running: new Set(), waiting: [], recheck: undefined }
      lines.set(key, line)
      const endOf = (turn: Turn) => (): void => {
        line.running.delete(turn)
        admitNext(key, line)
      }
      return line.waiting.length === 0 && hasRoom(key, line) ? endOf(begin(line)) : wait(key, line).then(endOf)
    },
  }
}
