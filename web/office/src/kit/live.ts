/** Refetch interval of a visible screen; one in the background does not refetch. */
export const LIVE_MS = 5000
export const SLOW_MS = 20_000
/** Of sums over all that a company ever booked. What a person does here fetches them at once. */
export const SUM_MS = 300_000
