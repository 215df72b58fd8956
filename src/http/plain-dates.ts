import type { FastifyInstance } from 'fastify'
import { DAY } from '../kernel/clock.ts'

/** A day of the calendar: JavaScript would read 31 November as 1 December. */
function isDate(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false
  const ms = Date.parse(value)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value)
}

type Holder = { from?: unknown; to?: unknown }

/** @param toIs whether `to` itself is within the period */
export function readPlainDates(holder: Holder, toIs: 'within' | 'behind'): void {
  const { from, to } = holder
  if (isDate(from)) holder.from = `${from}T00:00:00.000Z`
  if (!isDate(to)) return
  holder.to = toIs === 'within' ? `${to}T23:59:59.999Z` : new Date(Date.parse(to) + DAY).toISOString()
}

/** A date without a time means the beginning of that day in UTC as `from`, and its end as `to`. */
export function takePlainDates(scope: FastifyInstance, toIs: 'within' | 'behind' = 'within'): void {
  scope.addHook('preValidation', async ({ query, body }) => {
    for (const holder of [query, body]) {
      if (typeof holder === 'object' && holder !== null && !Buffer.isBuffer(holder)) readPlainDates(holder, toIs)
    }
  })
}
