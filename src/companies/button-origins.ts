import type { Db } from '../db/db.ts'
import { type Clock, isYounger } from '../kernel/clock.ts'
import { hasButtonOrigin } from './button-queries.ts'

const MAX_AGE_MS = 15_000
const MAX_ENTRIES = 5000

/** Whether a button is registered for a website; checked for each browser request, so cached for some seconds. */
export function openButtonOrigins(db: Db, clock: Clock): (origin: string) => Promise<boolean> {
  const known = new Map<string, { found: boolean; at: number }>()
  return async (origin) => {
    // the longest host name has 253 characters
    if (origin.length > 270) return false
    const entry = known.get(origin)
    if (entry && isYounger(entry.at, MAX_AGE_MS, clock())) return entry.found
    const found = await hasButtonOrigin(db, origin)
    if (known.size >= MAX_ENTRIES) known.clear()
    known.set(origin, { found, at: clock() })
    return found
  }
}
