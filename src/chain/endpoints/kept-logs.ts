import { type LogFilter, type RpcLog, toHex } from '../transfer-logs.ts'
import { askLogs } from './ask-logs.ts'
import type { Endpoint } from './endpoint.ts'
import { type Hex, RpcError } from './rpc.ts'

/** How often it must refuse the same. */
const CHECKS = 2

type Range = { from: bigint; to: bigint }

async function askPart(endpoint: Endpoint, filter: LogFilter, { from, to }: Range): Promise<RpcLog[]> {
  const [logs = []] = await askLogs(endpoint, filter, [{ fromBlock: toHex(from), toBlock: toHex(to) }])
  return logs
}

type Taken = { logs: RpcLog[] } | { refusal: RpcError }

/** @throws RpcError which is no refusal */
async function take(endpoint: Endpoint, filter: LogFilter, range: Range): Promise<Taken> {
  try {
    return { logs: await askPart(endpoint, filter, range) }
  } catch (error) {
    if (error instanceof RpcError && error.refused) return { refusal: error }
    throw error
  }
}

/**
 * Whether age is why a node refuses a block: it refuses it each time it is asked, in so many words, and answers for a
 * later one. One that refuses some questions for a moment would hide what is below. @throws RpcError
 */
async function checkAge(endpoint: Endpoint, filter: LogFilter, { refused, first, later }: Refused): Promise<void> {
  let refusal = first
  for (let check = 0; check < CHECKS; check += 1) {
    // one that fell behind, as part of a pool may, lacks it because it is too new
    if (refusal.kind === 'unknown' || later <= refused) throw refusal
    await askPart(endpoint, filter, { from: later, to: later })
    const again = await take(endpoint, filter, { from: refused, to: refused })
    if ('logs' in again) throw new RpcError('unknown', `the node refused block ${refused} for a moment`)
    refusal = again.refusal
  }
}

/** `later`: a block that it has. */
type Refused = { refused: bigint; first: RpcError; later: bigint }

/**
 * Logs of a range from the first block on of which a node keeps them; `kept` is that block, or the one after the range.
 * It is read from its end down to what the node refuses: nodes expire old blocks while they are read, and some refuse
 * only those in which something fits the filter (reth, of pruned receipts: its pull request 27002), so that no single
 * question shows where they begin. @throws RpcError where age is not what it lacks
 */
export async function readKeptLogs(
  endpoint: Endpoint,
  filter: LogFilter,
  { from, to }: Range,
): Promise<{ logs: RpcLog[]; kept: bigint }> {
  const parts: RpcLog[][] = []
  let end = to
  let span = endpoint.limits.blockSpan
  while (end >= from) {
    const start = end - span + 1n > from ? end - span + 1n : from
    const taken = await take(endpoint, filter, { from: start, to: end })
    if ('logs' in taken) {
      parts.unshift(taken.logs)
      end = start - 1n
      const { blockSpan } = endpoint.limits
      span = span * 2n < blockSpan ? span * 2n : blockSpan
    } else if (start === end) {
      const later = parts.length > 0 ? to : BigInt(await endpoint.rpc.call<Hex>('eth_blockNumber'))
      await checkAge(endpoint, filter, { refused: end, first: taken.refusal, later })
      break
    } else span = (end - start + 1n) / 2n
  }
  return { logs: parts.flat(), kept: end + 1n }
}
