import type { Hex, Rpc } from '../endpoints/rpc.ts'
import { isFinal } from '../finality.ts'
import type { Network } from '../networks.ts'
import { blockCall, type RpcLog } from '../transfer-logs.ts'
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
