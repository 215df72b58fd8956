/** Milliseconds since 1970, UTC. Passed as a parameter wherever a decision depends on time. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** One calendar month later in UTC; the 31st becomes the last day of a shorter month. */
export function addCalendarMonth(atMs: number): number {
  const start = new Date(atMs)
  const next = new Date(atMs)
  next.setUTCMonth(start.getUTCMonth() + 1)
  if (next.getUTCDate() !== start.getUTCDate()) next.setUTCDate(0)
  return next.getTime()
}
