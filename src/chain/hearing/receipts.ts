import { bloomOf, readBloom } from '../bloom.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { RpcLog } from '../transfer-logs.ts'

type Receipt = { logs: RpcLog[] }

/** Not every node supports block receipts; all know those of its transactions. */
async function readReceipts(rpc: Rpc, hash: string): Promise<readonly (Receipt | null)[]> {
  try {
    return (await rpc.call<Receipt[] | null>('eth_getBlockReceipts', hash)) ?? [null]
  } catch (error) {
    if (!(error instanceof RpcError && error.kind === 'definite')) throw error
  }
  const block = await rpc.call<{ transactions?: string[] } | null>('eth_getBlockByHash', hash, false)
  if (!block?.transactions) return [null]
  return rpc.batch(block.transactions.map((one) => ({ method: 'eth_getTransactionReceipt', params: [one] })))
}

/**
 * All logs of a block, from its receipts; undefined if the node does not return them all, `unsupported` if it never
 * does.
 * @throws RpcError
 */
export async function readAllLogs(
  rpc: Rpc,
  block: { hash: string; logsBloom: string | undefined },
): Promise<RpcLog[] | 'unsupported' | undefined> {
  const header = readBloom(block.logsBloom)
  if (!header) return undefined
  const receipts = await readReceipts(rpc, block.hash).catch((error: unknown) => {
    if (error instanceof RpcError && error.kind === 'definite') return 'unsupported' as const
    throw error
  })
  if (receipts === 'unsupported') return receipts
  const logs = receipts.flatMap((receipt) => receipt?.logs ?? [])
  return bloomOf(logs).equals(header) ? logs : undefined
}
