import { type Queryable, sql } from '../db/db.ts'

type PaymentKey = { companyId: string; id: string }

/** Paid payments at providers that have not been reconciled since then, oldest first. */
export const listUnreconciled = (
  q: Queryable,
  { askedBefore, openedAfter, limit }: { askedBefore: Date; openedAfter: Date; limit: number },
): Promise<PaymentKey[]> =>
  q.many(sql`
    select company_id, id from payments
    where status = 'paid' and channel <> 'crypto' and coalesce(reconciled_at, opened_at) <= ${askedBefore}
      and opened_at > ${openedAfter}
    order by coalesce(reconciled_at, opened_at) limit ${limit}`)

/** All paid payments at providers, a page at a time, however recently they were reconciled. */
export const listPaidAtProviders = (
  q: Queryable,
  { after, openedAfter, limit }: { after: PaymentKey; openedAfter: Date; limit: number },
): Promise<PaymentKey[]> =>
  q.many(sql`
    select company_id, id from payments
    where (company_id, id) > (${after.companyId}, ${after.id})
      and status = 'paid' and channel <> 'crypto' and opened_at > ${openedAfter}
    order by company_id, id limit ${limit}`)

export const updateReconciled = (q: Queryable, { companyId, id }: PaymentKey, now: Date) =>
  q.run(sql`update payments set reconciled_at = ${now} where company_id = ${companyId} and id = ${id}`)
