import { joinSql, type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'parked'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export type DeliveryFilter = {
  /** null: every company (SuperAdmin). */
  companyIds: readonly string[] | null
  statuses: readonly DeliveryStatus[]
  event: string | null
  /** The order's code. */
  code: string | null
  from: Date | null
  to: Date | null
}

export type DeliveryRow = {
  companyId: string
  id: string
  orderId: string
  code: string | null
  event: string
  url: string
  status: DeliveryStatus
  series: number
  nextAt: Date | null
  createdAt: Date
  updatedAt: Date
}

export type AttemptRow = {
  deliveryId: string
  series: number
  number: number
  trigger: 'schedule' | 'manual'
  startedAt: Date
  durationMs: number | null
  statusCode: number | null
  errorCode: string | null
  responseBody: string | null
}

function conditionsOf(filter: DeliveryFilter): Sql {
  const { companyIds, statuses, event, code, from, to } = filter
  const conditions: Sql[] = []
  if (companyIds !== null) conditions.push(sql`d.company_id = any (${[...companyIds]}::text[])`)
  if (statuses.length > 0) conditions.push(sql`d.status = any (${[...statuses]}::text[])`)
  if (event !== null) conditions.push(sql`d.event = ${event}`)
  if (code !== null)
    conditions.push(sql`(d.company_id, d.order_id) in (select company_id, id from orders where code = ${code})`)
  if (from !== null) conditions.push(sql`d.created_at >= ${from}`)
  if (to !== null) conditions.push(sql`d.created_at <= ${to}`)
  return joinSql(conditions, ' and ')
}

const selected = sql`
  select d.company_id, d.id, d.order_id, o.code, d.event, d.url, d.status, d.series, d.created_at, d.updated_at,
    case when due.owner is null then due.next_at end as next_at
  from deliveries d
  left join orders o on o.company_id = d.company_id and o.id = d.order_id
  left join delivery_due due on due.company_id = d.company_id and due.delivery_id = d.id`

/** Newest first. */
export const listDeliveries = (q: Queryable, filter: DeliveryFilter, page: { offset: number; limit: number }) =>
  q.many<DeliveryRow>(sql`
    ${selected} where ${conditionsOf(filter)}
    order by d.created_at desc, d.id limit ${page.limit} offset ${page.offset}`)

export const countDeliveries = async (q: Queryable, filter: DeliveryFilter): Promise<number> =>
  Number(
    (await q.one<{ count: bigint }>(sql`select count(*) as count from deliveries d where ${conditionsOf(filter)}`))
      .count,
  )

export const findDelivery = (q: Queryable, companyIds: readonly string[] | null, id: string) =>
  q.maybe<DeliveryRow & { body: string }>(sql`
    select listed.*, whole.body from (${selected} where d.id = ${id}
      and ${companyIds === null ? sql`true` : sql`d.company_id = any (${[...companyIds]}::text[])`}) listed
    join deliveries whole on whole.company_id = listed.company_id and whole.order_id = listed.order_id
      and whole.id = listed.id`)

/** The attempts of these deliveries in the order they were made; `since` is when the oldest delivery was created. */
export const listAttempts = (q: Queryable, deliveries: readonly Pick<DeliveryRow, 'companyId' | 'id'>[], since: Date) =>
  q.many<AttemptRow>(sql`
    select a.delivery_id, a.series, a.number, a.trigger, a.started_at, a.duration_ms, a.status_code, a.error_code,
      a.response_body
    from unnest(${deliveries.map((row) => row.companyId)}::text[], ${deliveries.map((row) => row.id)}::text[])
      as k (company_id, id)
    join delivery_attempts a on a.company_id = k.company_id and a.delivery_id = k.id
    where a.started_at >= ${since}::timestamptz - interval '1 hour'
    order by a.started_at, a.series, a.number, a.epoch`)

/**
 * Starts a new series of attempts under the same id, at most `limit` deliveries, oldest first; what is still being
 * delivered is left alone.
 * @returns companies and ids of what was started
 */
export const restartDeliveries = (
  tx: Tx,
  filter: DeliveryFilter & { id: string | null },
  place: { limit: number; bucketOf: (companyId: string) => number; laneOf: (url: string) => string },
): Promise<{ companyId: string; id: string }[]> =>
  tx
    .many<{ companyId: string; id: string; orderId: string; url: string; series: number }>(sql`
    with chosen as materialized (
      select d.company_id, d.order_id, d.id from deliveries d
      where d.status <> 'pending' and ${filter.id === null ? sql`true` : sql`d.id = ${filter.id}`}
        and ${conditionsOf(filter)}
      order by d.created_at limit ${place.limit} for update skip locked
    )
    update deliveries d set status = 'pending', series = d.series + 1, updated_at = clock_timestamp()
    from chosen
    where d.company_id = chosen.company_id and d.order_id = chosen.order_id and d.id = chosen.id
    returning d.company_id, d.id, d.order_id, d.url, d.series`)
    .then(async (rows) => {
      await tx.run(sql`
        insert into delivery_due (company_id, delivery_id, order_id, bucket, lane, series, next_at)
        select company_id, id, order_id, bucket, lane, series, clock_timestamp() from unnest(
          ${rows.map((row) => row.companyId)}::text[], ${rows.map((row) => row.id)}::text[],
          ${rows.map((row) => row.orderId)}::text[], ${rows.map((row) => place.bucketOf(row.companyId))}::smallint[],
          ${rows.map((row) => place.laneOf(row.url))}::text[], ${rows.map((row) => row.series)}::integer[]
        ) as i (company_id, id, order_id, bucket, lane, series)`)
      return rows.map(({ companyId, id }) => ({ companyId, id }))
    })
