import { invalid } from '../kernel/errors.ts'
import { Type } from '../kernel/schema.ts'

/** A parameter of requests whose days or months are those of a calendar. */
export const TimeZone = Type.String({
  maxLength: 64,
  default: 'UTC',
  description: 'Whose midnights begin the days: a name of the IANA database, such as Europe/Paris.',
})

/** Reads the clocks of a zone. @throws VALIDATION_FAILED for a zone that does not exist */
export function clocksOf(timeZone: string): Intl.DateTimeFormat {
  const digits = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
  try {
    // a bare offset has one meaning here and the opposite one in PostgreSQL
    if (/^[+-]/.test(timeZone)) throw new RangeError(timeZone)
    return new Intl.DateTimeFormat('en', { timeZone, ...digits, ...clock })
  } catch {
    throw invalid('timeZone', 'must be a name of the IANA time zone database, such as Europe/Paris')
  }
}
