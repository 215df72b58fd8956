import { type Queryable, sql, type Tx } from '../../db/db.ts'

/** USDC as decimal text; null: no limit. */
export type RoleLimit = { single: string | null; day: string | null }
export type RefundPolicy = {
  refundApproval: boolean
  refundLimitUnits: string
  /** By role; a missing role has no limit. */
  refundLimits: Record<string, RoleLimit>
}

export async function findRefundPolicy(q: Queryable, companyId: string): Promise<RefundPolicy> {
  return q.one<RefundPolicy>(
    sql`select refund_approval, refund_limit_units, refund_limits from companies where id = ${companyId}`,
  )
}

/** Locks this spender’s day until the transaction ends. */
export async function lockRefundDay(tx: Tx, companyId: string, spender: string): Promise<void> {
  await tx.run(sql`
    insert into refund_day_locks (company_id, spender) values (${companyId}, ${spender})
    on conflict (company_id, spender) do update set spender = excluded.spender`)
}

/** Units refunded since then without approval. `requestedBy` null: by the company's API keys. */
export async function sumRefundsOfDay(
  tx: Tx,
  { companyId, requestedBy, since }: { companyId: string; requestedBy: string | null; since: Date },
): Promise<bigint> {
  const { units } = await tx.one<{ units: string }>(sql`
    select coalesce(sum(units), 0) as units from refunds
    where company_id = ${companyId} and created_at > ${since} and approval is null
      and status not in ('rejected', 'refused')
      and case when ${requestedBy}::text is null then requested_role = 'Service' else requested_by = ${requestedBy} end`)
  return BigInt(units)
}
