import { type Queryable, sql, type Tx } from '../../../db/db.ts'
import type { Hex } from '../../endpoints/rpc.ts'
import { rowsWhere } from '../state/states.ts'

/** One signed transaction of the relayer; fees in wei. */
export type PayoutTransaction = {
  txHash: string
  /** Who signed it, in lower case. Null: an earlier version stored it, and its bytes tell. */
  signerAddress: string | null
  /** Null: it only uses up its account nonce. */
  payoutId: string | null
  relayerNonce: bigint
  raw: Hex
  maxFeeWei: bigint
  priorityFeeWei: bigint
  sentBlock: bigint | null
}

type TransactionRow = Omit<PayoutTransaction, 'maxFeeWei' | 'priorityFeeWei'> & {
  maxFeeWei: string
  priorityFeeWei: string
}

const TRANSACTION_COLUMNS = sql`tx_hash, signer_address, payout_id, relayer_nonce, raw, max_fee_wei, priority_fee_wei,
  sent_block`

const toTransaction = (row: TransactionRow): PayoutTransaction => ({
  ...row,
  maxFeeWei: BigInt(row.maxFeeWei),
  priorityFeeWei: BigInt(row.priorityFeeWei),
})

/** Oldest first. */
export async function listPayoutTransactions(q: Queryable, payoutId: string): Promise<PayoutTransaction[]> {
  const rows = await q.many<TransactionRow>(sql`
    select ${TRANSACTION_COLUMNS} from chain_payout_transactions where payout_id = ${payoutId} order by created_at, max_fee_wei`)
  return rows.map(toTransaction)
}

/** When each of its transactions was signed, oldest first. */
export const listSigningTimes = (q: Queryable, payoutId: string): Promise<{ txHash: string; createdAt: Date }[]> =>
  q.many(sql`
    select tx_hash, created_at from chain_payout_transactions where payout_id = ${payoutId}
    order by created_at, max_fee_wei`)

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

/** The same bytes, signed again, are the newest again. */
export const insertPayoutTransaction = (
  tx: Tx,
  chainId: number,
  transaction: Omit<PayoutTransaction, 'sentBlock' | 'signerAddress'> & { signerAddress: string },
  now: Date,
): Promise<number> =>
  tx.run(sql`
    insert into chain_payout_transactions (chain_id, tx_hash, signer_address, payout_id, relayer_nonce, raw, max_fee_wei,
      priority_fee_wei, created_at)
    values (${chainId}, ${transaction.txHash}, ${transaction.signerAddress.toLowerCase()}, ${transaction.payoutId},
      ${transaction.relayerNonce}, ${transaction.raw}, ${transaction.maxFeeWei}, ${transaction.priorityFeeWei}, ${now})
    on conflict (chain_id, tx_hash) do update set created_at = excluded.created_at, sent_block = null`)

export const updatePayoutTransactionSent = (
  q: Queryable,
  chainId: number,
  txHash: string,
  sentBlock: bigint,
): Promise<number> =>
  q.run(sql`
    update chain_payout_transactions set sent_block = coalesce(sent_block, ${sentBlock})
    where chain_id = ${chainId} and tx_hash = ${txHash}`)

/** The payout that one of our transactions belongs to; null: to none, undefined: it is not ours. */
export async function findPayoutOfTransaction(
  q: Queryable,
  chainId: number,
  txHash: string,
): Promise<string | null | undefined> {
  const row = await q.maybe<{ payoutId: string | null }>(sql`
    select payout_id from chain_payout_transactions where chain_id = ${chainId} and tx_hash = ${txHash}
    union all select id from chain_payouts where chain_id = ${chainId} and tx_hash = ${txHash} limit 1`)
  return row?.payoutId
}

/** The account nonce that a relayer's next payout gets; 0 before its first. */
export async function findNextNonce(q: Queryable, chainId: number, address: string): Promise<bigint> {
  const row = await q.maybe<{ nextNonce: bigint }>(sql`
    select next_nonce from chain_relayers where chain_id = ${chainId} and address = ${address.toLowerCase()}`)
  return row?.nextNonce ?? 0n
}

/** Whether an unfinished payout keeps this account nonce. */
export async function isRelayerNonceKept(
  q: Queryable,
  { chainId, address, nonce }: { chainId: number; address: string; nonce: bigint },
): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from chain_payouts where chain_id = ${chainId} and relayer_address = ${address} and relayer_nonce = ${nonce}
      and ${rowsWhere('isOpen')}`)
  return row !== undefined
}
