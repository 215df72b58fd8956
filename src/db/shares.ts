import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from '../kernel/errors.ts'

/** On whose behalf the current code uses the database: a company, a user without one, an address. */
const asking = new AsyncLocalStorage<string | undefined>()

/** Everything that `next` starts counts against the share of `key`. */
export const askFor = (key: string, next: () => void): void => asking.run(key, next)

/**
 * For work that serves many callers: it counts against no share. In the share of the caller that happened to start it,
 * all the others would wait behind that one's requests.
 */
export const askForAll = <Result>(work: () => Result): Result => asking.run(undefined, work)

type Line = { running: number; waiting: (() => void)[] }

/** The same as the pool's own wait. */
const WAIT_MS = 5000

const busy = (): AppError =>
  new AppError('BUSY', {
    message: 'Too many requests of this account run at once. Try again as Retry-After says.',
    retryAfter: 2,
  })

export type Shares = {
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** Requests waiting for their share. */
  countWaiting(): number
}

/**
 * Keeps one caller from holding all connections: at most `limit` at once per caller, the rest in order of arrival.
 * Jobs, startup and what serves many callers at once act for no caller and are not limited.
 */
export function openShares(limit: number): Shares {
  const lines = new Map<string, Line>()
  const enter = (line: Line): Promise<void> => {
    if (line.running < limit) {
      line.running += 1
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        line.waiting.splice(line.waiting.indexOf(admit), 1)
        reject(busy())
      }, WAIT_MS)
      line.waiting.push(admit)
    })
  }
  const leave = (key: string, line: Line): void => {
    const next = line.waiting.shift()
    if (next) next()
    else line.running -= 1
    if (line.running === 0) lines.delete(key)
  }
  return {
    async run(work) {
      const key = asking.getStore()
      if (key === undefined) return work()
      const line = lines.get(key) ?? { running: 0, waiting: [] }
      lines.set(key, line)
      await enter(line)
      try {
        return await work()
      } finally {
        leave(key, line)
      }
    },
    countWaiting: () => [...lines.values()].reduce((sum, { waiting }) => sum + waiting.length, 0),
  }
}
