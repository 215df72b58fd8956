/** How often a screen in sight asks again; one in the background does not ask. */
export const LIVE_MS = 5000
export const SLOW_MS = 20_000
