import { type Queryable, type Sql, sql } from '../../db/db.ts'
import type { LocalMonth } from '../../http/calendar.ts'
import { closedOf, isFarBehind, isRefunded, legsOf, reservedOf } from '../days/day-queries.ts'

/** What a company earned and paid in one calendar month, in USDC units. */
export type MonthRow = {
  /** `2026-11` */
  month: string
  payments: number
  receivedUnits: bigint
  feeUnits: bigint
  refundedUnits: bigint
  /** Money that left the chain, borne by the company. Negative: it came back. */
  lostUnits: bigint
}

/**
 * What has a place in the months, as amounts in USDC units, debits positive: closed days that lie in one month, and
 * the bookings of other days; a month of another time zone begins within one. A day is 24 hours: “1 day” goes by the
 * clocks of the session, and behind PgBouncer those are the database's own.
 */
const partsOf = (companyId: string, starts: readonly string[], isMany: boolean): Sql => sql`
  with closed as materialized (${closedOf(companyId)}), starts as (
    select start, date_trunc('day', start, 'UTC') as day from unnest(${starts}::timestamptz[]) as start
  ), open as (
    select day as start, day + interval '24 hours' as stop from starts, closed
    where day < start and day >= since and day < before
    union all select '-infinity', since from closed union all select before, 'infinity' from closed
  ), days as (
    select d.*, width_bucket(d.day::timestamp at time zone 'UTC', ${starts}::timestamptz[]) as place
    from ledger_days d, closed
    where d.company_id = ${companyId} and d.kind in ('payment', 'loss_borne', 'refund_settled')
      and d.day >= (since at time zone 'UTC')::date and d.day < (before at time zone 'UTC')::date
      and d.day >= (${starts[0]}::timestamptz at time zone 'UTC')::date
      and not exists (select from starts s where s.day < s.start and (s.day at time zone 'UTC')::date = d.day)
  )
  select place, kind, account, bookings, debit_units - credit_units as units from days
  where kind <> 'refund_settled' and account in ('company_payable', 'fees')
  union all
  select place, kind, account, bookings, reserved_units from days where ${isRefunded(sql`days`, sql`days`)}
  union all
  select width_bucket(j.at, ${starts}::timestamptz[]), j.kind, e.account, 1,
    case j.kind when 'refund_settled' then ${reservedOf(sql`j`)} else e.units end
  from open join ledger_journals j on j.company_id = ${companyId} and j.at >= ${starts[0]}::timestamptz
    and j.at >= open.start and j.at < open.stop and j.kind in ('payment', 'loss_borne', 'refund_settled')
  ${legsOf(isMany)}
  where (j.kind <> 'refund_settled' and e.account in ('company_payable', 'fees')) or ${isRefunded(sql`j`, sql`e`)}`

/**
 * From the books, newest first: the price of paid orders, the fee kept, refunds out of the company's balance, and
 * losses. A refund counts once its money left, by what it had reserved of the balance. Months without a booking are
 * left out.
 * @param months oldest first, without gaps, until now
 */
export async function listMonths(q: Queryable, companyId: string, months: readonly LocalMonth[]): Promise<MonthRow[]> {
  type Row = Record<'receivedUnits' | 'feeUnits' | 'refundedUnits' | 'lostUnits', string> & {
    place: number
    payments: number
  }
  const starts = months.map(({ start }) => start.toISOString())
  const rows = await q.many<Row>(sql`
    select place, coalesce(sum(bookings) filter (where kind = 'payment' and account = 'company_payable'), 0)::int as payments,
      coalesce(-sum(units) filter (where kind = 'payment'), 0) as received_units,
      coalesce(-sum(units) filter (where account = 'fees'), 0) as fee_units,
      coalesce(sum(units) filter (where kind = 'refund_settled'), 0) as refunded_units,
      coalesce(sum(units) filter (where kind = 'loss_borne'), 0) as lost_units
    from (${partsOf(companyId, starts, await isFarBehind(q, companyId))}) as parts
    where kind <> 'refund_settled' or units <> 0 group by place order by place desc`)
  return rows.map(({ place, payments, receivedUnits, feeUnits, refundedUnits, lostUnits }) => ({
    month: months[place - 1]?.month ?? '',
    payments,
    receivedUnits: BigInt(receivedUnits),
    feeUnits: BigInt(feeUnits),
    refundedUnits: BigInt(refundedUnits),
    lostUnits: BigInt(lostUnits),
  }))
}

/** The share of each price that the operator keeps, in hundredths of a percent. */
export async function findFeeBps(q: Queryable, companyId: string): Promise<number> {
  const row = await q.maybe<{ feeBps: number }>(sql`select fee_bps from companies where id = ${companyId}`)
  return row?.feeBps ?? 0
}
