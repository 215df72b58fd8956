import type { Rpc } from '../endpoints/rpc.ts'
import { blockCall, type RpcBlock } from '../transfer-logs.ts'

/** The last block mined before a time. @throws RpcError */
export async function findBlockBefore(rpc: Rpc, at: Date, head: bigint): Promise<bigint> {
  const seconds = BigInt(Math.floor(at.getTime() / 1000))
  let low = 0n
  let high = head
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    const { method, params } = blockCall(middle)
    const block = await rpc.call<RpcBlock | null>(method, ...params)
    if (block && BigInt(block.timestamp) < seconds) low = middle
    else high = middle - 1n
  }
  return low
}
