import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { PayerName } from './kyc-queries.ts'
import type { PayerKeys } from './payer-key.ts'

export type KycPolicy = { kycThresholdAmount: string | null; kycLimitAmount: string | null }

export async function findKycPolicy(q: Queryable, companyId: string): Promise<KycPolicy> {
  return q.one<KycPolicy>(sql`
    select kyc_threshold_amount, kyc_limit_amount from companies where id = ${companyId}`)
}

/**
 * Cents of EUR of the payer's orders that were accepted or paid since then, or can still be paid: who has long links
 * accepted and pays them all after a month spends it then. Leaves out orders that ended unpaid, and this one. No age
 * bounds what is read: an order may be held for months before it is paid, and one payer's orders are few.
 */
export async function sumSpendings(tx: Tx, payer: PayerName, since: Date, exceptOrderId: string): Promise<bigint> {
  const { units } = await tx.one<{ units: string }>(sql`
    select coalesce(sum(s.euro_units), 0) as units
    from kyc_spendings s join orders o on o.company_id = s.company_id and o.id = s.order_id
    where s.company_id = ${payer.companyId} and s.payer_key = ${payer.payerKey}
      and s.order_id <> ${exceptOrderId} and o.status not in ('EXPIRED', 'CANCELLED', 'ERROR')
      and (s.accepted_at > ${since} or o.paid_at > ${since}
        or o.status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION'))`)
  return BigInt(units)
}

export type Spending = { payerKey: string; euroUnits: bigint }

/** How an accepted order counts; undefined: its payer was unknown, or the company checked nobody. */
export async function findSpending(q: Queryable, companyId: string, orderId: string): Promise<Spending | undefined> {
  const row = await q.maybe<{ payerKey: string; euroUnits: string }>(sql`
    select payer_key, euro_units from kyc_spendings where company_id = ${companyId} and order_id = ${orderId}`)
  return row && { ...row, euroUnits: BigInt(row.euroUnits) }
}

export async function upsertSpending(
  tx: Tx,
  payer: PayerName,
  spending: { orderId: string; euroUnits: bigint; at: Date },
): Promise<void> {
  await tx.run(sql`
    insert into kyc_spendings (company_id, order_id, payer_key, euro_units, accepted_at)
    values (${payer.companyId}, ${spending.orderId}, ${payer.payerKey}, ${spending.euroUnits}, ${spending.at})
    on conflict (company_id, order_id) do update
      set payer_key = excluded.payer_key, euro_units = excluded.euro_units, accepted_at = excluded.accepted_at`)
}

/** Only if the order does not count yet. */
export async function insertSpending(
  tx: Tx,
  payer: PayerName,
  spending: { orderId: string; euroUnits: bigint; at: Date },
): Promise<void> {
  await tx.run(sql`
    insert into kyc_spendings (company_id, order_id, payer_key, euro_units, accepted_at)
    values (${payer.companyId}, ${spending.orderId}, ${payer.payerKey}, ${spending.euroUnits}, ${spending.at})
    on conflict (company_id, order_id) do nothing`)
}

/** Erases the payer's e-mail; decisions stay. */
export async function eraseKycEmail(tx: Tx, companyId: string, { all }: PayerKeys): Promise<number> {
  return tx.run(sql`
    update kyc_records set email_sealed = null, payer_message = null
    where company_id = ${companyId} and payer_key = any(${all}::text[]) and (email_sealed is not null or payer_message is not null)`)
}

export async function eraseKycEmailOfOrder(tx: Tx, companyId: string, orderId: string): Promise<number> {
  return tx.run(sql`
    update kyc_records set email_sealed = null, payer_message = null
    where company_id = ${companyId} and (email_sealed is not null or payer_message is not null)
      and id = (select kyc_id from kyc_orders where company_id = ${companyId} and order_id = ${orderId})`)
}

/** Erases e-mails past their retention time. @returns how many were erased */
export async function eraseOldKycEmails(q: Queryable, before: Date, limit: number): Promise<number> {
  return q.run(sql`
    update kyc_records set email_sealed = null, payer_message = null where (company_id, id) in
      (select company_id, id from kyc_records
        where email_sealed is not null and greatest(updated_at, email_saved_at) < ${before} limit ${limit})`)
}

export type SealedKyc = PayerName & { id: string; sealed: string }

/** Records sealed by a key other than the current one. */
export async function listKycsSealedOtherwise(q: Queryable, prefix: string, limit: number): Promise<SealedKyc[]> {
  return q.many<SealedKyc>(sql`
    select company_id, id, payer_key, email_sealed as sealed from kyc_records
    where email_sealed is not null and left(email_sealed, length(${prefix})) <> ${prefix} limit ${limit}`)
}

/** Stores the e-mail under the current key, and the payer's new lookup key unless it is taken. */
export async function updateKycSeal(tx: Tx, row: SealedKyc, next: { sealed: string; payerKey: string }): Promise<void> {
  await tx.run(sql`
    update kyc_records k set email_sealed = ${next.sealed},
      payer_key = case when exists (select 1 from kyc_records o where o.company_id = ${row.companyId}
        and o.payer_key = ${next.payerKey}) then k.payer_key else ${next.payerKey} end
    where k.company_id = ${row.companyId} and k.id = ${row.id} and k.email_sealed = ${row.sealed}`)
  await tx.run(sql`
    update kyc_spendings set payer_key = ${next.payerKey}
    where company_id = ${row.companyId} and payer_key = ${row.payerKey}`)
}
