import { joinSql, type Queryable, type Sql, sql, unnamed } from '../../db/db.ts'
import type { Order } from '../order.ts'
import { COLUMNS, type Row, toOrder } from '../order-queries.ts'
import type { OrderStatus } from '../order-states.ts'

/** A place in a company's feed. Without `orderId`: before everything at `position`. */
export type FeedPosition = { position: bigint; orderId: string; seq: number }

export type FeedEvent = FeedPosition & {
  event: string
  at: Date
  /** The order as it was at the event. */
  order: Order
}

/** The order's mutable fields, as of an event. */
type Facts = {
  paymentChannel?: string | null
  expiresAt: string
  paidAt?: string | null
  refundedUnits?: string
  /** Absent in events that are older than price changes. */
  toUnits?: string
  rate?: string
  /** Absent in events from before accept could change it. */
  anonymous?: boolean
}

type EventRow = Row & { horizon: bigint } & (
    | { position: null }
    | { position: bigint; seq: number; event: string; eventAt: Date; toStatus: OrderStatus; facts: Facts }
  )

function orderAt(row: Row, status: OrderStatus, at: Date, facts: Facts): Order {
  const { toUnits = row.toUnits, rate = row.rate, anonymous = row.anonymous } = facts
  return {
    ...toOrder({ ...row, toUnits, rate, anonymous }),
    status,
    updatedAt: at,
    paymentChannel: facts.paymentChannel ?? null,
    expiresAt: new Date(facts.expiresAt),
    paidAt: facts.paidAt ? new Date(facts.paidAt) : null,
    refundedUnits: BigInt(facts.refundedUnits ?? '0'),
  }
}

/** A cashier's feed holds the orders of the cashier's tills. */
const atTills = (collectorIds: readonly string[] | null): Sql =>
  collectorIds === null
    ? sql`true`
    : sql`exists (select from orders t where t.company_id = f.company_id and t.id = f.order_id
        and t.collector_id = any(${collectorIds}))`

function toFeedEvents(rows: readonly EventRow[]): FeedEvent[] {
  return rows.flatMap(({ horizon: _horizon, ...row }) => {
    if (row.position === null) return []
    const { position, seq, event, eventAt, toStatus, facts, ...order } = row
    return [{ position, orderId: order.id, seq, event, at: eventAt, order: orderAt(order, toStatus, eventAt, facts) }]
  })
}

/**
 * Events after a position, in feed order, and the horizon of the same snapshot: no event will appear before it any
 * more. A later horizon can be lower: a transaction that has just ended counts as this database's, because nothing says
 * any more to which one it belonged.
 */
export async function listFeedEvents(
  q: Queryable,
  page: { companyId: string; collectorIds: readonly string[] | null; after: FeedPosition; limit: number },
): Promise<{ events: FeedEvent[]; horizon: bigint }> {
  const { companyId, collectorIds, after, limit } = page
  const rows = await q.many<EventRow>(sql`
    select h.horizon, e.position, e.seq, e.event, e.at as event_at, e.to_status, e.facts, o.*
    from (select event_horizon() as horizon) h
    left join lateral (
      select * from event_feed f
      where f.company_id = ${companyId} and f.position < h.horizon
        and (f.position, f.order_id, f.seq) > (${after.position}::bigint, ${after.orderId}, ${after.seq}::integer)
        and ${atTills(collectorIds)}
      order by f.position, f.order_id, f.seq limit ${limit}
    ) e on true
    left join lateral (select ${COLUMNS} from orders where company_id = e.company_id and id = e.order_id) o on true
    order by e.position, e.order_id, e.seq`)
  return { events: toFeedEvents(rows), horizon: rows[0]?.horizon ?? 0n }
}

/** The newest events, or those before a position. */
export async function listLatestEvents(
  q: Queryable,
  page: {
    companyId: string
    collectorIds: readonly string[] | null
    before: FeedPosition | null
    event: string | null
    limit: number
  },
): Promise<FeedEvent[]> {
  const { companyId, collectorIds, before, event, limit } = page
  const conditions = [sql`f.company_id = ${companyId}`, sql`f.position < h.horizon`, atTills(collectorIds)]
  if (before !== null) {
    const { position, orderId, seq } = before
    conditions.push(sql`(f.position, f.order_id, f.seq) < (${position}::bigint, ${orderId}, ${seq}::integer)`)
  }
  if (event !== null) conditions.push(sql`f.event = ${event}`)
  const rows = await q.many<EventRow>(
    unnamed(sql`
      select h.horizon, e.position, e.seq, e.event, e.at as event_at, e.to_status, e.facts, o.*
      from (select event_horizon() as horizon) h
      cross join lateral (
        select * from event_feed f where ${joinSql(conditions, ' and ')}
        order by f.position desc, f.order_id desc, f.seq desc limit ${limit}
      ) e
      join lateral (select ${COLUMNS} from orders where company_id = e.company_id and id = e.order_id) o on true
      order by e.position desc, e.order_id desc, e.seq desc`),
  )
  return toFeedEvents(rows)
}

/**
 * Whether this database issued the position and still has it, and whether it has all events after it, however old.
 * `life` changes when the data moves to another cluster or is restored from a backup (a new timeline).
 */
export async function findFeedState(
  q: Queryable,
  companyId: string,
  place: FeedPosition | null,
): Promise<{ life: string; known: boolean; whole: boolean }> {
  const { position, orderId, seq } = place ?? { position: 0n, orderId: '', seq: 0 }
  // what is trimmed is the beginning of a company's feed: behind an event that is still there, nothing is missing
  return q.one(sql`
    select left(md5(s.system_identifier || '/' || c.timeline_id), 8) as life,
      case when ${orderId} = '' then ${position}::bigint <= event_clock_end() else held end as known,
      case when ${orderId} = '' then exists (
        select from order_events where company_id = ${companyId} and event is not null and position is not null
          and position < ${position}::bigint) else held end as whole
    from pg_control_system() s, pg_control_checkpoint() c, lateral (select exists (
        select from order_events where company_id = ${companyId} and order_id = ${orderId} and seq = ${seq}::integer
          and position = ${position}::bigint) as held) e`)
}

/**
 * Whether the company's feed begins at or before a place of another life of the database: then it has all events after
 * it, as only the beginning is trimmed. Both place and time are compared: a position may have been given twice, to an
 * event that the restore lost and to one written since.
 */
export async function feedReachesBack(
  q: Queryable,
  companyId: string,
  place: FeedPosition & { at: Date },
): Promise<boolean> {
  const { position, orderId, seq, at } = place
  const first = await q.maybe<{ isBefore: boolean }>(sql`
    select (position, order_id, seq) <= (${position}::bigint, ${orderId}, ${seq}::integer)
      and date_trunc('milliseconds', at) <= ${at}::timestamptz as is_before
    from event_feed where company_id = ${companyId} and position is not null
    order by position, order_id, seq limit 1`)
  return first?.isBefore ?? false
}

/** Position of the company's first event at or after a time; if there is none yet, the position of the next event. */
export async function findPositionAt(q: Queryable, companyId: string, at: Date): Promise<bigint> {
  const { position } = await q.one<{ position: bigint }>(sql`
    select coalesce(min(position), event_horizon()) as position from event_feed
    where company_id = ${companyId} and at >= ${at} and position is not null`)
  return position
}

/**
 * Deletes events before a time from the feed; the order's history keeps them. Of each company it deletes the beginning,
 * up to the first event after that time, and never the newest: so a program that handled it may come back at any time.
 * @returns how many
 */
export const trimOldFeedEvents = (q: Queryable, before: Date, limit: number): Promise<number> =>
  q.run(sql`
    with due as materialized (
      select company_id, order_id, seq, position from order_events
      where at < ${before} and event is not null and position is not null
    ), ends as materialized (
      select company_id, coalesce(
        (select position from order_events n where n.company_id = c.company_id and event is not null
          and position is not null and at >= ${before} order by position limit 1),
        (select max(position) from order_events n where n.company_id = c.company_id and event is not null
          and position is not null)) as position
      from (select distinct company_id from due) c
    )
    update order_events e set position = null
    from (
      select o.company_id, o.order_id, o.seq from order_events o
      join (
        select due.* from due join ends on ends.company_id = due.company_id and due.position < ends.position
        order by due.position, due.order_id, due.seq limit ${limit}
      ) d on d.company_id = o.company_id and d.order_id = o.order_id and d.seq = o.seq
      where o.position is not null
      order by o.company_id, o.order_id, o.seq for update of o
    ) old
    where e.company_id = old.company_id and e.order_id = old.order_id and e.seq = old.seq`)

/** Called before anything is written: in a database that came from another cluster, positions must keep growing. */
export async function followEventClock(q: Queryable): Promise<boolean> {
  const { moved } = await q.one<{ moved: boolean }>(sql`select event_clock_follow() as moved`)
  return moved
}
