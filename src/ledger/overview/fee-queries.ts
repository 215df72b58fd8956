import { type Queryable, sql } from '../../db/db.ts'
import type { LocalMonth } from '../../http/calendar.ts'

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
    select width_bucket(j.at, ${starts}::timestamptz[]) as place,
      count(distinct j.id) filter (where j.kind = 'payment' and e.account = 'company_payable')::int as payments,
      coalesce(-sum(e.units) filter (where j.kind = 'payment'), 0) as received_units,
      coalesce(-sum(e.units) filter (where e.account = 'fees'), 0) as fee_units,
      coalesce(sum(e.units) filter (where j.kind = 'refund_settled'), 0) as refunded_units,
      coalesce(sum(e.units) filter (where j.kind = 'loss_borne'), 0) as lost_units
    from ledger_journals j
    left join ledger_journals reserved on j.kind = 'refund_settled' and reserved.company_id = j.company_id
      and reserved.kind = 'refund' and reserved.cause_id = j.cause_id
    join ledger_entries e on e.company_id = j.company_id and e.journal_id = coalesce(reserved.id, j.id)
      and e.account in ('company_payable', 'fees')
    where j.company_id = ${companyId} and j.at >= ${starts[0]}::timestamptz
      and j.kind in ('payment', 'refund_settled', 'loss_borne')
    group by 1 order by 1 desc`)
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
