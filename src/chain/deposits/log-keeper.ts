import type { Endpoint } from '../endpoints/endpoint.ts'
import { isRpcError } from '../endpoints/rpc.ts'
import { type ChainReader, listOutgoing } from '../rescan.ts'
import { findFirstKept } from './block-edge.ts'
import { findBlockSince } from './block-since.ts'

type Since = { addresses: readonly string[]; at: Date; to: bigint }
type Keeper = { endpoint: Endpoint; from: bigint; isWhole: boolean }

/**
 * The last block before a time, whose state holds nothing of later; or the first one of which the endpoint keeps the
 * logs: nodes expire old ones, some with the headers. @throws RpcError, also where it refuses them for a moment
 */
async function findKept({ network }: ChainReader, endpoint: Endpoint, { addresses, at, to }: Since): Promise<Keeper> {
  const { number: since, isCutOff } = await findBlockSince(endpoint.rpc, at, to)
  const first = isCutOff || since === 0n ? since : since - 1n
  const senders = addresses.slice(0, 1)
  const read = (block: bigint) => listOutgoing(network, endpoint, { senders, from: block, to: block })
  const from = await findFirstKept(read, { from: first, to })
  return { endpoint, from, isWhole: from === first && !isCutOff }
}

/** Which of them to ask about the blocks since a time: one that keeps all of them, or the most. @throws RpcError */
export async function findKeeper(reader: ChainReader, endpoints: readonly Endpoint[], since: Since): Promise<Keeper> {
  const keepers: Keeper[] = []
  let failed: unknown
  for (const endpoint of endpoints) {
    const keeper = await findKept(reader, endpoint, since).catch((error: unknown) => {
      if (!isRpcError(error)) throw error
      failed = error
      return undefined
    })
    if (keeper?.isWhole) return keeper
    if (keeper) keepers.push(keeper)
  }
  const [first, ...others] = keepers
  if (!first) throw failed
  return others.reduce((best, one) => (one.from < best.from ? one : best), first)
}
