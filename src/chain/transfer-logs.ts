import type { Queryable } from '../db/db.ts'
import { countWatched, listAskedTokens, listWatchedAddresses, listWatchedAmong } from './deposits/deposit-queries.ts'
import { labelOf } from './deposits/token-name.ts'
import { type Hex, type Rpc, type RpcCall, RpcError } from './endpoints/rpc.ts'
import type { Network } from './networks.ts'
import type { FoundTransfer } from './transfer.ts'

/** keccak256("Transfer(address,address,uint256)") */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export type Block = { number: bigint; hash: string; parentHash: string; at: Date; logsBloom: string | undefined }

export type RpcBlock = { number: Hex; hash: Hex; parentHash: Hex; timestamp: Hex; logsBloom?: string }

/** The node contradicted itself or us. The payments are fine: scan again at the next tick. */
export class ChainDoubt extends Error {
  override readonly name: string = 'ChainDoubt'
}

/** What one endpoint says does not fit together, or not with the blocks we have: another one may read on. */
export class ReaderDoubt extends ChainDoubt {
  override readonly name: string = 'ReaderDoubt'
}

/**
 * It does not have the newest block that it named itself, as where several nodes stand behind one address: another one
 * may read on, and nothing is wrong with this one.
 */
export class LackingTip extends ReaderDoubt {
  override readonly name = 'LackingTip'
}

/** Its logs lack a transfer that is in the block, as where an index is late: another one may read on. */
export class LaggingLogs extends ReaderDoubt {
  override readonly name = 'LaggingLogs'
}

export const toBlock = (block: RpcBlock): Block => ({
  number: BigInt(block.number),
  hash: block.hash,
  parentHash: block.parentHash,
  at: new Date(Number(BigInt(block.timestamp)) * 1000),
  logsBloom: block.logsBloom,
})

export const blockCall = (number: bigint | string): RpcCall => ({
  method: 'eth_getBlockByNumber',
  params: [typeof number === 'bigint' ? toHex(number) : number, false],
})

/** Null where the node lacks it, or refuses it, as one may that keeps no such old block. @throws RpcError */
export async function findNodeBlock(rpc: Rpc, number: bigint): Promise<RpcBlock | null> {
  const { method, params } = blockCall(number)
  try {
    return await rpc.call<RpcBlock | null>(method, ...params)
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'definite') return null
    throw error
  }
}

export const toHex = (number: bigint): Hex => `0x${number.toString(16)}`

export type RpcLog = {
  address: string
  topics: string[]
  data: string
  blockHash: string
  blockNumber: Hex
  transactionHash: string
  logIndex: Hex
  removed?: boolean
}

/** The same for the same log. */
export const logKey = (log: RpcLog): string =>
  [log.transactionHash, log.logIndex, log.address, log.topics.join(), log.data].join().toLowerCase()

/**
 * Which logs to query: those of the watched addresses, or all transfers of the tokens, which are then matched against
 * the table. Build it after the blocks exist: an address assigned later cannot have been paid in them.
 */
export type LogFilter = {
  addresses: readonly string[] | 'all'
  /** Symbol by contract, in lower case; empty: all contracts. */
  tokens: ReadonlyMap<string, string>
  at: Date
}

/**
 * @param at no later than the first block was mined: every address watched then is included
 * @param most maximum number of addresses to name (`LogCost`)
 */
export async function readLogFilter(
  q: Queryable,
  network: Network,
  { at, most }: { at: Date; most: number },
): Promise<LogFilter> {
  const tokens = await readTokens(q, network)
  if ((await countWatched(q, at, most + 1)) > most) return { addresses: 'all', tokens, at }
  return { addresses: await listWatchedAddresses(q, at), tokens, at }
}

type Tokens = Pick<Network, 'usdcAddress' | 'otherTokens'>

/** USDC, and the tokens that payers confuse with it: symbol by contract, in lower case. */
export const tokensOf = ({ usdcAddress, otherTokens }: Tokens): Map<string, string> =>
  new Map([
    ...otherTokens.map(({ symbol, address }): [string, string] => [address.toLowerCase(), symbol]),
    [usdcAddress.toLowerCase(), 'USDC'],
  ])

/**
 * The same, and what payers were asked for before the settings named another contract: USDC to those orders only, so
 * under a name of its own.
 */
export async function readTokens(q: Queryable, network: Tokens & Pick<Network, 'chainId'>) {
  const asked = await listAskedTokens(q, network.chainId)
  return new Map([...asked.map((token): [string, string] => [token, labelOf(token, 'USDC')]), ...tokensOf(network)])
}

/** An address as a topic of a log. */
export const toTopic = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`

export type LogRange = { blockHash: string } | { fromBlock: Hex; toBlock: Hex }

/** The eth_getLogs calls of a filter, each with at most `topicCount` receivers; none if nothing is watched. */
export function logsCalls({ addresses, tokens }: LogFilter, where: LogRange, topicCount: number): RpcCall[] {
  const contracts = tokens.size === 0 ? {} : { address: [...tokens.keys()] }
  const call = (topics: unknown[]): RpcCall => ({ method: 'eth_getLogs', params: [{ ...contracts, topics, ...where }] })
  if (addresses === 'all') return [call([TRANSFER_TOPIC])]
  const parts = Math.ceil(addresses.length / topicCount)
  return Array.from({ length: parts }, (_, index) => {
    const part = addresses.slice(index * topicCount, (index + 1) * topicCount)
    return call([TRANSFER_TOPIC, null, part.map(toTopic)])
  })
}

/**
 * A position in a block holds one log. A node, or several behind one address, may return it twice, and so do
 * overlapping queries: counted twice, half of an amount would pay an order.
 * @throws ChainDoubt if two logs at one position differ
 */
function eachOnce(logs: readonly RpcLog[]): RpcLog[] {
  const byPlace = new Map<string, RpcLog>()
  const saidBy = ({ address, topics, data, transactionHash }: RpcLog): string =>
    [address, ...topics, data, transactionHash].join().toLowerCase()
  for (const log of logs) {
    const place = `${log.blockHash}:${BigInt(log.logIndex)}`
    const other = byPlace.get(place)
    if (other && saidBy(other) !== saidBy(log))
      throw new ReaderDoubt(`two logs of ${log.transactionHash} are in one place of a block`)
    byPlace.set(place, log)
  }
  return [...byPlace.values()]
}

/**
 * Parses the node's logs as transfers to watched addresses; zero values (address poisoning) are left out.
 * @param blocks the blocks that the logs may be in, by hash
 * @throws ChainDoubt if a log is in another block, or two are at one position
 */
export async function readTransfers(
  q: Queryable,
  scene: { chainId: number; filter: LogFilter },
  logs: readonly RpcLog[],
  blocks: ReadonlyMap<string, Block>,
): Promise<FoundTransfer[]> {
  const decoded = eachOnce(logs).flatMap((log) => {
    const transfer = decode(scene, log, blocks)
    return transfer ? [transfer] : []
  })
  if (decoded.length === 0) return []
  const receivers = [...new Set(decoded.map((transfer) => transfer.toAddress))]
  const watched =
    scene.filter.addresses === 'all'
      ? await listWatchedAmong(q, scene.filter.at, receivers)
      : new Set(scene.filter.addresses)
  return decoded.filter((transfer) => watched.has(transfer.toAddress) && transfer.units > 0n)
}

/** Hex in capitals says the same, also where other endpoints confirm it: it is written in one way here. */
function decode(
  { chainId, filter }: { chainId: number; filter: LogFilter },
  log: RpcLog,
  blocks: ReadonlyMap<string, Block>,
): FoundTransfer | undefined {
  const block = blocks.get(log.blockHash)
  if (!block || BigInt(log.blockNumber) !== block.number || log.removed === true) {
    throw new ReaderDoubt(`a log of ${log.transactionHash} is in an unexpected block`)
  }
  const [topic, from, to, ...more] = log.topics.map((one) => one.toLowerCase())
  const token = log.address.toLowerCase()
  const symbol = filter.tokens.get(token)
  const fits = topic === TRANSFER_TOPIC && from?.length === 66 && to?.length === 66 && more.length === 0
  if (!fits || symbol === undefined || !/^0x[0-9a-fA-F]{64}$/.test(log.data)) return undefined
  return {
    chainId,
    txHash: log.transactionHash.toLowerCase(),
    logIndex: Number(BigInt(log.logIndex)),
    blockNumber: block.number,
    blockHash: block.hash,
    blockAt: block.at,
    token,
    symbol,
    fromAddress: `0x${from.slice(26)}`,
    toAddress: `0x${to.slice(26)}`,
    units: BigInt(log.data),
  }
}
