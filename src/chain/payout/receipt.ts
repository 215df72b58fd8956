import type { Hex, Rpc } from '../endpoints/rpc.ts'
import { isFinal } from '../finality.ts'
import type { Network } from '../networks.ts'
import { blockCall, type RpcLog } from '../transfer-logs.ts'
import type { Agree, AnsweredBlock } from './agreement.ts'
import type { ChainView } from './payout-view.ts'

export type Receipt = {
  transactionHash: string
  blockHash: string
  blockNumber: Hex
  status: '0x0' | '0x1'
  logs: RpcLog[]
}

/** The receipts of these transactions, in order; null if not mined. @throws RpcError */
export const readReceipts = (rpc: Rpc, txHashes: readonly string[]): Promise<(Receipt | null)[]> =>
  rpc.batch<Receipt | null>(txHashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })))

const failedIn = (receipts: readonly (Receipt | null)[]): Receipt[] =>
  receipts.filter((receipt): receipt is Receipt => receipt?.status === '0x0')

/**
 * Those of these transactions that failed in their blocks, on whose word the nodes agree: one node that makes it up
 * would have a payout signed again and again, or wait for hours. @throws RpcError; ChainDoubt while they do not agree
 */
export async function listFailed({ agree }: { agree: Agree }, txHashes: readonly string[]): Promise<string[]> {
  if (txHashes.length === 0) return []
  const failed = await agree<Receipt[]>({
    look: async (rpc) => failedIn(await readReceipts(rpc, txHashes)),
    keyOf: (receipts) => receipts.map(({ transactionHash }) => transactionHash.toLowerCase()).join(),
    isHarmless: (own) => own.length === 0,
    blockOf: (own) => own.map(placeOf).reduce((left, right) => (right.number > left.number ? right : left)),
    subject: `transaction ${txHashes.at(-1)}`,
  })
  return failed.map(({ transactionHash }) => transactionHash.toLowerCase())
}

/** The block that a receipt names. */
export const placeOf = ({ blockNumber, blockHash }: Receipt): AnsweredBlock => ({
  number: BigInt(blockNumber),
  hash: blockHash,
})

/**
 * Whether a receipt is final by the network's rule for its amount.
 * @param view read before the receipt: a chain that changes in between then shows fewer confirmations, never more
 */
export async function isReceiptFinal(
  rpc: Rpc,
  network: Network,
  { receipt, view, units }: { receipt: Receipt; view: ChainView; units: bigint },
): Promise<boolean> {
  const blockNumber = BigInt(receipt.blockNumber)
  if (!isFinal(network, { units, transfer: { blockNumber, status: 'seen' }, head: view })) return false
  const [block] = await rpc.batch<{ hash: string } | null>([blockCall(blockNumber)])
  return block?.hash === receipt.blockHash
}
