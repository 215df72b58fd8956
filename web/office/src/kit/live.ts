/** Refetch interval of a visible screen; one in the background does not refetch. */
export const LIVE_MS = 5000
export const SLOW_MS = 20_000
