import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { Seal } from './payer-seal.ts'

export type SealedPayer = { companyId: string; orderId: string; sealed: string }

export async function findSealedPayer(
  q: Queryable,
  companyId: string,
  orderId: string,
): Promise<SealedPayer | undefined> {
  return q.maybe<SealedPayer>(sql`
    select company_id, order_id, sealed from payer_information where company_id = ${companyId} and order_id = ${orderId}`)
}

export async function upsertSealedPayer(
  tx: Tx,
  { companyId, orderId, sealed, emailKey }: Omit<SealedPayer, 'sealed'> & Seal,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    insert into payer_information (company_id, order_id, sealed, email_key, keyed_for, updated_at)
    values (${companyId}, ${orderId}, ${sealed}, ${emailKey}, split_part(${sealed}, '.', 3), ${now})
    on conflict (company_id, order_id) do update set sealed = excluded.sealed, email_key = excluded.email_key,
      keyed_for = excluded.keyed_for, updated_at = excluded.updated_at`)
}

/** @returns whether there was anything to erase */
export async function deletePayer(tx: Tx, companyId: string, orderId: string): Promise<boolean> {
  return (
    (await tx.run(sql`delete from payer_information where company_id = ${companyId} and order_id = ${orderId}`)) > 0
  )
}

/** Erases information past its retention time. @returns how many were erased */
export async function deleteOldPayers(q: Queryable, before: Date, limit: number): Promise<number> {
  return q.run(sql`
    delete from payer_information where (company_id, order_id) in
      (select company_id, order_id from payer_information where updated_at < ${before} limit ${limit})`)
}

/** Rows sealed by a key other than the current one. */
export async function listPayersSealedOtherwise(q: Queryable, prefix: string, limit: number): Promise<SealedPayer[]> {
  return q.many<SealedPayer>(sql`
    select company_id, order_id, sealed from payer_information where left(sealed, length(${prefix})) <> ${prefix} limit ${limit}`)
}

/** Only if the row is unchanged since it was read. */
export async function updateSealedPayer(q: Queryable, row: SealedPayer, { sealed, emailKey }: Seal): Promise<void> {
  await q.run(sql`
    update payer_information set sealed = ${sealed}, email_key = ${emailKey}, keyed_for = split_part(${sealed}, '.', 3)
    where company_id = ${row.companyId} and order_id = ${row.orderId} and sealed = ${row.sealed}`)
}

/** Rows whose key is missing or belongs to an earlier text. First condition and order are those of the index. */
export async function listUnkeyedPayers(
  q: Queryable,
  prefixes: readonly string[],
  limit: number,
): Promise<SealedPayer[]> {
  return q.many<SealedPayer>(sql`
    select company_id, order_id, sealed from payer_information
    where keyed_for is distinct from split_part(sealed, '.', 3)
      and exists (select from unnest(${prefixes}::text[]) as p (prefix) where starts_with(sealed, prefix))
    order by updated_at limit ${limit}`)
}

/** Only if the row is unchanged since it was read, and no other worker has keyed it. */
export async function updateEmailKey(q: Queryable, row: SealedPayer, emailKey: string | null): Promise<void> {
  await q.run(sql`
    update payer_information set email_key = ${emailKey}, keyed_for = split_part(sealed, '.', 3)
    where company_id = ${row.companyId} and order_id = ${row.orderId} and sealed = ${row.sealed}
      and keyed_for is distinct from split_part(sealed, '.', 3)`)
}

export async function findIdentityThreshold(q: Queryable, companyId: string): Promise<string> {
  const row = await q.one<{ identityThresholdAmount: string }>(sql`
    select identity_threshold_amount from companies where id = ${companyId}`)
  return row.identityThresholdAmount
}
