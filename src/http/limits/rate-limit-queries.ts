import { lagOf, type Queryable, sql } from '../../db/db.ts'
import { CLOCKS_DIFFER_MS } from '../../kernel/clock.ts'

export type Counter = { used: bigint; windowEndsAt: Date }

/** The latest end of a window that ends at `endsAtMs` by our clock, on whatever node it began. */
export const latestEndMs = (endsAtMs: number): number => endsAtMs + CLOCKS_DIFFER_MS

/**
 * Adds to the counter of a key; an expired window restarts at zero. One that ends later than any can was begun by a
 * clock that was ahead: it ends with ours, and its count goes on. A node that is behind goes by the database's
 * clock, so that it lifts no limit.
 * @returns the counter, this use included; its end by the clock that says `now`
 */
export async function updateCounter(
  q: Queryable,
  key: string,
  use: { count: number; now: Date; endsAt: Date },
): Promise<Counter> {
  const latest = new Date(latestEndMs(use.endsAt.getTime()))
  const lag = lagOf(use.now)
  const hasEnded = sql`c.window_ends_at <= ${use.now}::timestamptz + ${lag}`
  return q.one<Counter>(sql`
    insert into rate_counters as c (key, used, window_ends_at)
      values (${key}, ${use.count}::bigint, ${use.endsAt}::timestamptz + ${lag})
    on conflict (key) do update set
      used = case when ${hasEnded} then excluded.used else c.used + excluded.used end,
      window_ends_at = case when ${hasEnded} or c.window_ends_at > ${latest}::timestamptz + ${lag}
        then excluded.window_ends_at else c.window_ends_at end
    returning used, window_ends_at - ${lag} as window_ends_at`)
}

export async function deleteOldCounters(q: Queryable, before: Date): Promise<number> {
  return q.run(sql`
    delete from rate_counters where key in
      (select key from rate_counters where window_ends_at < ${before} limit 5000)`)
}
