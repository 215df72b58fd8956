import { type Queryable, sql, type Tx } from '../db/db.ts'

export type TransactionClaim = {
  network: number
  txHash: string
  /** The refund or the settlement. */
  causeId: string
}

/**
 * Reserves a named transaction for one refund or settlement.
 * @returns false when another one has it
 */
export async function claimTransaction(tx: Tx, { network, txHash, causeId }: TransactionClaim): Promise<boolean> {
  await tx.run(sql`
    insert into claimed_transactions (network, tx_hash, cause_id) values (${network}, ${txHash}, ${causeId})
    on conflict do nothing`)
  const row = await tx.maybe<{ causeId: string }>(sql`
    select cause_id from claimed_transactions where network = ${network} and tx_hash = ${txHash}`)
  return row?.causeId === causeId
}

/** Releases a wrong transaction, so that it can prove something else. */
export const releaseTransaction = (q: Queryable, { network, txHash, causeId }: TransactionClaim): Promise<number> =>
  q.run(sql`
    delete from claimed_transactions where network = ${network} and tx_hash = ${txHash} and cause_id = ${causeId}`)
