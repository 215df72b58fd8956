import { type Queryable, sql } from '../db/db.ts'

export type ShiftRow = { asset: string; paid: number; amountUnits: bigint; settledUnits: bigint }
export type ShiftCounts = { created: number; open: number; ended: number }

type Shift = { companyId: string; userId: string; collectorIds: readonly string[]; since: Date; firstId: string }

/** Not in the back office, where a manager who also sells may choose the till. Null: an order of an earlier version. */
const AT_TILL = sql`at_till is not false`

/**
 * One person's sales at these tills since then, by currency. Money above a price counts for nothing; an accepted
 * underpayment counts as its share of the price, as in the summary. `firstId` limits the scan: ids sort by time.
 */
export async function listShiftSums(q: Queryable, shift: Shift): Promise<ShiftRow[]> {
  return q.many<ShiftRow>(sql`
    with above as (
      select company_id, payment_id, sum(units) as units from mispayments
      where company_id = ${shift.companyId} and kind = 'over' and status <> 'resolved' group by 1, 2
    ), sales as (
      select from_asset, from_units, to_units, paid_units - coalesce(above.units, 0) as sold_units
      from orders left join above using (company_id, payment_id)
      where company_id = ${shift.companyId} and id >= ${shift.firstId} and created_at >= ${shift.since}
        and created_by = ${shift.userId} and collector_id = any(${shift.collectorIds}) and ${AT_TILL} and paid_at is not null
    )
    select from_asset as asset, count(*)::int as paid, sum(sold_units)::bigint as settled_units,
      sum(case when sold_units < to_units then round(from_units * sold_units / to_units) else from_units end)::bigint
        as amount_units
    from sales group by 1 order by 1`)
}

export async function countShift(q: Queryable, shift: Shift): Promise<ShiftCounts> {
  return q.one<ShiftCounts>(sql`
    select count(*)::int as created,
      count(*) filter (where status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION'))::int as open,
      count(*) filter (where status in ('CANCELLED', 'EXPIRED', 'ERROR'))::int as ended
    from orders
    where company_id = ${shift.companyId} and id >= ${shift.firstId} and created_at >= ${shift.since}
      and created_by = ${shift.userId} and collector_id = any(${shift.collectorIds}) and ${AT_TILL}`)
}

export type DisplayOrder = {
  code: string
  fromAsset: string
  fromUnits: bigint
  toUnits: bigint
  status: string
  updatedAt: Date
}

/** The order on a till's customer screen: the newest that a person made on one of its devices, for some minutes. */
export async function findDisplayOrder(
  q: Queryable,
  till: { companyId: string; collectorId: string; since: Date; firstId: string },
): Promise<DisplayOrder | undefined> {
  return q.maybe<DisplayOrder>(sql`
    select code, from_asset, from_units::bigint as from_units, to_units::bigint as to_units, status, updated_at
    from orders
    where company_id = ${till.companyId} and id >= ${till.firstId} and collector_id = ${till.collectorId}
      and updated_at >= ${till.since} and ${AT_TILL} and created_by = any(array(
        select s.user_id from till_devices d join sessions s on s.till_device_id = d.id
        where d.company_id = ${till.companyId} and d.collector_id = ${till.collectorId}))
    order by id desc limit 1`)
}
