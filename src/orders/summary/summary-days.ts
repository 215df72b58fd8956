import { clocksOf } from '../../http/time-zones.ts'
import { DAY } from '../../kernel/clock.ts'

/** A day of a calendar, and the instant at which it begins there. */
export type LocalDay = { day: string; start: Date }

/** Milliseconds that the clocks of a zone are ahead of UTC at an instant. */
function aheadMs(atMs: number, format: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - (atMs - (atMs % 1000))
}

/** Today and the days before it, oldest first, as the calendar of a zone has them. @throws VALIDATION_FAILED */
export function daysBefore(nowMs: number, count: number, timeZone: string): LocalDay[] {
  const format = clocksOf(timeZone)
  const localMs = nowMs + aheadMs(nowMs, format)
  const todayMs = localMs - (localMs % DAY)
  return Array.from({ length: count }, (_, index) => {
    const midnightMs = todayMs - (count - 1 - index) * DAY
    // the clocks of that midnight, which may not be those of now
    const guessMs = midnightMs - aheadMs(midnightMs, format)
    const start = new Date(midnightMs - aheadMs(guessMs, format))
    return { day: new Date(midnightMs).toISOString().slice(0, 10), start }
  })
}
