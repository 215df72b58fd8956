import type { FastifyBaseLogger } from 'fastify'
import type { Db, Tx } from '../db/db.ts'
import {
  type BlockId,
  deleteBlocksAbove,
  findBlock,
  findHead,
  insertBlocks,
  listBlocks,
  listStandings,
  lockChain,
  updateGenesis,
  updateHead,
  updateScanned,
} from './chain-queries.ts'
import { before, checkAgainstHeaders, confirmTransfers, type Found } from './checked-logs.ts'
import { askLogs } from './endpoints/ask-logs.ts'
import { type Endpoint, ForeignChain } from './endpoints/endpoint.ts'
import { tagsOf } from './endpoints/network-check.ts'
import { type Hex, type Rpc, RpcError } from './endpoints/rpc.ts'
import { findHoldersOfGone } from './endpoints/shortened.ts'
import { isSettled } from './finality.ts'
import { dropGone } from './gone-transfers.ts'
import type { LogCost } from './log-cost.ts'
import type { Network } from './networks.ts'
import { confirm, type Panel } from './opinions.ts'
import {
  type Block,
  blockCall,
  ChainDoubt,
  type LogFilter,
  ReaderDoubt,
  type RpcBlock,
  readLogFilter,
  readTransfers,
  toBlock,
  toHex,
} from './transfer-logs.ts'
import {
  listFinalTransfers,
  listOpenTransfers,
  updateConfirmed,
  updateOrphaned,
  updateReopened,
  upsertTransfers,
} from './transfer-queries.ts'

export type Scan = Panel & {
  db: Db
  rpc: Rpc
  network: Network
  log: FastifyBaseLogger
  owner: string
  leaseMs: number
  cost: LogCost
}

/** The node's view at one moment; tags that the network's rules do not use are null. */
export type View = { head: Block; safe: Block | null; finalized: Block | null }

/** Another node holds the lease; nothing was written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  constructor() {
    super('another node reads this chain')
  }
}

/** Blocks remembered for finding the common ancestor after a reorganisation. */
const KEPT_BLOCKS = 256
/** Upper limit of a block range: every header in it is read. */
const MAX_SPAN = 5000n
/** Start of reading on a new chain. */
const LOOK_BACK = 300n
/** Step sizes when walking back to the start of a reorganisation: block by block, a slow node would take minutes. */
const WALKED_AT_ONCE = [1, 15, 84]
const SHORTENED_WORDS = 'the newest blocks that were read are not part of the chain; they count as not mined'
/** Closer to the head than this, blocks are read one by one. */
const NEAR_HEAD = 64n

const later = (left: bigint, right: bigint): bigint => (left > right ? left : right)
const earlier = (left: bigint, right: bigint): bigint => (left < right ? left : right)

/** Runs `work` only while we hold the lease, with the chain's row locked, so that changes are numbered in order. */
function write(scan: Scan, work: (tx: Tx, chainId: number) => Promise<void>): Promise<void> {
  const { chainId } = scan.network
  return scan.db.tx(async (tx) => {
    if (!(await lockChain(tx, { chainId, owner: scan.owner, leaseMs: scan.leaseMs }))) throw new LeaseLost()
    await work(tx, chainId)
  })
}

async function fetchBlock(scan: Scan, number: bigint): Promise<Block> {
  const { method, params } = blockCall(number)
  return present(await scan.rpc.call<RpcBlock | null>(method, ...params), number)
}

async function fetchBlocks(scan: Scan, numbers: readonly bigint[]): Promise<Block[]> {
  const answers = await scan.rpc.batch<RpcBlock | null>(numbers.map(blockCall))
  return numbers.map((number, index) => present(answers[index] ?? null, number))
}

function present(block: RpcBlock | null, number: bigint): Block {
  if (block === null) throw new ReaderDoubt(`the node does not have block ${number}`)
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
export async function begin(scan: Scan, head: Block): Promise<BlockId> {
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

/** `isShortened`: for long, the chain has ended below our top, and the endpoints show that our top is gone. */
type Standing = { top: BlockId; genesisHash: string | null; isShortened: boolean }

/**
 * Goes back to the newest block that the chain still has, and marks transfers above it as orphaned.
 * @returns the new top
 * @throws ForeignChain; Disagreement when another endpoint still has our top; ChainDoubt while the node is merely
 * behind us; ReaderDoubt if it has our top, but what it shows above does not follow
 */
export async function reconcile(scan: Scan, state: Standing, head: Block): Promise<BlockId> {
  const { top, isShortened } = state
  const who = `endpoint ${scan.endpoint.number}`
  const stored = await listBlocks(scan.db, scan.network.chainId)
  const reachable = stored.filter((block) => block.number <= head.number)
  const common = await findCommon(scan, reachable)
  if (common?.block.number === top.number)
    throw new ReaderDoubt(`what ${who} shows after block ${top.number} does not follow it`)
  const isSame = common ? common.block === reachable[0] : reachable.length === 0
  if (isSame && head.number < top.number && !isShortened)
    throw new ChainDoubt(`the chain of ${who} ends at block ${head.number}, below ${top.number}, which was read`)
  if (common) {
    await rewind(scan, common.canonical, state)
    return common.block
  }
  const oldest = stored.at(-1)
  if (!oldest) throw new ChainDoubt(`no block below ${top.number} is remembered`)
  const deeper = await fetchBlock(scan, later(0n, earlier(oldest.number, head.number) - BigInt(KEPT_BLOCKS)))
  await rewind(scan, deeper, state)
  await dropGone(scan, scan, { addresses: 'all', from: 0n, untilStanding: true })
  return deeper
}

/** Whether the endpoints show that our top, above the end of their chain, was never part of it. */
export async function isTopGone(scan: Scan, top: BlockId, nowMs: number): Promise<boolean> {
  const { db, network } = scan
  const [standing] = await listStandings(db, [network.chainId])
  const stored = await listBlocks(db, network.chainId)
  const ours = { top, topAt: standing?.blockAt ?? null, stored }
  const holders = await findHoldersOfGone({ ...scan, ours, nowMs })
  for (const holder of holders ?? []) scan.onOutvoted(holder, `block ${top.number}`)
  return holders !== undefined
}

/** The newest of our blocks that is still on the chain. The top is queried alone, because it is usually the one. */
async function findCommon(
  scan: Scan,
  ours: readonly BlockId[],
): Promise<{ block: BlockId; canonical: Block } | undefined> {
  let from = 0
  for (let step = 0; from < ours.length; step += 1) {
    const asked = ours.slice(from, from + (WALKED_AT_ONCE[step] ?? KEPT_BLOCKS))
    from += asked.length
    const answers = await fetchBlocks(
      scan,
      asked.map(({ number }) => number),
    )
    const index = answers.findIndex((answer, place) => answer.hash === asked[place]?.hash)
    const [block, canonical] = [asked[index], answers[index]]
    if (block && canonical) return { block, canonical }
  }
  return undefined
}

/** The block at our top's height. @returns undefined if the node does not have it yet */
const hashAt = (number: bigint) => async (rpc: Rpc) => {
  const { method, params } = blockCall(number)
  return (await rpc.call<RpcBlock | null>(method, ...params))?.hash
}

async function rewind(scan: Scan, ancestor: Block, { top, genesisHash, isShortened }: Standing): Promise<void> {
  await checkIdentity(scan.network, scan.endpoint, genesisHash)
  const own = (await hashAt(top.number)(scan.rpc)) ?? 'none'
  if (own === top.hash) throw new ChainDoubt(`block ${top.number} is there again`)
  const isOurs = (hash: string): string => (hash === top.hash ? 'ours' : 'another')
  const { number } = top
  const question = { own, ask: hashAt(number), keyOf: isOurs, subject: `block ${number}`, block: { number } }
  if (!isShortened) await confirm(scan, question)
  await write(scan, async (tx, chainId) => {
    await deleteBlocksAbove(tx, chainId, ancestor.number)
    const known = await findBlock(tx, chainId, ancestor.number)
    if (!known) await insertBlocks(tx, chainId, [ancestor], KEPT_BLOCKS)
    const orphaned = await updateOrphaned(tx, chainId, ancestor.number)
    await updateHead(tx, chainId, ancestor)
    await reopen(scan, tx, ancestor)
    const depth = (top.number - ancestor.number).toString()
    scan.log.info({ chainId, depth, orphaned }, 'the chain was reorganised')
    if (isShortened) scan.log.error({ chainId, depth, orphaned }, `ALARM: ${SHORTENED_WORDS}`)
  })
}

/** Transfers that stay but are no longer below enough blocks: announces them again until they are final again. */
async function reopen({ network }: Scan, tx: Tx, ancestor: BlockId): Promise<void> {
  const head = await findHead(tx, network.chainId)
  if (!head) return
  const known = await listFinalTransfers(tx, network.chainId, ancestor.number - BigInt(KEPT_BLOCKS))
  const open = known.filter((transfer) => !isSettled(network, transfer, head))
  if (open.length > 0)
    await updateReopened(
      tx,
      open.map(({ id }) => id),
    )
}

/**
 * Reads the next blocks by hash, each only if it follows ours.
 * @returns the new top; undefined if the first block does not follow ours
 */
export async function readBlocks(scan: Scan, top: BlockId, head: Block): Promise<BlockId | undefined> {
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

async function readUpTo(scan: Scan, top: BlockId, last: bigint): Promise<BlockId | undefined> {
  const numbers = Array.from({ length: Number(last - top.number) }, (_, index) => top.number + 1n + BigInt(index))
  const blocks = await fetchChained(scan, top, numbers)
  const [first] = blocks ?? []
  if (!blocks || !first) return undefined
  const filter = await readLogFilter(scan.db, scan.network, { at: first.at, most: scan.cost.mostOfBlock() })
  return store(scan, filter, await readLogs(scan, filter, blocks))
}

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
async function readRange(scan: Scan, top: BlockId, head: Block): Promise<BlockId | undefined> {
  const fromNumber = top.number + 1n
  const toNumber = earlier(head.number - NEAR_HEAD / 2n, top.number + scan.endpoint.limits.blockSpan)
  const first = await fetchBlock(scan, fromNumber)
  if (first.parentHash !== top.hash) return undefined
  const most = scan.cost.mostOfRange(Number(toNumber - top.number))
  const filter = await readLogFilter(scan.db, scan.network, { at: first.at, most })
  const range = { fromBlock: toHex(fromNumber), toBlock: toHex(toNumber) }
  const [logs = []] = filter.addresses.length > 0 ? await askLogs(scan.endpoint, filter, [range]) : []
  const numbers = Array.from({ length: Number(toNumber - top.number) }, (_, index) => fromNumber + BigInt(index))
  const blocks = await fetchChained(scan, top, numbers)
  if (!blocks) return undefined
  const byHash = Map.groupBy(logs, (log) => log.blockHash)
  const known = new Set(blocks.map(({ hash }) => hash))
  const stray = logs.find((log) => !known.has(log.blockHash))
  if (stray) throw new ReaderDoubt(`a log of ${stray.transactionHash} is in an unexpected block`)
  const found = blocks.map((block) => ({ block, logs: byHash.get(block.hash) ?? [] }))
  return store(scan, filter, found, 'last')
}

/** Reads a range that the endpoint answers. */
export async function catchUp(scan: Scan, top: BlockId, head: Block): Promise<BlockId | undefined> {
  const { endpoint } = scan
  const { blockSpan } = endpoint.limits
  try {
    const reached = await readRange(scan, top, head)
    if (blockSpan < MAX_SPAN) endpoint.limits.blockSpan = blockSpan * 2n > MAX_SPAN ? MAX_SPAN : blockSpan * 2n
    return reached
  } catch (error) {
    const smaller = error instanceof RpcError && blockSpan > 1n
    if (smaller) endpoint.learn({ blockSpan: blockSpan / 2n })
    if (smaller && error.kind === 'definite') return top // the node refused the range: try a smaller one
    throw error
  }
}

/** Consecutive blocks; undefined if the first does not follow our top. @throws ChainDoubt */
async function fetchChained(scan: Scan, top: BlockId, numbers: readonly bigint[]): Promise<Block[] | undefined> {
  const blocks = await fetchBlocks(scan, numbers)
  if (blocks[0]?.parentHash !== top.hash) return undefined
  for (const [index, block] of blocks.entries()) {
    const parent = blocks[index - 1] ?? top
    if (block.parentHash !== parent.hash)
      throw new ReaderDoubt(`block ${block.number} does not follow the previous one`)
  }
  return blocks
}

/**
 * Writes transfers and the new top in one transaction. A block that cannot be confirmed yet holds up none before it.
 * @param kept which blocks are remembered; of a range only the last
 * @returns the new top
 * @throws ChainDoubt if the first block cannot be confirmed
 */
async function store(
  scan: Scan,
  filter: LogFilter,
  found: readonly Found[],
  kept: 'each' | 'last' = 'each',
): Promise<BlockId | undefined> {
  const checked = await checkAgainstHeaders(scan, filter, found)
  const logs = checked.found.flatMap((one) => one.logs)
  const all = found.map(({ block }) => block)
  const blocks = before(all, checked.halt)
  const byHash = new Map(blocks.map((block) => [block.hash, block]))
  const transfers = await readTransfers(scan.db, { chainId: scan.network.chainId, filter }, logs, byHash)
  const receivers = new Set(transfers.map(({ toAddress }) => toAddress))
  const sure = before(blocks, await confirmTransfers(scan, filter, { logs, blocks, receivers }))
  const top = sure.at(-1)
  if (!top) return undefined
  const confirmed = transfers.filter(({ blockNumber }) => blockNumber <= top.number)
  await write(scan, async (tx, chainId) => {
    if (confirmed.length > 0) await upsertTransfers(tx, confirmed)
    await insertBlocks(tx, chainId, kept === 'last' ? [top] : sure, KEPT_BLOCKS)
    await updateHead(tx, chainId, top)
  })
  return top
}

/** Records how far we are, the head or the last block before a doubt, and announces new confirmations. */
export async function finish(scan: Scan, view: Omit<View, 'head'> & { head: BlockId }): Promise<void> {
  const { network } = scan
  for (const tagged of [view.safe, view.finalized]) {
    const ours = tagged && (await findBlock(scan.db, network.chainId, tagged.number))
    if (ours && ours.hash !== tagged.hash) throw new ReaderDoubt(`block ${tagged.number} is not the one we have`)
  }
  const upToHead = (tagged: Block | null): bigint | null => tagged && earlier(tagged.number, view.head.number)
  const tags = { safeNumber: upToHead(view.safe), finalizedNumber: upToHead(view.finalized) }
  await write(scan, async (tx, chainId) => {
    await updateScanned(tx, chainId, tags)
    const open = await listOpenTransfers(tx, chainId)
    if (open.length === 0) return
    const head = { number: view.head.number, ...tags }
    const settled = open.filter((transfer) => isSettled(network, transfer, head))
    await updateConfirmed(tx, { ids: open.map(({ id }) => id), finalIds: settled.map(({ id }) => id) })
  })
}

export const isFarBehind = (top: BlockId, head: Block): boolean => head.number - top.number > NEAR_HEAD
