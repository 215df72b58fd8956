import { type Db, type Sql, sql } from '../../db/db.ts'
import type { LaneKey, LaneSet, LaneTurn } from './lanes.ts'
import { epochMs, isSuspect, LEASE_MS, plannedEachTime } from './sender-queries.ts'

export type ClaimedDelivery = LaneKey & {
  deliveryId: string
  series: number
  attempts: number
  crashes: number
  /** 2: no other suspect may run at the same time. */
  doubt: number
  epoch: bigint
  orderId: string
  /** Id of the request that caused the event; null: none did. */
  requestId: string | null
  event: string
  url: string
  body: string
  webhookSecretSealed: string
  /** Its lease ended during another attempt, whose outcome is unknown. */
  wasInterrupted: boolean
  overdueMs: number
}

/**
 * `place` is the row's physical address (ctid), valid until the row changes. Times are ms since 1970, by the database's
 * clock.
 */
export type DueDelivery = LaneKey & { place: string; dueMs: number }

/** Null: all buckets. Otherwise these at once, and others only after their own node has left them for three seconds. */
export type Buckets = readonly number[] | null

/** A node that owns buckets leaves the others to their owners as long as these keep up. */
const mine = (buckets: Buckets): Sql =>
  buckets === null
    ? sql`true`
    : sql`(d.bucket = any (${[...buckets]}::smallint[]) or d.next_at < now() - interval '3 seconds')`

export type DueSearch = {
  /** Lower bound of the due time; 0 reads from the beginning. */
  lowerMs: number
  /** Rows at most. */
  window: number
  excluded: LaneSet
  buckets: Buckets
}

/**
 * Due deliveries in order of due time, from the moving lower bound on, without the lanes that take turns. When nothing
 * is due this is the whole claim, so it reads one narrow table and is cheap to plan.
 */
export async function listDue(db: Db, search: DueSearch): Promise<{ nowMs: number; due: DueDelivery[] }> {
  const { lowerMs, window, excluded, buckets } = search
  const lanes = excluded.lanes.map(({ companyId, lane }) => `${companyId} ${lane}`)
  const others =
    excluded.companies.length === 0 ? sql`` : sql`and d.company_id <> all (${[...excluded.companies]}::text[])`
  const rows = await db.many<DueDelivery & { nowMs: number; place: string | null }>(
    plannedEachTime(sql`
    select ${epochMs(sql`now()`)} as now_ms, due.* from (select) one left join (
      select d.ctid as place, d.company_id, d.lane, ${epochMs(sql`d.next_at`)} as due_ms from delivery_due d
      where d.next_at >= to_timestamp(${lowerMs}::float8 / 1000) and d.next_at <= now() and ${mine(buckets)}
        and not ${isSuspect} and (d.company_id || ' ' || d.lane) <> all (${lanes}::text[]) ${others}
      order by d.next_at limit ${window}) due on true`),
  )
  return { nowMs: rows[0]?.nowMs ?? 0, due: rows.filter(({ place }) => place !== null) }
}

/** The next deliveries of each lane whose turn it is. */
export const listTurns = (db: Db, turns: readonly LaneTurn[], buckets: Buckets): Promise<DueDelivery[]> =>
  db.many<DueDelivery>(
    plannedEachTime(sql`
    select t.company_id, t.lane, d.place, d.due_ms
    from unnest(
      ${turns.map((turn) => turn.companyId)}::text[], ${turns.map((turn) => turn.lane)}::text[],
      ${turns.map((turn) => turn.free)}::integer[], ${turns.map((turn) => turn.lowerMs)}::float8[])
      as t (company_id, lane, free, lower_ms)
    cross join lateral (
      select d.ctid as place, ${epochMs(sql`d.next_at`)} as due_ms from delivery_due d
      where d.company_id = t.company_id and d.lane = t.lane
        and d.next_at >= to_timestamp(t.lower_ms / 1000) and d.next_at <= now() and ${mine(buckets)}
        and not ${isSuspect}
      order by d.next_at limit t.free
    ) d`),
  )

export type DueSuspect = DueDelivery & { deliveryId: string }

export type SuspectSearch = {
  /** Lanes without a free slot. */
  full: readonly LaneKey[]
  /** Companies without one. */
  fullCompanies: readonly string[]
  /** Companies that had their turn: others come first. */
  served: readonly string[]
  /** Other suspects are in flight: skip one that has to run alone. */
  beside: boolean
  buckets: Buckets
}

const goesAlone = sql`(d.doubt + (d.owner is not null)::integer >= 2)`

/**
 * The next suspect; those that hold up all others come last, and the companies take turns. `crashes > 0` is the index's
 * condition.
 */
export function findDueSuspect(db: Db, search: SuspectSearch): Promise<DueSuspect | undefined> {
  const { full, fullCompanies, served, beside, buckets } = search
  return db.maybe<DueSuspect>(
    plannedEachTime(sql`
    select d.ctid as place, d.company_id, d.delivery_id, d.lane, ${epochMs(sql`d.next_at`)} as due_ms from delivery_due d
    where d.crashes > 0 and ${isSuspect} and d.next_at <= now() and ${mine(buckets)}
      and (d.company_id || ' ' || d.lane) <> all (${full.map((key) => `${key.companyId} ${key.lane}`)}::text[])
      and d.company_id <> all (${[...fullCompanies]}::text[]) and not (${beside} and ${goesAlone})
    order by ${goesAlone}, d.company_id = any (${[...served]}::text[]), d.next_at limit 1`),
  )
}

/** Marks them: from now on a crash counts against none of these. @returns the new addresses of the changed rows */
export const updateDoubted = (
  db: Db,
  deliveries: readonly Pick<DueSuspect, 'companyId' | 'deliveryId'>[],
): Promise<{ deliveryId: string; place: string }[]> =>
  db.many(sql`
    update delivery_due d set doubt = 1
    from unnest(${deliveries.map((one) => one.companyId)}::text[], ${deliveries.map((one) => one.deliveryId)}::text[])
      as t (company_id, delivery_id)
    where d.company_id = t.company_id and d.delivery_id = t.delivery_id and d.doubt = 0
    returning d.delivery_id, d.ctid as place`)

/** The companies' secrets as they are now, sealed. */
export async function listSecrets(db: Db, companyIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.many<{ id: string; sealed: string }>(
    sql`select id, webhook_secret_sealed as sealed from companies where id = any (${[...companyIds]}::text[])`,
  )
  return new Map(rows.map(({ id, sealed }) => [id, sealed]))
}

/**
 * Leases due deliveries to this node: one statement, and no lock held afterwards. Deliveries that another node took
 * meanwhile are left out. An expired lease is simply due again; its attempt is logged as `unknown_outcome` and counted
 * as a crash, not as an attempt.
 */
export const claimDeliveries = (db: Db, instance: string, places: readonly string[]): Promise<ClaimedDelivery[]> =>
  db.planned<ClaimedDelivery>(sql`
    with locked as materialized (
      select d.ctid as place, d.* from delivery_due d
      -- no index answers a difference: an index on the time would read all that is due
      where d.ctid = any (${[...places]}::tid[]) and d.next_at - now() <= interval '0'
      for update skip locked
    ), interrupted as (
      insert into delivery_attempts
        (company_id, delivery_id, series, number, epoch, trigger, started_at, error_code)
      select company_id, delivery_id, series, attempts + 1, lease_epoch,
        case when series > 1 then 'manual' else 'schedule' end, coalesce(leased_at, now()), 'unknown_outcome'
      from locked where owner is not null on conflict do nothing
    ), claimed as (
      update delivery_due d set owner = ${instance}, lease_epoch = d.lease_epoch + 1,
        leased_at = clock_timestamp(),
        next_at = clock_timestamp() + ${LEASE_MS} * interval '1 millisecond',
        crashes = d.crashes + (locked.owner is not null and locked.doubt <> 1)::integer,
        doubt = d.doubt + (locked.owner is not null and locked.doubt = 1)::integer
      from locked where d.ctid = locked.place
      returning d.company_id, d.delivery_id, d.order_id, d.lane, d.series, d.attempts, d.crashes, d.doubt,
        d.lease_epoch, locked.owner is not null as was_interrupted,
        ${epochMs(sql`now()`)} - ${epochMs(sql`locked.next_at`)} as overdue_ms
    )
    select claimed.company_id, claimed.delivery_id, claimed.lane, claimed.series, claimed.attempts, claimed.crashes,
      claimed.doubt, claimed.lease_epoch as epoch, claimed.was_interrupted, claimed.overdue_ms, claimed.order_id,
      whole.request_id, whole.event, whole.url, whole.body, companies.webhook_secret_sealed
    from claimed
    -- the order says in which partition; with the limit each is looked up by its key, however small the tables were
    cross join lateral (
      select d.request_id, d.event, d.url, d.body from deliveries d
      where d.company_id = claimed.company_id and d.order_id = claimed.order_id and d.id = claimed.delivery_id limit 1
    ) whole
    cross join lateral (
      select c.webhook_secret_sealed from companies c where c.id = claimed.company_id limit 1
    ) companies`)
