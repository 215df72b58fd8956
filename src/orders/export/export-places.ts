import { SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'

/** Files under way on one node: each has a thread, at most some fifty megabytes, and one database connection. */
const MAX_AT_ONCE = 4
const MAX_PER_COMPANY = 2
/** A reader is measured over this long. */
const MEASURED_MS = 20 * SECOND
/** Who reads slower than this makes room for a company that has no file: a phone with one bar is faster. */
const SLOW_BYTES_PER_SECOND = 16 * 1024

export type Place = {
  /** So much more was read. */
  note(bytes: number): void
  /** Calling it twice is safe. */
  giveBack(): void
}

type Taken = {
  key: string
  end: () => void
  /** Since `sinceMs`. */
  bytes: number
  sinceMs: number
  /** Of the last measure; infinite until there is one. */
  bytesPerSecond: number
}

/** Ends a measure that lasted long enough and begins the next one. */
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
 * Limits how many files are written at once. No company's second file takes the last place, and who reads slowly loses
 * the place to a company that has none, so that slow readers keep no one else from a file.
 * @param nowMs of a clock that runs evenly
 * @returns takes a place; `end` is called when another company needs it @throws BUSY
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
