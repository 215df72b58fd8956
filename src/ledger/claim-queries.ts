import { type Queryable, sql, type Tx } from '../db/db.ts'

export type TransactionClaim = {
  companyId: string
  network: number
  txHash: string
  /** Id of the refund or settlement. */
  causeId: string
}

/**
 * Reserves a named transaction for one refund or settlement, and locks the claim until the transaction ends.
 * @returns `made`: by this call; `kept`: this refund or settlement had it before; `taken`: another one has it
 */
export async function claimTransaction(
  tx: Tx,
  { network, txHash, causeId }: TransactionClaim,
): Promise<'made' | 'kept' | 'taken'> {
  // in PostgreSQL a row that was just inserted has no xmax, an existing one does
  const row = await tx.one<{ causeId: string; made: boolean }>(sql`
    insert into claimed_transactions as c (network, tx_hash, cause_id) values (${network}, ${txHash}, ${causeId})
    on conflict (network, tx_hash) do update set cause_id = c.cause_id
    returning cause_id, xmax = 0 as made`)
  if (row.causeId !== causeId) return 'taken'
  return row.made ? 'made' : 'kept'
}

/**
 * Releases a wrong transaction, so that it can prove something else; never one that its refund or settlement follows.
 */
export async function releaseTransaction(tx: Tx, claim: TransactionClaim): Promise<void> {
  const { companyId, network, txHash, causeId } = claim
  // lock first: the next statement then sees what earlier lock holders wrote
  await tx.run(sql`select 1 from claimed_transactions where network = ${network} and tx_hash = ${txHash} for update`)
  const { followed } = await tx.one<{ followed: boolean }>(sql`
    select exists (select 1 from refunds where company_id = ${companyId} and id = ${causeId} and tx_hash = ${txHash})
      or exists (select 1 from settlements where company_id = ${companyId} and id = ${causeId} and tx_hash = ${txHash})
      as followed`)
  if (followed) return
  await tx.run(sql`
    delete from claimed_transactions where network = ${network} and tx_hash = ${txHash} and cause_id = ${causeId}`)
}

/** Whether a person has named, or is naming, a transaction that paid this refund or settlement. */
export async function isTransactionNamed(
  tx: Tx,
  { network, causeId }: { network: number; causeId: string },
): Promise<boolean> {
  const { named } = await tx.one<{ named: boolean }>(sql`
    select exists (select 1 from claimed_transactions where network = ${network} and cause_id = ${causeId}) as named`)
  return named
}

/** Whether a person named this transaction as the refund or settlement of this amount, and the check passed. */
export async function isTransactionFollowed(
  q: Queryable,
  { network, txHash, units }: { network: number; txHash: string; units: string },
): Promise<boolean> {
  const { followed } = await q.one<{ followed: boolean }>(sql`
    select exists (select 1 from claimed_transactions c join refunds r on r.id = c.cause_id and r.tx_hash = c.tx_hash
        where c.network = ${network} and c.tx_hash = ${txHash} and r.by_hand
          and r.units = ${units}::numeric)
      or exists (select 1 from claimed_transactions c join settlements s on s.id = c.cause_id and s.tx_hash = c.tx_hash
        where c.network = ${network} and c.tx_hash = ${txHash} and s.by_hand
          and coalesce(s.left_units, s.units) = ${units}::numeric) as followed`)
  return followed
}
