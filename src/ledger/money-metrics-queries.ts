import { type Queryable, sql } from '../db/db.ts'
import { oldestBookCheck } from './difference-queries.ts'

/** Figures about money that an operator monitors, over all companies. */
export type MoneyFigures = {
  differences: number
  orphanedUnits: string
  mispayments: number
  unmatched: number
  /** Since the company that waits longest was last compared, or else made its first order; null: no order yet. */
  booksAgeSeconds: number | null
  /** `age`: of the one that is under way for longest, in seconds; null while a person decides. */
  refunds: { status: string; count: number; age: number | null }[]
  settlements: { status: string; count: number }[]
}

export const findMoneyFigures = (q: Queryable): Promise<MoneyFigures> =>
  q.one(sql`
    select (select count(*)::int from ledger_differences where status = 'open') as differences,
      (select coalesce(sum(units), 0) from mispayments where kind = 'orphaned' and status = 'open') as orphaned_units,
      (select count(*)::int from mispayments where status = 'open') as mispayments,
      (select count(*)::int from unmatched_transfers where status = 'open' and not is_dust) as unmatched,
      (select coalesce(json_agg(r), '[]') from (select status, count(*)::int as count,
          extract(epoch from now() - min(ready_at))::float8 as age from refunds
        where status in ('needs_approval', 'needs_address', 'ready', 'submitted') group by status) r) as refunds,
      (select coalesce(json_agg(s), '[]') from (select status, count(*)::int as count from settlements
        where status in ('open', 'approved') group by status) s) as settlements,
      extract(epoch from now() - ${oldestBookCheck})::float8 as books_age_seconds`)
