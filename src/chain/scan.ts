import type { FastifyBaseLogger } from 'fastify'
import type { Db, Tx } from '../db/db.ts'
import {
  type BlockId,
  findBlock,
  insertBlocks,
  lockChain,
  updateGenesis,
  updateHead,
  updateScanned,
} from './chain-queries.ts'
import { askLogs, MIN_SPAN } from './endpoints/ask-logs.ts'
import { type Endpoint, ForeignChain } from './endpoints/endpoint.ts'
import { tagsOf } from './endpoints/network-check.ts'
import { type Hex, type Rpc, RpcError } from './endpoints/rpc.ts'
import { settledUpTo } from './finality.ts'
import { before, checkStep } from './hearing/checked-logs.ts'
import type { HeadWatch, Tag } from './hearing/head-watch.ts'
import { type Found, RangeUnheard } from './hearing/second-word.ts'
import { confirm, type Panel } from './hearing/vote.ts'
import type { LogCost } from './log-cost.ts'
import type { Network } from './networks.ts'
import {
  type Block,
  blockCall,
  LackingTip,
  type LogFilter,
  ReaderDoubt,
  type RpcBlock,
  readLogFilter,
  readTransfers,
  toBlock,
  toHex,
} from './transfer-logs.ts'
import { updateConfirmed, upsertTransfers } from './transfer-queries.ts'

export type Scan = Panel & {
  db: Db
  rpc: Rpc
  network: Network
  log: FastifyBaseLogger
  owner: string
  leaseMs: number
  cost: LogCost
  heads: HeadWatch
  /** Smaller transfers are announced when they are found, orphaned or final, not at each block. */
  dustUnits: bigint
}

/** The node's view at one moment; tags that the network's rules do not use are null. */
export type View = { head: Block; safe: Block | null; finalized: Block | null }

/** The same while nothing changed. */
export const newsOf = ({ head, safe, finalized }: View): string => [head.hash, safe?.hash, finalized?.hash].join()

/** The newest block that was read. Its time is null if it was read before this was stored. */
export type Top = BlockId & { at: Date | null }

/** Another node holds the lease; nothing was written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  constructor() {
    super('another node reads this chain')
  }
}

/** Blocks remembered for finding the common ancestor after a reorganisation. */
export const KEPT_BLOCKS = 256
/** Start of reading on a new chain. */
const LOOK_BACK = 300n
/** Closer to the head than this, blocks are read one by one. */
const NEAR_HEAD = 64n

export const later = (left: bigint, right: bigint): bigint => (left > right ? left : right)
export const earlier = (left: bigint, right: bigint): bigint => (left < right ? left : right)

/** Runs `work` only while we hold the lease, with the chain's row locked, so that changes are numbered in order. */
export function write(scan: Scan, work: (tx: Tx, chainId: number) => Promise<void>): Promise<void> {
  const { chainId } = scan.network
  return scan.db.tx(async (tx) => {
    if (!(await lockChain(tx, { chainId, owner: scan.owner, leaseMs: scan.leaseMs }))) throw new LeaseLost()
    await work(tx, chainId)
  })
}

export async function fetchBlock(scan: Scan, number: bigint): Promise<Block> {
  const { method, params } = blockCall(number)
  return present(await scan.rpc.call<RpcBlock | null>(method, ...params), number)
}

export async function fetchBlocks(scan: Scan, numbers: readonly bigint[]): Promise<Block[]> {
  const answers = await scan.rpc.batch<RpcBlock | null>(numbers.map(blockCall))
  return numbers.map((number, index) => present(answers[index], number))
}

function present(block: RpcBlock | null | undefined, number: bigint): Block {
  if (!block) throw new ReaderDoubt(`the node does not have block ${number}`)
  return toBlock(block)
}

/** The newest block, and the tagged ones that the network's finality rules use. */
export async function readView({ rpc, network }: Scan): Promise<View> {
  const tags = tagsOf(network)
  const [head, ...tagged] = await rpc.batch<RpcBlock | null>([blockCall('latest'), ...tags.map(blockCall)])
  if (!head) throw new RpcError('unknown', 'the node has no newest block')
  const pick = (tag: 'safe' | 'finalized'): Block | null => {
    const block = tagged[tags.indexOf(tag)]
    return block ? toBlock(block) : null
  }
  return { head: toBlock(head), safe: pick('safe'), finalized: pick('finalized') }
}

/**
 * Proves that a node serves the chain that was read before.
 * @param genesisHash null on a chain that was never read
 * @returns the hash of its first block; null if the node does not have it
 * @throws ForeignChain, RpcError
 */
export async function checkIdentity(
  { chainId }: Network,
  endpoint: Endpoint,
  genesisHash: string | null,
): Promise<string | null> {
  const calls = [{ method: 'eth_chainId', params: [] }, blockCall(0n)]
  const [answered, first] = await endpoint.rpc.batch<unknown>(calls)
  const served = Number(BigInt(answered as Hex))
  if (served !== chainId) throw new ForeignChain(`endpoint ${endpoint.number} serves chain ${served}, not ${chainId}`)
  const genesis = (first as RpcBlock | null)?.hash ?? null
  if (genesisHash !== null && genesis !== null && genesis !== genesisHash)
    throw new ForeignChain(`endpoint ${endpoint.number} serves another chain ${chainId}: its first block is different`)
  endpoint.noteRight()
  return genesis
}

/** Starts reading a new chain. All endpoints must agree on its first block. */
export async function begin(scan: Scan, head: Block): Promise<Block> {
  const genesis = await fetchBlock(scan, 0n)
  await confirm(scan, {
    own: genesis.hash,
    ask: async (rpc) => (await rpc.call<RpcBlock | null>('eth_getBlockByNumber', '0x0', false))?.hash,
    keyOf: (hash) => hash,
    subject: 'the first block of the chain',
    block: { number: 0n },
  })
  const start = await fetchBlock(scan, later(0n, head.number - LOOK_BACK))
  await write(scan, async (tx, chainId) => {
    await updateGenesis(tx, chainId, genesis.hash)
    await insertBlocks(tx, chainId, [start], KEPT_BLOCKS)
    await updateHead(tx, chainId, start)
  })
  return start
}

/**
 * Reads the next blocks by hash, each only if it follows ours.
 * @returns the new top; undefined if the first block does not follow ours
 */
export async function readBlocks(scan: Scan, top: Top, head: Block): Promise<Block | undefined> {
  const { endpoint } = scan
  const last = earlier(head.number, top.number + BigInt(endpoint.blocksAtOnce))
  try {
    const read = await readUpTo(scan, top, last)
    endpoint.noteBlocksRead(true)
    return read
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'unknown') endpoint.noteBlocksRead(false)
    throw error
  }
}

async function readUpTo(scan: Scan, top: Top, last: bigint): Promise<Block | undefined> {
  const numbers = Array.from({ length: Number(last - top.number) }, (_, index) => top.number + 1n + BigInt(index))
  const blocks = await fetchChained(scan, top, numbers)
  const [first] = blocks ?? []
  if (!blocks || !first) return undefined
  const filter = await readLogFilter(scan.db, scan.network, { at: startOf(top, first), most: scan.cost.mostOfBlock() })
  return store(scan, { filter, top, found: await readLogs(scan, filter, blocks), isRange: false })
}

/**
 * From when an address must be watched to count. The time of a block that is not confirmed yet would be one node's
 * word: too late, it hides the addresses from all.
 */
const startOf = ({ at }: Top, first: Block): Date => (at && at < first.at ? at : first.at)

async function readLogs(scan: Scan, filter: LogFilter, blocks: readonly Block[]): Promise<Found[]> {
  if (filter.addresses.length === 0) return blocks.map((block) => ({ block, logs: [] }))
  const places = blocks.map(({ hash }) => ({ blockHash: hash }))
  const answers = await askLogs(scan.endpoint, filter, places)
  if (filter.addresses === 'all') scan.cost.note(answers.flat().length, blocks.length)
  return blocks.map((block, index) => ({ block, logs: answers[index] ?? [] }))
}

/**
 * Reads many old blocks at once, too far from the head to be reorganised. Reading every header proves that the range
 * follows our top, and lets its logs be checked.
 */
async function readRange(scan: Scan, top: Top, head: Block): Promise<Block | undefined> {
  const fromNumber = top.number + 1n
  const known = later(fromNumber, scan.heads.highestBeside(scan.endpoint) ?? head.number)
  const most = earlier(head.number - NEAR_HEAD / 2n, top.number + scan.endpoint.limits.blockSpan)
  const toNumber = earlier(known, most) // what no other one has yet would not be stored
  const first = await fetchBlock(scan, fromNumber)
  if (first.parentHash !== top.hash) return undefined
  const mostAsked = scan.cost.mostOfRange(Number(toNumber - top.number))
  const filter = await readLogFilter(scan.db, scan.network, { at: startOf(top, first), most: mostAsked })
  const range = { fromBlock: toHex(fromNumber), toBlock: toHex(toNumber) }
  const [logs = []] = filter.addresses.length > 0 ? await askLogs(scan.endpoint, filter, [range]) : []
  const numbers = Array.from({ length: Number(toNumber - top.number) }, (_, index) => fromNumber + BigInt(index))
  const blocks = await fetchChained(scan, top, numbers)
  if (!blocks) return undefined
  const byHash = Map.groupBy(logs, (log) => log.blockHash)
  const hashes = new Set(blocks.map(({ hash }) => hash))
  const stray = logs.find((log) => !hashes.has(log.blockHash))
  if (stray) throw new ReaderDoubt(`a log of ${stray.transactionHash} is in an unexpected block`)
  const found = blocks.map((block) => ({ block, logs: byHash.get(block.hash) ?? [] }))
  return store(scan, { filter, top, found, isRange: true })
}

/** Reads a range that the endpoint answers; each block by its hash, where it answers none. */
export async function catchUp(scan: Scan, top: Top, head: Block): Promise<Top | undefined> {
  const { endpoint } = scan
  const { blockSpan } = endpoint.limits
  const beside = scan.heads.highestBeside(endpoint)
  // no other one is known to have more: those who have are asked about the next few
  if (beside !== null && beside <= top.number) return readBlocks(scan, top, head)
  try {
    const reached = await readRange(scan, top, head)
    endpoint.growSpan()
    return reached
  } catch (error) {
    if (error instanceof RangeUnheard) {
      endpoint.limits.blockSpan = BigInt(error.most) // not its own limit, so that it is not stored
      return top
    }
    if (!(error instanceof RpcError)) throw error
    if (endpoint.limits.blockSpan < blockSpan) return top // it refused so many blocks, and was asked what it takes
    if (error.refused) return readBlocks(scan, top, head)
    if (blockSpan > MIN_SPAN) endpoint.learn({ blockSpan: blockSpan / 2n })
    throw error
  }
}

/** Consecutive blocks, as many as the node has; undefined if the first does not follow our top. @throws ReaderDoubt */
async function fetchChained(scan: Scan, top: BlockId, numbers: readonly bigint[]): Promise<Block[] | undefined> {
  const answers = await scan.rpc.batch<RpcBlock | null>(numbers.map(blockCall))
  const there = answers.findIndex((answer) => !answer)
  const tip = there < 0 ? answers.length : there
  // of several nodes behind one address, one may name a block that another does not have yet
  const isTip = answers.slice(tip).every((answer) => !answer)
  if (tip === 0 && isTip) throw new LackingTip(`endpoint ${scan.endpoint.number} does not have the block that it names`)
  const blocks = numbers.slice(0, isTip ? tip : undefined).map((number, index) => present(answers[index], number))
  if (blocks[0]?.parentHash !== top.hash) return undefined
  for (const [index, block] of blocks.entries()) {
    const parent = blocks[index - 1]
    if (block.parentHash !== (parent ?? top).hash)
      throw new ReaderDoubt(`block ${block.number} does not follow the previous one`)
    if (parent && block.at < parent.at) throw new ReaderDoubt(`block ${block.number} is older than the previous one`)
  }
  return blocks
}

/**
 * Writes transfers and the new top in one transaction. A block that cannot be confirmed yet holds up none before it. Of
 * a range only the last block is remembered.
 * @returns the new top
 * @throws ChainDoubt if the first block cannot be confirmed
 */
async function store(
  scan: Scan,
  { filter, top: parent, found, isRange }: { filter: LogFilter; top: Top; found: readonly Found[]; isRange: boolean },
): Promise<Block | undefined> {
  const [first] = found
  // either its time is wrong, or the one that is stored, which may be of a version that believed one node
  const isOlder = parent.at !== null && first !== undefined && first.block.at < parent.at
  const checked = await checkStep(scan, { filter, found, isRange, isOlder })
  const logs = checked.found.flatMap((one) => one.logs)
  const all = found.map(({ block }) => block)
  const sure = before(all, checked.halt)
  const byHash = new Map(sure.map((block) => [block.hash, block]))
  const transfers = await readTransfers(scan.db, { chainId: scan.network.chainId, filter }, logs, byHash)
  const top = sure.at(-1)
  if (!top) return undefined
  await write(scan, async (tx, chainId) => {
    await upsertTransfers(tx, transfers)
    await insertBlocks(tx, chainId, isRange ? [top] : sure, KEPT_BLOCKS)
    await updateHead(tx, chainId, top)
  })
  return top
}

/**
 * Records how far we are, the head or the last block before a doubt, and announces new confirmations. A block counts
 * as safe or finalized where two endpoints have named it, or a higher one.
 */
export async function finish(scan: Scan, view: View, top: BlockId): Promise<void> {
  const { network, db, heads, dustUnits } = scan
  const isOurs = async ({ number, hash }: BlockId): Promise<boolean> => {
    const ours = await findBlock(db, network.chainId, number)
    return !ours || ours.hash === hash
  }
  for (const tagged of [view.safe, view.finalized])
    if (tagged && !(await isOurs(tagged))) throw new ReaderDoubt(`block ${tagged.number} is not the one we have`)
  await heads.refreshTags(scan.endpoint, view)
  const reachedBy = async (tag: Tag): Promise<bigint | null> => {
    if (!tagsOf(network).includes(tag)) return null
    const agreed = await heads.agreedTag(scan.endpoint, { tag, own: view[tag], isOurs })
    return agreed === null ? null : earlier(agreed, top.number)
  }
  const tags = { safeNumber: await reachedBy('safe'), finalizedNumber: await reachedBy('finalized') }
  await write(scan, async (tx, chainId) => {
    await updateScanned(tx, chainId, { isAtHead: top.hash === view.head.hash, ...tags })
    const settled = settledUpTo(network, { number: top.number, ...tags })
    await updateConfirmed(tx, chainId, { settled, dustUnits })
  })
}

export const isFarBehind = (top: BlockId, head: Block): boolean => head.number - top.number > NEAR_HEAD
