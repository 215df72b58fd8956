/** Days in the URL are days in the reader's time zone; the API takes instants. */
export const dayStart = (day: string | undefined): string | undefined =>
  day && !Number.isNaN(Date.parse(`${day}T00:00`)) ? new Date(`${day}T00:00`).toISOString() : undefined
export const dayEnd = (day: string | undefined): string | undefined =>
  day && !Number.isNaN(Date.parse(`${day}T00:00`)) ? new Date(`${day}T23:59:59.999`).toISOString() : undefined

/** The days of a period whose end is the first instant after it, as in the books. */
export function toPeriod({ from, to }: { from?: string | undefined; to?: string | undefined }) {
  const [start, last] = [dayStart(from), dayEnd(to)]
  const end = last && new Date(Date.parse(last) + 1).toISOString()
  return { ...(start ? { from: start } : {}), ...(end ? { to: end } : {}) }
}
