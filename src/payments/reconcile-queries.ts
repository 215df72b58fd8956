import { type Queryable, sql } from '../db/db.ts'

type PaymentKey = { companyId: string; id: string }

/**
 * Payments at providers with money that counts, or that a person decided about, and that are not polled for it: as in
 * their index. It includes what `wasPaid` does not; what their providers say of that changes nothing.
 */
const HAS_COUNTED = sql`channel <> 'crypto'
  and (status = 'paid' or (status in ('closed', 'failed') and received_units > 0))`

/** Those that have not been reconciled since then, oldest first. */
export const listUnreconciled = (
  q: Queryable,
  { askedBefore, openedAfter, limit }: { askedBefore: Date; openedAfter: Date; limit: number },
): Promise<PaymentKey[]> =>
  q.many(sql`
    select company_id, id from payments
    where ${HAS_COUNTED} and coalesce(reconciled_at, opened_at) <= ${askedBefore} and opened_at > ${openedAfter}
      -- follows from that, and reads no payment that was asked about for the last time long ago
      and coalesce(reconciled_at, opened_at) > ${openedAfter}
    order by coalesce(reconciled_at, opened_at) limit ${limit}`)

/** All of them, a page at a time, however recently they were reconciled. */
export const listReconcilable = (
  q: Queryable,
  { after, openedAfter, limit }: { after: PaymentKey; openedAfter: Date; limit: number },
): Promise<PaymentKey[]> =>
  q.many(sql`
    select company_id, id from payments
    where (company_id, id) > (${after.companyId}, ${after.id})
      and ${HAS_COUNTED} and opened_at > ${openedAfter}
    order by company_id, id limit ${limit}`)

export const updateReconciled = (q: Queryable, { companyId, id }: PaymentKey, now: Date) =>
  q.run(sql`update payments set reconciled_at = ${now} where company_id = ${companyId} and id = ${id}`)
