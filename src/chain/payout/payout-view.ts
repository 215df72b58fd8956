import { tagsOf } from '../endpoints/network-check.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { blockCall } from '../transfer-logs.ts'

/** The chain as a node saw it at one moment. */
export type ChainView = {
  number: bigint
  /** Timestamp of the newest block, in seconds. */
  timestamp: bigint
  /** Wei per gas; 0 where the chain has none. */
  baseFee: bigint
  /** Null if the network's rules do not use it. */
  safeNumber: bigint | null
  finalizedNumber: bigint | null
}

type BlockHead = { number: Hex; timestamp: Hex; baseFeePerGas?: Hex }

/** @throws RpcError */
export async function readChainView(rpc: Rpc, network: Network): Promise<ChainView> {
  const tags = tagsOf(network)
  const [head, ...tagged] = await rpc.batch<BlockHead | null>(['latest', ...tags].map(blockCall))
  if (!head) throw new Error('the node knows no newest block')
  const numberOf = (tag: 'safe' | 'finalized'): bigint | null => {
    const block = tagged[tags.indexOf(tag)]
    return block ? BigInt(block.number) : null
  }
  return {
    number: BigInt(head.number),
    timestamp: BigInt(head.timestamp),
    baseFee: BigInt(head.baseFeePerGas ?? '0x0'),
    safeNumber: numberOf('safe'),
    finalizedNumber: numberOf('finalized'),
  }
}
