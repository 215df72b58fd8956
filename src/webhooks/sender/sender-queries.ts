import { type Db, type Sql, sql, type Tx } from '../../db/db.ts'
import type { LaneKey, LaneSet } from './lanes.ts'

export const LEASE_MS = 15_000
/** After this many attempts of unknown outcome in a row a delivery is parked. */
export const MAX_CRASHES = 3

/**
 * The table of due deliveries is empty one minute and long the next, so a cached plan is often wrong: an unnamed
 * statement is planned each time, with its values.
 */
export const plannedEachTime = (statement: Sql): Sql => ({ ...statement, name: '' })

/**
 * A delivery that was interrupted so often that one more crash parks it. It is sent apart from the others, so that the
 * delivery that kills its node is parked and the hundreds in flight with it are not (`suspects.ts`).
 */
export const isSuspect = sql`(d.crashes + (d.owner is not null)::integer >= ${MAX_CRASHES - 1})`

export const epochMs = (column: Sql): Sql => sql`(extract(epoch from ${column}) * 1000)::float8`

export type Outcome = 'delivered' | 'failed' | 'retry' | 'parked' | 'released'

export type OutcomeRow = {
  companyId: string
  deliveryId: string
  series: number
  epoch: bigint
  outcome: Outcome
  /** The attempt's number; `parked` and `released` made no attempt. */
  number: number
  startedAt: Date
  durationMs: number | null
  statusCode: number | null
  errorCode: string | null
  responseBody: string | null
  /** Counts from the time of the statement; only for `retry` and `released`. */
  delayMs: number
}

/** Deliveries that continue: with another attempt, or because they were released. */
const again = sql`, again as (
      update delivery_due d set owner = null, leased_at = null,
        attempts = case when i.outcome = 'retry' then i.number else d.attempts end,
        crashes = case when i.outcome = 'retry' then 0 else d.crashes end,
        doubt = case when i.outcome = 'retry' then 0 else d.doubt end,
        next_at = clock_timestamp() + i.delay_ms * interval '1 millisecond'
      from input i
      where d.company_id = i.company_id and d.delivery_id = i.delivery_id and d.series = i.series
        and d.lease_epoch = i.epoch and d.owner is not null and i.outcome in ('retry', 'released')
      returning i.*, d.order_id
    )`

/** A delivered outcome is recorded by deleting its due row. An update is planned for each partition. */
const shown = sql`, shown as (
      update deliveries d set status = e.outcome, updated_at = clock_timestamp()
      from ended e where d.company_id = e.company_id and d.order_id = e.order_id and d.id = e.delivery_id
        and e.outcome <> 'delivered'
    )`

/**
 * Writes the outcomes of many attempts in one statement, built only from the parts that these outcomes need: most are
 * delivered, and planning the rest costs more than writing them. Skips rows whose lease has passed to another node
 * (fencing).
 * @returns the ids that were still ours
 */
export async function settleAttempts(db: Db, rows: readonly OutcomeRow[]): Promise<string[]> {
  const column = <Value>(pick: (row: OutcomeRow) => Value): Value[] => rows.map(pick)
  const has = (...some: Outcome[]): boolean => rows.some(({ outcome }) => some.includes(outcome))
  const [goesOn, isShown] = [has('retry', 'released'), has('failed', 'parked')]
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
    )${goesOn ? again : sql``},
    settled as materialized (select * from ended ${goesOn ? sql`union all select * from again` : sql``}),
    logged as (
      insert into delivery_attempts (company_id, delivery_id, series, number, epoch, trigger, started_at, duration_ms,
        status_code, error_code, response_body)
      select company_id, delivery_id, series, number, epoch, case when series > 1 then 'manual' else 'schedule' end,
        started_at, duration_ms, status_code, error_code, response_body
      from settled where outcome in ('delivered', 'failed', 'retry')
      on conflict do nothing
    )${isShown ? shown : sql``}
    select delivery_id from settled`),
  )
  return settled.map((row) => row.deliveryId)
}

/** `lane` null: the company has no more. `dueMs`: its earliest due time; null: nothing is due. */
export type SweptLane = { companyId: string; lane: string | null; dueMs: number | null }

export type LaneSweep = {
  /** Only companies after this one. */
  after: string
  /** For some companies: only lanes after this one. */
  resume: readonly LaneKey[]
  /** Lanes at most: of one company, and of all. */
  perCompany: number
  limit: number
}

/**
 * Lanes with deliveries, in the order of their names, by a skip scan over the index: first of the companies, then of
 * each one's lanes, so that a company with very many hides no other. Finds what the moving lower bound would miss.
 */
export const listLanes = (db: Db, { after, resume, perCompany, limit }: LaneSweep): Promise<SweptLane[]> =>
  db.many<SweptLane>(
    plannedEachTime(sql`
    with recursive owners as (
      (select d.company_id from delivery_due d where d.company_id > ${after} order by d.company_id limit 1)
      union all
      select n.company_id from owners o cross join lateral (
        select d.company_id from delivery_due d where d.company_id > o.company_id order by d.company_id limit 1) n
    )
    select o.company_id, l.lane, ${epochMs(sql`due.next_at`)} as due_ms from owners o
    left join lateral (
      with recursive lanes as (
        (select d.lane, 1 as place from delivery_due d
          where d.company_id = o.company_id and d.lane > coalesce((
            select r.lane from unnest(${resume.map(({ companyId }) => companyId)}::text[], ${resume.map(({ lane }) => lane)}::text[])
              as r (company_id, lane) where r.company_id = o.company_id), '')
          order by d.lane limit 1)
        union all
        select n.lane, l.place + 1 from lanes l cross join lateral (
          select d.lane from delivery_due d where d.company_id = o.company_id and d.lane > l.lane
          order by d.lane limit 1) n
        where l.place < ${perCompany}
      )
      select lane from lanes
    ) l on true
    left join lateral (
      select d.next_at from delivery_due d
      where d.company_id = o.company_id and d.lane = l.lane and d.next_at <= now() and not ${isSuspect}
      order by d.next_at limit 1) due on true
    limit ${limit}`),
  )

/** `host` identifies the machine; the host name is part of it. */
export type NodeRow = { name: string; instance: string; host: string; pid: number }
/** `isHeard`: its heartbeat is at most `DEAD_AFTER_MS` old. */
export type KnownNode = NodeRow & { isHeard: boolean }

/** After this silence the other nodes consider a node dead. */
export const DEAD_AFTER_MS = 5000

/**
 * Registers this node under its name and makes the leases of the previous process with that name due at once.
 * @returns false when that process is alive (`isAlive`): take another name
 */
export async function insertNode(tx: Tx, node: NodeRow, isAlive: (node: KnownNode) => boolean): Promise<boolean> {
  const before = await tx.maybe<KnownNode>(sql`
    select name, instance, host, pid, seen_at > clock_timestamp() - ${DEAD_AFTER_MS} * interval '1 millisecond' as is_heard
    from sender_nodes where name = ${node.name} for update`)
  if (before && isAlive(before)) return false
  await tx.run(sql`
    insert into sender_nodes (name, instance, host, pid)
    values (${node.name}, ${node.instance}, ${node.host}, ${node.pid})
    on conflict (name) do update set instance = excluded.instance, host = excluded.host, pid = excluded.pid,
      started_at = clock_timestamp(), seen_at = clock_timestamp()`)
  if (before) await releaseLeases(tx, [before.instance])
  return true
}

/**
 * Makes everything leased by these instances due now. The owner stays set, which tells the next claim that the outcome
 * is unknown.
 */
const releaseLeases = (tx: Tx, instances: string[]): Promise<number> =>
  tx.run(sql`
    update delivery_due set next_at = clock_timestamp()
    where owner = any (${instances}::text[]) and next_at > clock_timestamp()
      and next_at <= clock_timestamp() + ${LEASE_MS + 1000} * interval '1 millisecond'`)

export type Heartbeat = { nowMs: number; living: string[] }

/** Renews the heartbeat. @returns the database's clock and all nodes, or undefined if this node was declared dead */
export const updateHeartbeat = (db: Db, instance: string): Promise<Heartbeat | undefined> =>
  db.maybe<Heartbeat>(sql`
    update sender_nodes set seen_at = clock_timestamp() where instance = ${instance}
    returning ${epochMs(sql`clock_timestamp()`)} as now_ms,
      (select array_agg(name order by name) from sender_nodes) as living`)

export type Takeover = { instances: string[]; deliveries: number }

const isSilent = (instance: string, deadAfterMs: number): Sql =>
  sql`instance <> ${instance} and seen_at < clock_timestamp() - ${deadAfterMs} * interval '1 millisecond'`

/** Asked twice a second, and nearly always false: no transaction, which would be three statements. */
export async function hasDeadNodes(db: Db, instance: string, deadAfterMs: number): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    sql`select exists (select from sender_nodes where ${isSilent(instance, deadAfterMs)}) as found`,
  )
  return found
}

/** Removes nodes that have been silent for `deadAfterMs` and makes their leases due. */
export async function takeOverDeadNodes(tx: Tx, instance: string, deadAfterMs: number): Promise<Takeover> {
  const dead = await tx.many<{ instance: string }>(sql`
    delete from sender_nodes where name in (
      select name from sender_nodes where ${isSilent(instance, deadAfterMs)} for update skip locked)
    returning instance`)
  const instances = dead.map((row) => row.instance)
  return { instances, deliveries: instances.length === 0 ? 0 : await releaseLeases(tx, instances) }
}

/** A clean stop: nothing is in flight, and the attempts of the remaining leases never started. */
export async function deleteNode(tx: Tx, instance: string): Promise<void> {
  await tx.run(sql`
    update delivery_due set owner = null, leased_at = null, next_at = clock_timestamp()
    where owner = ${instance} and next_at <= clock_timestamp() + ${LEASE_MS + 1000} * interval '1 millisecond'`)
  await tx.run(sql`delete from sender_nodes where instance = ${instance}`)
}

export type Due = { due: number; oldestMs: number; backlogMs: number }

/**
 * How many deliveries are due, and how late the oldest is: of all (`backlogMs`), and without those that wait for their
 * own receivers. Counts up to `limit`. The index alone answers while no lane waits.
 */
export function countDue(db: Db, { limit, waiting }: { limit: number; waiting: LaneSet }): Promise<Due> {
  const { lanes, companies } = waiting
  const age = (oldest: Sql): Sql => sql`coalesce(${epochMs(sql`now()`)} - ${epochMs(oldest)}, 0)`
  const isWaiting = lanes.length + companies.length > 0
  const lane = isWaiting ? sql`, company_id, lane` : sql``
  const join = isWaiting
    ? sql`left join unnest(${lanes.map(({ companyId }) => companyId)}::text[], ${lanes.map((key) => key.lane)}::text[])
        as w (company_id, lane) using (company_id, lane)`
    : sql``
  // beyond the limit, others may be late and not be among these: at most as late as the last one counted
  const unseen = sql`case when count(*) >= ${limit} then max(next_at) end`
  const isLate = sql`w.lane is null and d.company_id <> all (${[...companies]}::text[])`
  const late = isWaiting ? sql`coalesce(min(next_at) filter (where ${isLate}), ${unseen})` : sql`min(next_at)`
  return db.one<Due>(
    plannedEachTime(sql`
    select count(*)::integer as due, ${age(late)} as oldest_ms, ${age(sql`min(next_at)`)} as backlog_ms
    from (select next_at${lane} from delivery_due where next_at <= now() order by next_at limit ${limit}) d ${join}`),
  )
}
