import { joinSql, type Queryable, type Sql, sql, unnamed } from '../../db/db.ts'
import type { OrderScope } from '../order-queries.ts'

export type DayRow = { day: string; created: bigint; paid: bigint; paidUnits: string; refundedUnits: string }
export type ChannelRow = { channel: string; paid: bigint; paidUnits: string }
export type Needs = {
  mispayments: bigint
  unmatched: bigint
  refunds: bigint
  deliveries: bigint
  identity: bigint
  screenings: bigint
  settlements: bigint
}

function scopeSql({ companyIds, collectorIds }: OrderScope): Sql {
  const parts: Sql[] = [sql`true`]
  if (companyIds !== null) parts.push(sql`company_id = any(${companyIds})`)
  if (collectorIds !== null) parts.push(sql`collector_id = any(${collectorIds})`)
  return joinSql(parts, ' and ')
}

/**
 * One row a day (UTC), days without orders too. `firstId` bounds the scan by the primary key: ids sort by time.
 * A refund counts on the day on which the order last changed.
 */
export const listDays = (
  q: Queryable,
  scope: OrderScope,
  { since, firstId }: { since: Date; firstId: string },
): Promise<DayRow[]> =>
  q.many(
    unnamed(sql`
    with mine as (
      select created_at, paid_at, updated_at, paid_units, refunded_units from orders
      where ${scopeSql(scope)} and id >= ${firstId}
    ), days as (
      select generate_series((${since}::timestamptz at time zone 'UTC')::date, (now() at time zone 'UTC')::date,
        interval '1 day')::date as day
    ), created as (
      select (created_at at time zone 'UTC')::date as day, count(*) as created from mine group by 1
    ), paid as (
      select (paid_at at time zone 'UTC')::date as day, count(*) as paid, sum(paid_units) as units
      from mine where paid_at is not null group by 1
    ), refunded as (
      select (updated_at at time zone 'UTC')::date as day, sum(refunded_units) as units
      from mine where refunded_units > 0 group by 1
    )
    select days.day::text as day, coalesce(created.created, 0) as created, coalesce(paid.paid, 0) as paid,
      coalesce(paid.units, 0)::text as paid_units, coalesce(refunded.units, 0)::text as refunded_units
    from days left join created using (day) left join paid using (day) left join refunded using (day)
    order by days.day`),
  )

export const listChannels = (
  q: Queryable,
  scope: OrderScope,
  { since, firstId }: { since: Date; firstId: string },
): Promise<ChannelRow[]> =>
  q.many(
    unnamed(sql`
    select payment_channel as channel, count(*) as paid, sum(paid_units)::text as paid_units from orders
    where ${scopeSql(scope)} and id >= ${firstId} and paid_at >= ${since} and payment_channel is not null
    group by 1 order by sum(paid_units) desc`),
  )

/** What waits for a person. Failed deliveries count for a week; older ones stay in their list. */
export const countNeeds = (q: Queryable, companyIds: readonly string[] | null, now: Date): Promise<Needs> => {
  const mine = companyIds === null ? sql`true` : sql`company_id = any(${companyIds})`
  return q.one(
    unnamed(sql`
    select
      (select count(*) from mispayments where ${mine} and status = 'open') as mispayments,
      (select count(*) from unmatched_transfers u where ${mine} and u.status = 'open' and not is_dust
        and exists (select 1 from chain_transfers t where t.id = u.transfer_id and t.status = 'seen')) as unmatched,
      (select count(*) from refunds where ${mine} and status in ('needs_approval', 'needs_address')) as refunds,
      (select count(*) from deliveries where ${mine} and status in ('failed', 'parked')
        and updated_at >= ${now}::timestamptz - interval '7 days') as deliveries,
      (select count(*) from kyc_records where ${mine} and (status = 'pending' or edd_status = 'pending')) as identity,
      (select count(*) from screenings where ${mine} and status in ('held', 'blocked')
        and (status = 'held' or purpose = 'payment')) as screenings,
      (select count(*) from settlements where ${mine} and status in ('open', 'approved')) as settlements`),
  )
}
