import { DAY } from '../kernel/clock.ts'
import { invalid } from '../kernel/errors.ts'
import { Type } from '../kernel/schema.ts'

/** Time zone parameter for requests by calendar days or months. */
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

/** How far the clocks of a zone are ahead of UTC at an instant, in milliseconds. */
function aheadMs(atMs: number, clocks: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(clocks.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - (atMs - (atMs % 1000))
}

/** The instant at which a day begins by the clocks of a zone; its midnight is given as if it were UTC. */
function startOf(midnightMs: number, clocks: Intl.DateTimeFormat): Date {
  const guessMs = midnightMs - aheadMs(midnightMs, clocks)
  const startMs = midnightMs - aheadMs(guessMs, clocks)
  const aheadThenMs = aheadMs(startMs, clocks)
  // where clocks jump over midnight, as in the Azores in March, the day begins with the first instant after the jump
  return new Date(startMs + aheadThenMs < midnightMs ? midnightMs - aheadThenMs : startMs)
}

const localOf = (nowMs: number, clocks: Intl.DateTimeFormat): Date => new Date(nowMs + aheadMs(nowMs, clocks))

/** A calendar day, and the instant at which it begins in its zone. */
export type LocalDay = { day: string; start: Date }

/** Today and the days before it, oldest first, in the calendar of a zone. @throws VALIDATION_FAILED */
export function daysBefore(nowMs: number, count: number, timeZone: string): LocalDay[] {
  const clocks = clocksOf(timeZone)
  const localMs = localOf(nowMs, clocks).getTime()
  const todayMs = localMs - (localMs % DAY)
  return Array.from({ length: count }, (_, index) => {
    const midnightMs = todayMs - (count - 1 - index) * DAY
    return { day: new Date(midnightMs).toISOString().slice(0, 10), start: startOf(midnightMs, clocks) }
  })
}

/** A calendar month, such as `2026-11`, and the instant at which it begins in its zone. */
export type LocalMonth = { month: string; start: Date }

/** This month and those before it, oldest first, in the calendar of a zone. @throws VALIDATION_FAILED */
export function monthsBefore(nowMs: number, count: number, timeZone: string): LocalMonth[] {
  const clocks = clocksOf(timeZone)
  const local = localOf(nowMs, clocks)
  return Array.from({ length: count }, (_, index) => {
    const midnightMs = Date.UTC(local.getUTCFullYear(), local.getUTCMonth() - (count - 1 - index), 1)
    return { month: new Date(midnightMs).toISOString().slice(0, 7), start: startOf(midnightMs, clocks) }
  })
}
