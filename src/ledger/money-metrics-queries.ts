import { type Queryable, sql } from '../db/db.ts'

/** Figures about money that an operator monitors, over all companies. */
export type MoneyFigures = {
  differences: number
  orphanedUnits: string
  mispayments: number
  unmatched: number
  /** Since the books of a company were last compared, or else since the first order; null: no order yet. */
  booksAgeSeconds: number | null
  refunds: { status: string; count: number }[]
  settlements: { status: string; count: number }[]
}

export const findMoneyFigures = (q: Queryable): Promise<MoneyFigures> =>
  q.one(sql`
    select (select count(*)::int from ledger_differences where status = 'open') as differences,
      (select coalesce(sum(units), 0) from mispayments where kind = 'orphaned' and status = 'open') as orphaned_units,
      (select count(*)::int from mispayments where status = 'open') as mispayments,
      (select count(*)::int from unmatched_transfers where status = 'open' and not is_dust) as unmatched,
      (select coalesce(json_agg(r), '[]') from (select status, count(*)::int as count from refunds
        where status in ('needs_approval', 'needs_address', 'ready', 'submitted') group by status) r) as refunds,
      (select coalesce(json_agg(s), '[]') from (select status, count(*)::int as count from settlements
        where status in ('open', 'approved') group by status) s) as settlements,
      extract(epoch from now() - coalesce((select max(checked_at) from book_checks),
        (select min(first.created_at) from companies c cross join lateral (select o.created_at from orders o
          where o.company_id = c.id order by o.id limit 1) first)))::float8 as books_age_seconds`)
