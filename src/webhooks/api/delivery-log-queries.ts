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
  url: string | null
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

const isBad = (status: DeliveryStatus): boolean => status === 'failed' || status === 'parked'

function conditionsOf(filter: DeliveryFilter): Sql {
  const { companyIds, statuses, event, code, url, from, to } = filter
  const conditions: Sql[] = []
  if (companyIds !== null) conditions.push(sql`d.company_id = any (${[...companyIds]}::text[])`)
  if (statuses.length > 0) conditions.push(sql`d.status = any (${[...statuses]}::text[])`)
  // read by their own index: they are few, and a company's deliveries are many
  if (statuses.length > 0 && statuses.every(isBad)) conditions.push(sql`d.stored_status in ('failed', 'parked')`)
  if (event !== null) conditions.push(sql`d.event = ${event}`)
  if (code !== null)
    conditions.push(sql`(d.company_id, d.order_id) in (select company_id, id from orders where code = ${code})`)
  if (url !== null) conditions.push(sql`d.url = ${url}`)
  if (from !== null) conditions.push(sql`d.created_at >= ${from}`)
  if (to !== null) conditions.push(sql`d.created_at <= ${to}`)
  return joinSql(conditions, ' and ')
}

const selected = sql`
  select d.company_id, d.id, d.order_id, o.code, d.event, d.url, d.status, d.series, d.created_at, d.updated_at,
    d.next_at
  from delivery_states d
  left join orders o on o.company_id = d.company_id and o.id = d.order_id`

/** Newest first. */
export const listDeliveries = (q: Queryable, filter: DeliveryFilter, page: { offset: number; limit: number }) =>
  q.many<DeliveryRow>(sql`
    ${selected} where ${conditionsOf(filter)}
    order by d.created_at desc, d.id limit ${page.limit} offset ${page.offset}`)

export const countDeliveries = async (q: Queryable, filter: DeliveryFilter): Promise<number> =>
  Number(
    (await q.one<{ count: bigint }>(sql`select count(*) as count from delivery_states d where ${conditionsOf(filter)}`))
      .count,
  )

export const findDelivery = (q: Queryable, companyIds: readonly string[] | null, id: string) =>
  q.maybe<DeliveryRow & { body: string }>(sql`
    select listed.*, whole.body from (${selected} where d.id = ${id}
      and ${companyIds === null ? sql`true` : sql`d.company_id = any (${[...companyIds]}::text[])`}) listed
    join deliveries whole on whole.company_id = listed.company_id and whole.order_id = listed.order_id
      and whole.id = listed.id`)

/** The attempts of these deliveries in order; `since` is the creation time of the oldest delivery. */
export const listAttempts = (q: Queryable, deliveries: readonly Pick<DeliveryRow, 'companyId' | 'id'>[], since: Date) =>
  q.many<AttemptRow>(sql`
    select a.delivery_id, a.series, a.number, a.trigger, a.started_at, a.duration_ms, a.status_code, a.error_code,
      a.response_body
    from unnest(${deliveries.map((row) => row.companyId)}::text[], ${deliveries.map((row) => row.id)}::text[])
      as k (company_id, id)
    join delivery_attempts a on a.company_id = k.company_id and a.delivery_id = k.id
    where a.started_at >= ${since}::timestamptz - interval '1 hour'
    order by a.started_at, a.series, a.number, a.epoch`)

type Restart = { limit: number; bucketOf: (companyId: string) => number; laneOf: (url: string) => string }

/**
 * Starts a new series of attempts under the same ids, for at most `limit` deliveries, oldest first. Deliveries in
 * progress are left alone.
 * @returns companies and ids of the restarted deliveries
 */
export async function restartDeliveries(
  tx: Tx,
  filter: DeliveryFilter & { id: string | null },
  { limit, bucketOf, laneOf }: Restart,
): Promise<{ companyId: string; id: string }[]> {
  const chosen = await tx.many<{ companyId: string; orderId: string; id: string; url: string; series: number }>(sql`
    select whole.company_id, whole.order_id, whole.id, whole.url, whole.series + 1 as series from delivery_states d
    join deliveries whole on whole.company_id = d.company_id and whole.order_id = d.order_id and whole.id = d.id
    where d.status <> 'pending' and ${filter.id === null ? sql`true` : sql`d.id = ${filter.id}`}
      and ${conditionsOf(filter)}
    order by d.created_at limit ${limit} for update of whole skip locked`)
  // when two requests restart the same delivery, the second finds its due row
  return tx.many(sql`
    with started as (
      insert into delivery_due (company_id, delivery_id, order_id, bucket, lane, series, next_at)
      select company_id, id, order_id, bucket, lane, series, clock_timestamp() from unnest(
        ${chosen.map((row) => row.companyId)}::text[], ${chosen.map((row) => row.id)}::text[],
        ${chosen.map((row) => row.orderId)}::text[], ${chosen.map((row) => bucketOf(row.companyId))}::smallint[],
        ${chosen.map((row) => laneOf(row.url))}::text[], ${chosen.map((row) => row.series)}::integer[]
      ) as i (company_id, id, order_id, bucket, lane, series)
      on conflict do nothing
      returning company_id, order_id, delivery_id, series
    )
    update deliveries d set status = 'pending', series = s.series, updated_at = clock_timestamp()
    from started s where d.company_id = s.company_id and d.order_id = s.order_id and d.id = s.delivery_id
    returning d.company_id, d.id`)
}
