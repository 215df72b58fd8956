import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/db.ts'
import { listBlocksAt, lockHead } from './deposits/deposit-audit-queries.ts'
import { askCalls, askLogs, MIN_SPAN } from './endpoints/ask-logs.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { audibleEndpoints, type Endpoints, silenceOf, verifyChain } from './endpoints/endpoints.ts'
import { readKeptLogs } from './endpoints/kept-logs.ts'
import { type Hex, RpcError, toWord } from './endpoints/rpc.ts'
import { dropGone } from './gone-transfers.ts'
import { confirmTransfers } from './hearing/checked-logs.ts'
import { Outvoted, type Panel } from './hearing/vote.ts'
import type { Network } from './networks.ts'
import type { FoundTransfer } from './transfer.ts'
import {
  type Block,
  blockCall,
  ChainDoubt,
  findNodeBlock,
  LaggingLogs,
  type LogFilter,
  type RpcBlock,
  type RpcLog,
  readTokens,
  readTransfers,
  TRANSFER_TOPIC,
  toBlock,
  toHex,
  toTopic,
} from './transfer-logs.ts'
import { upsertTransfers } from './transfer-queries.ts'

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

/**
 * Transfers of USDC out of any of these addresses, both blocks included. Those of nothing are left out: ERC-20 lets
 * anyone make one in another's name, to plant a look-alike address among real destinations.
 * @throws RpcError
 */
export const listOutgoing = (
  { usdcAddress }: Network,
  endpoint: Endpoint,
  { senders, ...range }: { senders: readonly string[]; from: bigint; to: bigint },
): Promise<RpcLog[]> => {
  const filter = { address: usdcAddress, topics: [TRANSFER_TOPIC, senders.map(toTopic)] }
  return inParts(endpoint, range, async (part) => {
    const logs = (await askCalls(endpoint, [{ method: 'eth_getLogs', params: [{ ...filter, ...part }] }])).flat()
    return logs.filter(({ data }) => toWord(data) > 0n)
  })
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
    return upsertTransfers(tx, fit)
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

type Again = { addresses: readonly string[]; from: bigint; to: bigint }

/** @throws RpcError where age is not what it lacks */
async function readKept(endpoint: Endpoint, filter: LogFilter, range: { from: bigint; to: bigint }) {
  try {
    return { logs: await readLogRange(endpoint, filter, range), kept: range.from }
  } catch (error) {
    if (!(error instanceof RpcError) || error.kind === 'unknown') throw error
    return readKeptLogs(endpoint, filter, range)
  }
}

/**
 * Records what one endpoint shows, also where it does not have the last block yet.
 * @returns the block from which on it keeps logs, and how many transfers had been missed; `isBehind`: it lacks the last
 * @throws RpcError, ChainDoubt
 */
async function readFrom(reader: ChainReader, endpoint: Endpoint, { addresses, from, to }: Again) {
  const { db, network, log } = reader
  const { chainId } = network
  const filter: LogFilter = { addresses, tokens: await readTokens(db, network), at: new Date(0) }
  const panel = panelOf(reader, endpoint)
  await verifyChain(endpoint, network)
  const isBehind = (await findNodeBlock(endpoint.rpc, to)) === null
  const { logs, kept } = await readKept(endpoint, filter, { from, to })
  const blocks = await fetchCanonical(endpoint, logs)
  const standing = logs.filter((one) => blocks.has(one.blockHash))
  const transfers = await readTransfers(db, { chainId, filter }, standing, blocks)
  const receivers = new Set(transfers.map(({ toAddress }) => toAddress))
  await dropGone(reader, panel, { addresses, from: kept })
  const halt = await confirmTransfers(panel, filter, { logs: standing, blocks: [...blocks.values()], receivers })
  if (halt) throw halt.doubt
  const added = await recordMissed(reader, transfers)
  if (added > 0) log.error({ chainId, added }, 'ALARM: missed transfers were found and recorded')
  return { kept, added, isBehind }
}

/** `whole`: those that said what came in all these blocks; `silent`: why one did not, although it is not age. */
export type Reread = { missed: number; whole: ReadonlySet<Endpoint>; silent: RpcError | undefined }

/**
 * Reads a range again for these addresses, from every endpoint, also one that failed a moment ago. A transfer that any
 * of them shows in a block of the chain is recorded, unless another one contradicts it. A recorded transfer whose block
 * is gone is orphaned. One that is behind, or refuses what it is not too old for, may know more: it is silent. So are
 * all where none has every one of these blocks, and while they contradict each other and no header shows who is right.
 */
export async function rereadEach(reader: ChainReader, again: Again): Promise<Reread> {
  // nodes keep block 0 longer than all that follow, and nothing is paid in it
  const range = { ...again, from: again.from > 0n ? again.from : 1n }
  const { from, to } = range
  const whole = new Set<Endpoint>()
  let missed = 0
  let silent: RpcError | undefined
  let cut: RpcError | undefined
  for (const endpoint of audibleEndpoints(reader)) {
    const subject = `endpoint ${endpoint.number}`
    try {
      const { kept, added, isBehind } = await readFrom(reader, endpoint, range)
      missed += added
      if (isBehind) silent ??= silenceOf(endpoint, `${subject} is behind: it has no block ${to} yet`)
      else if (kept === from) whole.add(endpoint)
      else {
        cut ??= new RpcError(
          'definite',
          `${subject} keeps blocks from ${kept} on, and no other one those from ${from} on`,
        )
        reader.onRefused?.(endpoint)
      }
    } catch (error) {
      if (error instanceof Outvoted) continue
      if (error instanceof RpcError || error instanceof LaggingLogs)
        silent ??= silenceOf(endpoint, error.message, error)
      else if (error instanceof ChainDoubt)
        return { missed, whole, silent: new RpcError('unknown', error.message, null, error) }
      else throw error
    }
  }
  return { missed, whole, silent: silent ?? (whole.size === 0 ? cut : undefined) }
}

/** @returns how many transfers had been missed @throws RpcError where one is silent, after the others were read */
export async function rescan(reader: ChainReader, again: Again): Promise<number> {
  const { missed, silent } = await rereadEach(reader, again)
  if (silent) throw silent
  return missed
}
