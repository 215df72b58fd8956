import { type Queryable, sql, type Tx } from '../db/db.ts'

export type SealedPayer = { companyId: string; orderId: string; sealed: string }

export async function findSealedPayer(
  q: Queryable,
  companyId: string,
  orderId: string,
): Promise<SealedPayer | undefined> {
  return q.maybe<SealedPayer>(sql`
    select company_id, order_id, sealed from payer_information where company_id = ${companyId} and order_id = ${orderId}`)
}

export async function upsertSealedPayer(tx: Tx, row: SealedPayer, now: Date): Promise<void> {
  await tx.run(sql`
    insert into payer_information (company_id, order_id, sealed, updated_at)
    values (${row.companyId}, ${row.orderId}, ${row.sealed}, ${now})
    on conflict (company_id, order_id) do update set sealed = excluded.sealed, updated_at = excluded.updated_at`)
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
export async function updateSealedPayer(q: Queryable, row: SealedPayer, sealed: string): Promise<void> {
  await q.run(sql`
    update payer_information set sealed = ${sealed}
    where company_id = ${row.companyId} and order_id = ${row.orderId} and sealed = ${row.sealed}`)
}

export async function findIdentityThreshold(q: Queryable, companyId: string): Promise<string> {
  const row = await q.one<{ identityThresholdAmount: string }>(sql`
    select identity_threshold_amount from companies where id = ${companyId}`)
  return row.identityThresholdAmount
}
