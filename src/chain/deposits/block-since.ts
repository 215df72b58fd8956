import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import { findNodeBlock } from '../transfer-logs.ts'
import { checkEdge } from './block-edge.ts'

/**
 * The first block mined at a time or later, or the head where there is none. Nodes expire old blocks (EIP-4444): what
 * one lacks below the head counts as older than the time, and `isCutOff` says that it may not be.
 * @throws RpcError, also where it lacks the head, and where it lacks blocks for a moment, whatever the reason
 */
export async function findBlockSince(rpc: Rpc, at: Date, head: bigint): Promise<{ number: bigint; isCutOff: boolean }> {
  const seconds = BigInt(Math.floor(at.getTime() / 1000))
  const lacked = new Set<bigint>()
  const isBefore = async (number: bigint): Promise<boolean> => {
    const block = await findNodeBlock(rpc, number)
    if (block) return BigInt(block.timestamp) < seconds
    if (number === head) throw new RpcError('unknown', `the node lacks block ${head}`)
    lacked.add(number)
    return true
  }
  // down from the head: most times are recent, and what was expired is far below
  let [before, since] = [head, head + 1n]
  for (let step = 1n; before >= 0n && !(await isBefore(before)); step *= 2n) {
    since = before
    before = before > step ? before - step : -1n
  }
  while (since - before > 1n) {
    const middle = (before + since) / 2n
    if (await isBefore(middle)) before = middle
    else since = middle
  }
  const isCutOff = lacked.has(before)
  if (isCutOff) await checkEdge(async (number) => !(await findNodeBlock(rpc, number)), { before, since })
  return { number: since < head ? since : head, isCutOff }
}
