import { type Queryable, sql } from '../../db/db.ts'

/** What a company earned and paid for in one month of a calendar, in USDC units. */
export type MonthRow = {
  /** `2026-11` */
  month: string
  payments: number
  receivedUnits: bigint
  feeUnits: bigint
  refundedUnits: bigint
}

/**
 * From the books, newest first, this month and those before it: the price of what was paid, the fee that was kept of
 * it, and what went back out of the company's balance. Months without a booking are left out.
 * `timeZone` says whose calendar it is.
 */
export async function listMonths(
  q: Queryable,
  companyId: string,
  { now, months, timeZone }: { now: Date; months: number; timeZone: string },
): Promise<MonthRow[]> {
  type Row = Record<'receivedUnits' | 'feeUnits' | 'refundedUnits', string> & Pick<MonthRow, 'month' | 'payments'>
  const rows = await q.many<Row>(sql`
    select to_char(j.at at time zone ${timeZone}, 'YYYY-MM') as month,
      count(distinct j.id) filter (where j.kind = 'payment' and e.account = 'company_payable')::int as payments,
      coalesce(-sum(e.units) filter (where j.kind = 'payment'), 0) as received_units,
      coalesce(-sum(e.units) filter (where e.account = 'fees'), 0) as fee_units,
      coalesce(sum(e.units) filter (where j.kind in ('refund', 'refund_dropped')), 0) as refunded_units
    from ledger_journals j
    join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
      and e.account in ('company_payable', 'fees')
    cross join (select (date_trunc('month', ${now}::timestamptz at time zone ${timeZone})
      - make_interval(months => ${months - 1})) at time zone ${timeZone} as at) as first
    where j.company_id = ${companyId} and j.at >= first.at and j.kind in ('payment', 'refund', 'refund_dropped')
    group by 1 order by 1 desc`)
  return rows.map(({ receivedUnits, feeUnits, refundedUnits, ...row }) => ({
    ...row,
    receivedUnits: BigInt(receivedUnits),
    feeUnits: BigInt(feeUnits),
    refundedUnits: BigInt(refundedUnits),
  }))
}

/** The share of each price that the operator keeps, in hundredths of a percent. */
export async function findFeeBps(q: Queryable, companyId: string): Promise<number> {
  const row = await q.maybe<{ feeBps: number }>(sql`select fee_bps from companies where id = ${companyId}`)
  return row?.feeBps ?? 0
}
