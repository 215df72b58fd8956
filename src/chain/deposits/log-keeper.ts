import type { Endpoint } from '../endpoints/endpoint.ts'
import { isRpcError, RpcError } from '../endpoints/rpc.ts'
import { type ChainReader, listOutgoing } from '../rescan.ts'
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
  const lacks = (block: bigint): Promise<boolean> =>
    listOutgoing(network, endpoint, { senders, from: block, to: block }).then(
      () => false,
      (error: unknown) => {
        if (error instanceof RpcError && error.kind === 'definite') return true
        throw error
      },
    )
  if (!(await lacks(first))) return { endpoint, from: first, isWhole: !isCutOff }
  let [lacked, from] = [first, to]
  while (from - lacked > 1n) {
    const middle = (lacked + from) / 2n
    if (await lacks(middle)) lacked = middle
    else from = middle
  }
  // only age has an edge: what it refuses for a moment is not expired
  const refuses = `endpoint ${endpoint.number} refuses logs up to block`
  if (await lacks(to)) throw new RpcError('unknown', `${refuses} ${to}`)
  if (!(await lacks(lacked))) throw new RpcError('unknown', `${refuses} ${lacked} only for a moment`)
  return { endpoint, from, isWhole: false }
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
