import { DAY } from '../kernel/clock.ts'
import { invalid } from '../kernel/errors.ts'
import { Type } from '../kernel/schema.ts'

/** A parameter of requests whose days or months are those of a calendar. */
export const TimeZone = Type.String({
  maxLength: 64,
  default: 'UTC',
  description: 'Whose midnights begin the days: a name of the IANA database, such as Europe/Paris.',
})

/** Reads the clocks of a zone. @throws VALIDATION_FAILED for a zone that does not exist */
function clocksOf(timeZone: string): Intl.DateTimeFormat {
  const digits = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
  try {
    // an offset is no calendar: its clocks never change
    if (/^[+-]/.test(timeZone)) throw new RangeError(timeZone)
    return new Intl.DateTimeFormat('en', { timeZone, ...digits, ...clock })
  } catch {
    throw invalid('timeZone', 'must be a name of the IANA time zone database, such as Europe/Paris')
  }
}

/** Milliseconds that the clocks of a zone are ahead of UTC at an instant. */
function aheadMs(atMs: number, clocks: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(clocks.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - (atMs - (atMs % 1000))
}

/** The instant at which the day of a midnight, written as if it were UTC, begins by the clocks of a zone. */
function startOf(midnightMs: number, clocks: Intl.DateTimeFormat): Date {
  const guessMs = midnightMs - aheadMs(midnightMs, clocks)
  const startMs = midnightMs - aheadMs(guessMs, clocks)
  const aheadThenMs = aheadMs(startMs, clocks)
  // where clocks jump over midnight, as in the Azores in March, the day begins with their first instant after it
  return new Date(startMs + aheadThenMs < midnightMs ? midnightMs - aheadThenMs : startMs)
}

const localOf = (nowMs: number, clocks: Intl.DateTimeFormat): Date => new Date(nowMs + aheadMs(nowMs, clocks))

/** A day of a calendar, and the instant at which it begins there. */
export type LocalDay = { day: string; start: Date }

/** Today and the days before it, oldest first, as the calendar of a zone has them. @throws VALIDATION_FAILED */
export function daysBefore(nowMs: number, count: number, timeZone: string): LocalDay[] {
  const clocks = clocksOf(timeZone)
  const localMs = localOf(nowMs, clocks).getTime()
  const todayMs = localMs - (localMs % DAY)
  return Array.from({ length: count }, (_, index) => {
    const midnightMs = todayMs - (count - 1 - index) * DAY
    return { day: new Date(midnightMs).toISOString().slice(0, 10), start: startOf(midnightMs, clocks) }
  })
}

/** A month of a calendar, such as `2026-11`, and the instant at which it begins there. */
export type LocalMonth = { month: string; start: Date }

/** This month and those before it, oldest first, as the calendar of a zone has them. @throws VALIDATION_FAILED */
export function monthsBefore(nowMs: number, count: number, timeZone: string): LocalMonth[] {
  const clocks = clocksOf(timeZone)
  const local = localOf(nowMs, clocks)
  return Array.from({ length: count }, (_, index) => {
    const midnightMs = Date.UTC(local.getUTCFullYear(), local.getUTCMonth() - (count - 1 - index), 1)
    return { month: new Date(midnightMs).toISOString().slice(0, 7), start: startOf(midnightMs, clocks) }
  })
}
