import { SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'

/** Exports running at once on one node: each has a thread, up to about 50 MB, and one database connection. */
const MAX_AT_ONCE = 4
const MAX_PER_COMPANY = 2
/** Interval over which a reader's speed is measured. */
const MEASURED_MS = 20 * SECOND
/** A slower reader loses its slot to a company that has no export running. Even a phone with one bar is faster. */
const SLOW_BYTES_PER_SECOND = 16 * 1024

export type Place = {
  /** Counts bytes that were read. */
  note(bytes: number): void
  /** Idempotent. */
  giveBack(): void
}

type Taken = {
  key: string
  end: () => void
  /** Read since `sinceMs`. */
  bytes: number
  sinceMs: number
  /** Speed over the last full interval; infinite before the first one. */
  bytesPerSecond: number
}

/** If the interval is over, computes the speed and starts the next interval. */
function measure(taken: Taken, nowMs: number): void {
  const lastedMs = nowMs - taken.sinceMs
  if (lastedMs < MEASURED_MS) return
  taken.bytesPerSecond = (taken.bytes * SECOND) / lastedMs
  taken.bytes = 0
  taken.sinceMs = nowMs
}

function slowestOf(all: ReadonlySet<Taken>, nowMs: number): Taken | undefined {
  for (const taken of all) measure(taken, nowMs)
  const slow = [...all].filter(({ bytesPerSecond }) => bytesPerSecond < SLOW_BYTES_PER_SECOND)
  return slow.sort((left, right) => left.bytesPerSecond - right.bytesPerSecond)[0]
}

const busy = (): AppError =>
  new AppError('BUSY', { message: 'Other downloads are still running. Try again in a moment.', retryAfter: 5 })

/**
 * Limits how many files are written at once. A company's second file never takes the last slot, and a slow reader loses
 * its slot to a company that has none, so slow readers cannot lock others out.
 * @param nowMs a monotonic clock
 * @returns takes a slot; `end` is called when another company needs it
 * @throws BUSY
 */
export function openPlaces(nowMs: () => number): (key: string, end: () => void) => Place {
  const all = new Set<Taken>()
  return (key, end) => {
    const own = [...all].filter((taken) => taken.key === key).length
    if (own >= MAX_PER_COMPANY || (own > 0 && all.size >= MAX_AT_ONCE - 1)) throw busy()
    if (all.size >= MAX_AT_ONCE) {
      const slowest = slowestOf(all, nowMs())
      if (!slowest) throw busy()
      all.delete(slowest)
      slowest.end()
    }
    const taken: Taken = { key, end, bytes: 0, sinceMs: nowMs(), bytesPerSecond: Number.POSITIVE_INFINITY }
    all.add(taken)
    return {
      note(bytes) {
        measure(taken, nowMs())
        taken.bytes += bytes
      },
      giveBack: () => void all.delete(taken),
    }
  }
}
