import { type Queryable, sql } from '../../../db/db.ts'
import { type PayoutTransaction, TRANSACTION_COLUMNS, type TransactionRow, toTransaction } from '../payout-queries.ts'

/** Of all relayers, oldest first; also those that belong to no payout. */
export async function listNonceTransactions(
  q: Queryable,
  chainId: number,
  nonce: bigint,
): Promise<PayoutTransaction[]> {
  const rows = await q.many<TransactionRow>(sql`
    select ${TRANSACTION_COLUMNS} from chain_payout_transactions
    where chain_id = ${chainId} and relayer_nonce = ${nonce} order by created_at, max_fee_wei`)
  return rows.map(toTransaction)
}
