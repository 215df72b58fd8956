import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { Payment } from './payment-queries.ts'

/* Payments whose order ended or is paid otherwise, until their provider lets us close them. */

/** An order ended: its current attempt is abandoned at once, ahead of schedule. */
export async function wakePaymentOfOrder(
  q: Queryable,
  order: { companyId: string; paymentId: string | null },
  now: Date,
): Promise<void> {
  if (order.paymentId === null) return
  await q.run(sql`
    update payments set next_check_at = ${now}, checks = 0, poll_again = lease_until is not null,
      abandoned_at = coalesce(abandoned_at, ${now})
    where company_id = ${order.companyId} and id = ${order.paymentId} and next_check_at is not null`)
}

/** Abandoned payments of the same company and channel that are not closed yet; an index has the same condition. */
export async function countClosing(q: Queryable, { companyId, channel }: Payment): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(sql`
    select count(*) as total from payments
    where company_id = ${companyId} and channel = ${channel}
      and (status = 'closing' or (status in ('creating', 'awaiting', 'confirming') and abandoned_at is not null))`)
  return Number(total)
}

/** Notes when a payment began to be closed, unless something noted it before. */
export async function markPaymentAbandoned(q: Queryable, { companyId, id }: Payment, now: Date): Promise<void> {
  await q.run(sql`
    update payments set abandoned_at = ${now}
    where company_id = ${companyId} and id = ${id} and abandoned_at is null`)
}

/** Reschedules the poll of an abandoned payment that is not closed yet. */
export async function updatePaymentAbandoned(
  tx: Tx,
  { companyId, id }: Payment,
  { abandonedAt, nextCheckAt }: { abandonedAt: Date; nextCheckAt: Date },
): Promise<void> {
  await tx.run(sql`
    update payments set abandoned_at = ${abandonedAt}, next_check_at = ${nextCheckAt}
    where company_id = ${companyId} and id = ${id}`)
}
