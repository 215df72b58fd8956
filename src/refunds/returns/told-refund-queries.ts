import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { Payment } from '../../payments/payment-queries.ts'

/** Stores the largest total that its provider reported as refunded, until it can be evaluated. */
export const updateToldRefunds = (tx: Tx, { companyId, id }: Payment, units: bigint): Promise<number> =>
  tx.run(sql`
    update payments set refunds_told_units = greatest(coalesce(refunds_told_units, 0), ${units}::numeric)
    where company_id = ${companyId} and id = ${id}`)

/** Null: nothing was told. */
export async function findToldRefunds(q: Queryable, companyId: string, id: string): Promise<bigint | null> {
  const row = await q.maybe<{ told: string | null }>(sql`
    select refunds_told_units as told from payments where company_id = ${companyId} and id = ${id}`)
  return row?.told == null ? null : BigInt(row.told)
}

/**
 * What was reported while one of our refunds was in progress, to be judged once: a later refusal must not judge it
 * again. Null: nothing was.
 */
export async function takeToldRefunds(tx: Tx, companyId: string, id: string): Promise<bigint | null> {
  const { told } = await tx.one<{ told: string | null }>(sql`
    select refunds_told_units as told from payments where company_id = ${companyId} and id = ${id} for update`)
  if (told === null) return null
  await tx.run(sql`update payments set refunds_told_units = null where company_id = ${companyId} and id = ${id}`)
  return BigInt(told)
}
