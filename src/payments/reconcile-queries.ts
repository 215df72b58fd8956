import { type Queryable, sql } from '../db/db.ts'

/** Paid payments at providers that were not asked about since then, oldest first. */
export const listUnreconciled = (
  q: Queryable,
  { askedBefore, openedAfter, limit }: { askedBefore: Date; openedAfter: Date; limit: number },
): Promise<{ companyId: string; id: string }[]> =>
  q.many(sql`
    select company_id, id from payments
    where status = 'paid' and channel <> 'crypto' and coalesce(reconciled_at, opened_at) <= ${askedBefore}
      and opened_at > ${openedAfter}
    order by coalesce(reconciled_at, opened_at) limit ${limit}`)

export const updateReconciled = (q: Queryable, { companyId, id }: { companyId: string; id: string }, now: Date) =>
  q.run(sql`update payments set reconciled_at = ${now} where company_id = ${companyId} and id = ${id}`)
