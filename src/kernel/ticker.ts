import type { FastifyBaseLogger } from 'fastify'
import { AppError } from './errors.ts'
import { type Cause, faultLogOf } from './process/fault-log.ts'

export type Ticker = { wake(): void; stop(): Promise<void> }

/** Periods up to this length are staggered; longer ones rarely coincide. */
const SHORT_MS = 5000

/**
 * Offset of a job within its period. Jobs start together; without this they would all need a connection at the same
 * moment of every second, forever, and each connection costs the database server seven megabytes.
 */
function phaseOf(name: string, intervalMs: number): number {
  if (intervalMs > SHORT_MS) return intervalMs
  let hash = 0
  for (const char of name) hash = (hash * 31 + char.charCodeAt(0)) % 997
  return (intervalMs * hash) / 997
}

/** Between two tries, while they fail. */
const LONGEST_MS = 30_000
/** What ends with the database's outage is due at once: nothing else wakes a job that failed. */
const LONGEST_AWAY_MS = 5000

function longestPauseOf(error: unknown, intervalMs: number): number {
  const isAway = error instanceof AppError && error.code === 'DATABASE_UNAVAILABLE'
  return isAway && intervalMs <= SHORT_MS ? LONGEST_AWAY_MS : LONGEST_MS
}

/**
 * Repeats `work`: at once, then `intervalMs` after it ended, and immediately after `wake` or when it returned true
 * (there is more). A failure is retried with backoff, up to half a minute, and logged once a minute for each cause;
 * without the database, a job that runs every few seconds is retried as often.
 */
export function startTicker(
  name: string,
  intervalMs: number,
  log: FastifyBaseLogger,
  work: () => Promise<boolean | undefined>,
): Ticker {
  let stopped = false
  let again = false
  let failures = 0
  let longestMs = LONGEST_MS
  let nextMs = phaseOf(name, intervalMs)
  const faults = faultLogOf(log)
  let cause: Cause | undefined
  let wakeUp = (): void => {}
  const pause = (delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const loop = async (): Promise<void> => {
    while (!stopped) {
      again = false
      let more = false
      try {
        more = (await work()) === true
        failures = 0
        if (cause !== undefined) faults.works(cause)
        cause = undefined
      } catch (error) {
        failures += 1
        longestMs = longestPauseOf(error, intervalMs)
        cause = faults.failed(error, name, 'job failed')
      }
      if (stopped || ((again || more) && failures === 0)) continue
      await pause(failures === 0 ? nextMs : Math.min(longestMs, 500 * 2 ** failures))
      nextMs = intervalMs
    }
  }
  const running = loop()
  return {
    wake() {
      again = true
      if (failures === 0) wakeUp()
    },
    async stop() {
      stopped = true
      wakeUp()
      await running
    },
  }
}
