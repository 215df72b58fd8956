import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/db.ts'
import { listBlocksAt, lockHead } from './deposits/deposit-audit-queries.ts'
import { askCalls, askLogs, MIN_SPAN } from './endpoints/ask-logs.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { audibleEndpoints, type Endpoints, verifyChain } from './endpoints/endpoints.ts'
import { type Hex, RpcError } from './endpoints/rpc.ts'
import { dropGone } from './gone-transfers.ts'
import { confirmTransfers } from './hearing/checked-logs.ts'
import { Outvoted, type Panel } from './hearing/vote.ts'
import type { Network } from './networks.ts'
import {
  type Block,
  blockCall,
  ChainDoubt,
  LaggingLogs,
  type LogFilter,
  type RpcBlock,
  type RpcLog,
  readTransfers,
  TRANSFER_TOPIC,
  toBlock,
  toHex,
  tokensOf,
  toTopic,
} from './transfer-logs.ts'
import { type FoundTransfer, upsertTransfers } from './transfer-queries.ts'

export type ChainReader = {
  db: Db
  network: Network
  endpoints: Endpoints
  log: FastifyBaseLogger
  /** It does not keep such old blocks: it says nothing about them, where another one does. */
  onRefused?: (endpoint: Endpoint) => void
}

/** Queries a range of blocks, both included, in parts of a size that the node accepts. @throws RpcError */
async function inParts<Item>(
  endpoint: Endpoint,
  { from, to }: { from: bigint; to: bigint },
  ask: (part: { fromBlock: Hex; toBlock: Hex }) => Promise<readonly Item[]>,
): Promise<Item[]> {
  const items: Item[] = []
  let start = from
  let span = endpoint.limits.blockSpan
  while (start <= to) {
    const end = start + span - 1n < to ? start + span - 1n : to
    try {
      items.push(...(await ask({ fromBlock: toHex(start), toBlock: toHex(end) })))
      start = end + 1n
    } catch (error) {
      const { blockSpan } = endpoint.limits
      const isSmall = span <= MIN_SPAN && span > 1n // of fewer, nothing is kept
      if (!(error instanceof RpcError) || !error.refused || (blockSpan >= span && !isSmall)) throw error
      span = blockSpan < span ? blockSpan : span / 2n
    }
  }
  return items
}

/** All logs of a filter in a range, split into sizes the node accepts. @throws RpcError */
export const readLogRange = (
  endpoint: Endpoint,
  filter: LogFilter,
  range: { from: bigint; to: bigint },
): Promise<RpcLog[]> =>
  inParts(endpoint, range, async (part) => {
    const [logs = []] = await askLogs(endpoint, filter, [part])
    return logs
  })

/** Transfers of USDC out of any of these addresses, both blocks included. @throws RpcError */
export const listOutgoing = (
  { usdcAddress }: Network,
  endpoint: Endpoint,
  { senders, ...range }: { senders: readonly string[]; from: bigint; to: bigint },
): Promise<RpcLog[]> => {
  const filter = { address: usdcAddress, topics: [TRANSFER_TOPIC, senders.map(toTopic)] }
  return inParts(endpoint, range, async (part) =>
    (await askCalls(endpoint, [{ method: 'eth_getLogs', params: [{ ...filter, ...part }] }])).flat(),
  )
}

/** The blocks that contain the logs, if they are part of the chain. */
export async function fetchCanonical(endpoint: Endpoint, logs: readonly RpcLog[]): Promise<Map<string, Block>> {
  const numbers = [...new Set(logs.map((log) => BigInt(log.blockNumber)))]
  const answers = await endpoint.rpc.batch<RpcBlock | null>(numbers.map(blockCall))
  const blocks = answers.flatMap((block) => (block ? [toBlock(block)] : []))
  return new Map(blocks.map((block) => [block.hash, block]))
}

/**
 * Records transfers that the scanner missed, with the scanner's own statement; only in blocks that are already read and
 * on the scanner's chain. @returns how many were new
 */
export function recordMissed(
  { db, network }: Pick<ChainReader, 'db' | 'network'>,
  transfers: readonly FoundTransfer[],
): Promise<number> {
  const { chainId } = network
  return db.tx(async (tx) => {
    const head = await lockHead(tx, chainId)
    if (!head) return 0
    const numbers = [...new Set(transfers.map(({ blockNumber }) => blockNumber))]
    const known = new Map((await listBlocksAt(tx, chainId, numbers)).map(({ number, hash }) => [number, hash]))
    const fit = transfers.filter(
      ({ blockNumber, blockHash }) => blockNumber <= head.number && (known.get(blockNumber) ?? blockHash) === blockHash,
    )
    return fit.length === 0 ? 0 : upsertTransfers(tx, fit)
  })
}

/** The panel of endpoints for queries outside of the scanner: the others confirm these too. */
export const panelOf = (
  { endpoints, network, log }: Pick<ChainReader, 'endpoints' | 'network' | 'log'>,
  endpoint: Endpoint,
): Panel => ({
  endpoints,
  endpoint,
  onOutvoted(one, words) {
    const alarm = { chainId: network.chainId, endpoint: one.number }
    if (one.noteWrong('outvoted')) log.error(alarm, `ALARM: the endpoint is contradicted about ${words}`)
  },
})

async function hasBlock({ rpc }: Endpoint, number: bigint): Promise<boolean> {
  const { method, params } = blockCall(number)
  return (await rpc.call<RpcBlock | null>(method, ...params)) !== null
}

/**
 * Reads a range again for these addresses, from every endpoint, also one that failed a moment ago. A transfer that any
 * of them shows in a block of the chain is recorded, unless another one contradicts it. A recorded transfer whose block
 * is gone is orphaned.
 * @returns how many transfers had been missed
 * @throws RpcError where one of them does not answer, after the others were read; also where none has the last of these
 *   blocks, and while the endpoints contradict each other and no header shows which one is right
 */
export async function rescan(
  reader: ChainReader,
  { addresses, from, to }: { addresses: readonly string[]; from: bigint; to: bigint },
): Promise<number> {
  const { db, network, log } = reader
  const filter: LogFilter = { addresses, tokens: tokensOf(network), at: new Date(0) }
  let missed = 0
  let refused: unknown
  let silent: RpcError | undefined
  let read = 0
  for (const endpoint of audibleEndpoints(reader)) {
    const panel = panelOf(reader, endpoint)
    try {
      await verifyChain(endpoint, network)
      const isWhole = await hasBlock(endpoint, to)
      const logs = await readLogRange(endpoint, filter, { from, to })
      const blocks = await fetchCanonical(endpoint, logs)
      const standing = logs.filter((one) => blocks.has(one.blockHash))
      const transfers = await readTransfers(db, { chainId: network.chainId, filter }, standing, blocks)
      const receivers = new Set(transfers.map(({ toAddress }) => toAddress))
      await dropGone(reader, panel, { addresses, from })
      const halt = await confirmTransfers(panel, filter, { logs: standing, blocks: [...blocks.values()], receivers })
      if (halt) throw halt.doubt
      const added = await recordMissed(reader, transfers)
      if (added > 0) log.error({ chainId: network.chainId, added }, 'ALARM: missed transfers were found and recorded')
      missed += added
      if (isWhole) read += 1
      else refused = new RpcError('unknown', `endpoint ${endpoint.number} is behind: it has no block ${to} yet`)
    } catch (error) {
      if (error instanceof Outvoted) continue
      if (error instanceof LaggingLogs) {
        refused = new RpcError('unknown', error.message, null, error)
        continue
      }
      if (error instanceof ChainDoubt) throw new RpcError('unknown', error.message, null, error)
      if (!(error instanceof RpcError)) throw error
      if (error.kind === 'unknown') {
        silent ??= error
        continue
      }
      // one that does not keep such old blocks says nothing about them
      refused = error
      reader.onRefused?.(endpoint)
    }
  }
  if (silent) throw silent
  if (read === 0 && refused !== undefined) throw refused
  return missed
}
