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

/** In `refund_day_locks`, beside the spenders: the day of the whole company. */
const COMPANY = 'company'

/**
 * Locks the company's day until the transaction ends, because the days of its people and keys overlap.
 * @param spender whom an older node locks alone
 */
export async function lockRefundDay(tx: Tx, companyId: string, spender: string): Promise<void> {
  for (const name of [spender, COMPANY])
    await tx.run(sql`
      insert into refund_day_locks (company_id, spender) values (${companyId}, ${name})
      on conflict (company_id, spender) do update set spender = excluded.spender`)
}

export type Spent = {
  units: bigint
  /** By an API key, or by an account of a machine. */
  byServer: boolean
  /** The id of the person who refunded it, or who created the key; null: a machine's account, or not recorded. */
  personId: string | null
}

/** What was refunded since then without approval, by spender. */
export async function listSpentSince(tx: Tx, companyId: string, since: Date): Promise<Spent[]> {
  const rows = await tx.many<Omit<Spent, 'units'> & { units: string }>(sql`
    with spent as (
      select requested_by, coalesce(requested_role = 'Service', false) as by_server, sum(units) as units from refunds
      where company_id = ${companyId} and created_at > ${since} and approval is null
        and status not in ('rejected', 'refused')
      group by 1, 2)
    select s.units, s.by_server, case when s.by_server then k.created_by
      when starts_with(s.requested_by, 'user:') then substr(s.requested_by, 6) end as person_id
    from spent s left join api_keys k on s.by_server and s.requested_by = 'apiKey:' || k.id`)
  return rows.map((row) => ({ ...row, units: BigInt(row.units) }))
}
