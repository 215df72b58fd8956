import { type Db, type Sql, sql, type Tx } from '../../db/db.ts'
import { LANE_CAP, type LaneKey, type LaneRoom, type LaneTurn } from './lanes.ts'

export const LEASE_MS = 15_000
/** After this many attempts of unknown outcome a delivery is parked. */
export const MAX_CRASHES = 3

/**
 * The table of due deliveries is empty in one minute and long in the next, so a plan kept from before is often wrong:
 * a statement without a name is planned each time, with its values.
 */
const plannedEachTime = (statement: Sql): Sql => ({ ...statement, name: '' })

export type ClaimedDelivery = LaneKey & {
  deliveryId: string
  series: number
  attempts: number
  crashes: number
  epoch: bigint
  orderId: string
  /** Of the request that caused the event; null: of none. */
  requestId: string | null
  event: string
  url: string
  body: string
  webhookSecretSealed: string
  /** It was in another attempt, whose outcome is unknown, when its lease ended. */
  wasInterrupted: boolean
  overdueMs: number
}

export type ClaimSummary = {
  /** The database's clock at the claim, ms since 1970. */
  nowMs: number
  seen: number
  firstSeenMs: number | null
  taken: number
  /** Lanes with more due deliveries than room: [company, lane, first due ms]. */
  full: [string, string, number][]
  /** What each turn found: [company, lane, count, first due ms]. */
  turns: [string, string, number, number][]
}

export type DeliveryClaim = { deliveries: ClaimedDelivery[]; summary: ClaimSummary }

export type ClaimRequest = {
  instance: string
  /** Lower bound of the due time, ms since 1970 by the database's clock; 0 reads from the beginning. */
  lowerMs: number
  limit: number
  /** Rows read in order of due time, at most. */
  window: number
  limits: LaneRoom[]
  excluded: LaneKey[]
  turns: LaneTurn[]
  /** Null: all. Else these at once, and the others when their own node left them for three seconds. */
  buckets: readonly number[] | null
}

/** A node that owns buckets leaves the others to their owners, as long as these are in time. */
const mine = ({ buckets }: ClaimRequest): Sql =>
  buckets === null
    ? sql`true`
    : sql`(d.bucket = any (${[...buckets]}::smallint[]) or d.next_at < now() - interval '3 seconds')`

const epochMs = (column: Sql): Sql => sql`(extract(epoch from ${column}) * 1000)::float8`

/** Due deliveries in order of due time, from the moving lower bound on, without the lanes that take turns. */
const commonSearch = (request: ClaimRequest): Sql => sql`
  limits as (
    select * from unnest(${request.limits.map((room) => room.companyId)}::text[],
      ${request.limits.map((room) => room.lane)}::text[], ${request.limits.map((room) => room.free)}::integer[])
      as l (company_id, lane, free)
  ), seen as materialized (
    select d.ctid as place, d.company_id, d.lane, d.next_at from delivery_due d
    where d.next_at >= to_timestamp(${request.lowerMs}::float8 / 1000) and d.next_at <= now() and ${mine(request)}
      and (d.company_id || ' ' || d.lane)
        <> all (${request.excluded.map((key) => `${key.companyId} ${key.lane}`)}::text[])
    order by d.next_at limit ${request.window}
  ), ranked as materialized (
    select seen.*, row_number() over (partition by seen.company_id, seen.lane order by seen.next_at) as turn,
      coalesce(limits.free, ${LANE_CAP}) as free
    from seen left join limits on limits.company_id = seen.company_id and limits.lane = seen.lane
  ), common as (
    select place from ranked where turn <= free order by turn, next_at limit ${request.limit}
  )`

/** The next deliveries of each lane whose turn it is. */
const turnSearch = (request: ClaimRequest): Sql => sql`
  turns as materialized (
    select t.company_id, t.lane, d.place, d.next_at
    from unnest(
      ${request.turns.map((turn) => turn.companyId)}::text[], ${request.turns.map((turn) => turn.lane)}::text[],
      ${request.turns.map((turn) => turn.free)}::integer[], ${request.turns.map((turn) => turn.lowerMs)}::float8[])
      as t (company_id, lane, free, lower_ms)
    cross join lateral (
      select d.ctid as place, d.next_at from delivery_due d
      where d.company_id = t.company_id and d.lane = t.lane
        and d.next_at >= to_timestamp(t.lower_ms / 1000) and d.next_at <= now() and ${mine(request)}
      order by d.next_at limit t.free
    ) d
  )`

const summaryJson = sql`
  json_build_object(
    'nowMs', ${epochMs(sql`now()`)}, 'seen', (select count(*) from seen),
    'firstSeenMs', (select ${epochMs(sql`min(next_at)`)} from seen), 'taken', (select count(*) from common),
    'full', (select coalesce(json_agg(json_build_array(company_id, lane, due)), '[]') from (
      select company_id, lane, ${epochMs(sql`min(next_at)`)} as due from ranked where turn > free group by 1, 2) f),
    'turns', (select coalesce(json_agg(json_build_array(company_id, lane, found, due)), '[]') from (
      select company_id, lane, count(*) as found, ${epochMs(sql`min(next_at)`)} as due from turns group by 1, 2) f)
  )`

/**
 * Takes due deliveries for this node by lease: one statement, no lock held afterwards. An expired lease is simply due
 * again; its attempt is then logged as `unknown_outcome` and counted as a crash, not as an attempt.
 */
export async function claimDeliveries(db: Db, request: ClaimRequest): Promise<DeliveryClaim> {
  const rows = await db.many<Partial<ClaimedDelivery> & { summary: ClaimSummary | null; deliveryId: string | null }>(
    plannedEachTime(sql`
    with ${commonSearch(request)}, ${turnSearch(request)}, locked as materialized (
      select d.ctid as place, d.* from delivery_due d
      where d.ctid = any (array(select place from common union select place from turns)) and d.next_at <= now()
      for update skip locked
    ), interrupted as (
      insert into delivery_attempts
        (company_id, delivery_id, series, number, epoch, trigger, started_at, error_code)
      select company_id, delivery_id, series, attempts + 1, lease_epoch,
        case when series > 1 then 'manual' else 'schedule' end, coalesce(leased_at, now()), 'unknown_outcome'
      from locked where owner is not null on conflict do nothing
    ), claimed as (
      update delivery_due d set owner = ${request.instance}, lease_epoch = d.lease_epoch + 1,
        leased_at = clock_timestamp(),
        next_at = clock_timestamp() + ${LEASE_MS} * interval '1 millisecond',
        crashes = d.crashes + (locked.owner is not null)::integer
      from locked where d.ctid = locked.place
      returning d.company_id, d.delivery_id, d.order_id, d.lane, d.series, d.attempts, d.crashes, d.lease_epoch,
        locked.owner is not null as was_interrupted,
        ${epochMs(sql`now()`)} - ${epochMs(sql`locked.next_at`)} as overdue_ms
    ), whole as (
      select claimed.company_id, claimed.delivery_id, claimed.lane, claimed.series, claimed.attempts, claimed.crashes,
        claimed.lease_epoch as epoch, claimed.was_interrupted, claimed.overdue_ms, deliveries.order_id,
        deliveries.request_id, deliveries.event, deliveries.url, deliveries.body, companies.webhook_secret_sealed
      from claimed
      -- the order says in which partition
      join deliveries on deliveries.company_id = claimed.company_id and deliveries.order_id = claimed.order_id
        and deliveries.id = claimed.delivery_id
      join companies on companies.id = claimed.company_id
    )
    select ${summaryJson} as summary, whole.* from (select) one left join whole on false
    union all select null, whole.* from whole`),
  )
  const summary = rows[0]?.summary
  if (!summary) throw new Error('a claim without its summary')
  return {
    deliveries: rows.filter((row): row is ClaimedDelivery & { summary: null } => row.deliveryId !== null),
    summary,
  }
}

export type Outcome = 'delivered' | 'failed' | 'retry' | 'parked' | 'released'

export type OutcomeRow = {
  companyId: string
  deliveryId: string
  series: number
  epoch: bigint
  outcome: Outcome
  /** The attempt's number; what is `parked` or `released` made none. */
  number: number
  startedAt: Date
  durationMs: number | null
  statusCode: number | null
  errorCode: string | null
  responseBody: string | null
  /** From the moment of the statement on; only for `retry` and `released`. */
  delayMs: number
}

/**
 * Writes the outcomes of many attempts in one statement. Skips rows whose lease has passed to another node.
 * @returns the ids that were still ours
 */
export async function settleAttempts(db: Db, rows: readonly OutcomeRow[]): Promise<string[]> {
  const column = <Value>(pick: (row: OutcomeRow) => Value): Value[] => rows.map(pick)
  const settled = await db.many<{ deliveryId: string }>(
    plannedEachTime(sql`
    with input as materialized (
      select * from unnest(
        ${column((row) => row.companyId)}::text[], ${column((row) => row.deliveryId)}::text[],
        ${column((row) => row.series)}::integer[], ${column((row) => row.epoch.toString())}::bigint[],
        ${column((row) => row.outcome)}::text[], ${column((row) => row.number)}::smallint[],
        ${column((row) => row.startedAt.toISOString())}::timestamptz[], ${column((row) => row.durationMs)}::integer[],
        ${column((row) => row.statusCode)}::integer[], ${column((row) => row.errorCode)}::text[],
        ${column((row) => row.responseBody)}::text[], ${column((row) => row.delayMs)}::float8[]
      ) as i (company_id, delivery_id, series, epoch, outcome, number, started_at, duration_ms, status_code, error_code,
        response_body, delay_ms)
    ), ended as (
      delete from delivery_due d using input i
      where d.company_id = i.company_id and d.delivery_id = i.delivery_id and d.series = i.series
        and d.lease_epoch = i.epoch and d.owner is not null and i.outcome in ('delivered', 'failed', 'parked')
      returning i.*, d.order_id
    ), again as (
      update delivery_due d set owner = null, leased_at = null,
        attempts = case when i.outcome = 'retry' then i.number else d.attempts end,
        next_at = clock_timestamp() + i.delay_ms * interval '1 millisecond'
      from input i
      where d.company_id = i.company_id and d.delivery_id = i.delivery_id and d.series = i.series
        and d.lease_epoch = i.epoch and d.owner is not null and i.outcome in ('retry', 'released')
      returning i.*, d.order_id
    ), settled as materialized (select * from ended union all select * from again),
    logged as (
      insert into delivery_attempts (company_id, delivery_id, series, number, epoch, trigger, started_at, duration_ms,
        status_code, error_code, response_body)
      select company_id, delivery_id, series, number, epoch, case when series > 1 then 'manual' else 'schedule' end,
        started_at, duration_ms, status_code, error_code, response_body
      from settled where outcome in ('delivered', 'failed', 'retry')
      on conflict do nothing
    ), shown as (
      update deliveries d set status = e.outcome, updated_at = clock_timestamp()
      from ended e where d.company_id = e.company_id and d.order_id = e.order_id and d.id = e.delivery_id
        and e.outcome <> 'delivered' -- which the end of its due row says
    )
    select delivery_id from settled`),
  )
  return settled.map((row) => row.deliveryId)
}

export type LaneBacklog = LaneKey & { dueMs: number }

/**
 * Every lane with due deliveries and since when, by skipping through the index from lane to lane. Finds what the moving
 * lower bound would miss.
 */
export const listDueLanes = (db: Db, limit: number): Promise<LaneBacklog[]> =>
  db.many<LaneBacklog>(
    plannedEachTime(sql`
    with recursive lanes as (
      (select company_id, lane from delivery_due order by company_id, lane limit 1)
      union all
      select n.company_id, n.lane from lanes l cross join lateral (
        select d.company_id, d.lane from delivery_due d where (d.company_id, d.lane) > (l.company_id, l.lane)
        order by d.company_id, d.lane limit 1) n
    )
    select lanes.company_id, lanes.lane, ${epochMs(sql`due.next_at`)} as due_ms from lanes cross join lateral (
      select d.next_at from delivery_due d
      where d.company_id = lanes.company_id and d.lane = lanes.lane and d.next_at <= now()
      order by d.next_at limit 1) due
    limit ${limit}`),
  )

export type NodeRow = { name: string; instance: string; host: string; pid: number }

/**
 * Enters this node under its name and makes the leases of the process that had the name before due at once.
 * @returns false when that process is alive (`isAlive`): take another name
 */
export async function insertNode(
  tx: Tx,
  node: NodeRow,
  isAlive: (host: string, pid: number) => boolean,
): Promise<boolean> {
  const before = await tx.maybe<NodeRow>(
    sql`select name, instance, host, pid from sender_nodes where name = ${node.name} for update`,
  )
  if (before && isAlive(before.host, before.pid)) return false
  await tx.run(sql`
    insert into sender_nodes (name, instance, host, pid)
    values (${node.name}, ${node.instance}, ${node.host}, ${node.pid})
    on conflict (name) do update set instance = excluded.instance, host = excluded.host, pid = excluded.pid,
      started_at = clock_timestamp(), seen_at = clock_timestamp()`)
  if (before) await releaseLeases(tx, [before.instance])
  return true
}

/** Makes what these instances had leased due now. The owner stays: the next claim sees that the outcome is unknown. */
const releaseLeases = (tx: Tx, instances: string[]): Promise<number> =>
  tx.run(sql`
    update delivery_due set next_at = clock_timestamp()
    where owner = any (${instances}::text[]) and next_at > clock_timestamp()
      and next_at <= clock_timestamp() + ${LEASE_MS + 1000} * interval '1 millisecond'`)

export type Heartbeat = { nowMs: number; living: string[] }

/** Renews the heartbeat. @returns the database's clock and all nodes, or undefined when this one was declared dead */
export const updateHeartbeat = (db: Db, instance: string): Promise<Heartbeat | undefined> =>
  db.maybe<Heartbeat>(sql`
    update sender_nodes set seen_at = clock_timestamp() where instance = ${instance}
    returning ${epochMs(sql`clock_timestamp()`)} as now_ms,
      (select array_agg(name order by name) from sender_nodes) as living`)

export type Takeover = { instances: string[]; deliveries: number }

/** Removes nodes that were silent for `deadAfterMs` and makes their leases due. */
export async function takeOverDeadNodes(tx: Tx, instance: string, deadAfterMs: number): Promise<Takeover> {
  const dead = await tx.many<{ instance: string }>(sql`
    delete from sender_nodes where name in (
      select name from sender_nodes
      where instance <> ${instance} and seen_at < clock_timestamp() - ${deadAfterMs} * interval '1 millisecond'
      for update skip locked)
    returning instance`)
  const instances = dead.map((row) => row.instance)
  return { instances, deliveries: instances.length === 0 ? 0 : await releaseLeases(tx, instances) }
}

/** A clean stop: nothing is in flight, and remaining leases never started. */
export async function deleteNode(tx: Tx, instance: string): Promise<void> {
  await tx.run(sql`
    update delivery_due set owner = null, leased_at = null, next_at = clock_timestamp()
    where owner = ${instance} and next_at <= clock_timestamp() + ${LEASE_MS + 1000} * interval '1 millisecond'`)
  await tx.run(sql`delete from sender_nodes where instance = ${instance}`)
}

/** How many deliveries are due and how late the oldest is; counts no further than `limit`. */
export const countDue = (db: Db, limit: number): Promise<{ due: number; oldestMs: number }> =>
  db.one(
    plannedEachTime(sql`
    select count(*)::integer as due, coalesce(${epochMs(sql`now()`)} - ${epochMs(sql`min(next_at)`)}, 0) as oldest_ms
    from (select next_at from delivery_due where next_at <= now() order by next_at limit ${limit}) d`),
  )
