import type { FastifyBaseLogger } from 'fastify'
import type { Db, Tx } from '../db/db.ts'
import {
  type BlockId,
  deleteBlocksAbove,
  findBlock,
  insertBlocks,
  listBlocks,
  lockChain,
  updateGenesis,
  updateHead,
  updateScanned,
} from './chain-queries.ts'
import { isSettled } from './finality.ts'
import { tagsOf } from './network-check.ts'
import type { Network } from './networks.ts'
import type { Rpc } from './rpc.ts'
import {
  type Block,
  blockCall,
  ChainDoubt,
  logsCall,
  type RpcBlock,
  type RpcLog,
  readLogFilter,
  readTransfers,
  toBlock,
  toHex,
} from './transfer-logs.ts'
import { listOpenTransfers, updateConfirmed, updateOrphaned, upsertTransfers } from './transfer-queries.ts'

/** What every step of a scan needs. */
export type Scan = { db: Db; rpc: Rpc; network: Network; log: FastifyBaseLogger; owner: string; leaseMs: number }

/** The node's own view at one moment; a tag that the network's rules do not use is null. */
export type View = { head: Block; safe: Block | null; finalized: Block | null }

/** Another node reads this chain now; nothing was written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** Blocks remembered for finding the common ancestor after a reorganisation. */
const KEPT_BLOCKS = 256
/** Where reading begins on a chain that was never read. */
const LOOK_BACK = 300n
const BLOCKS_AT_ONCE = 16n
/** Closer to the head than this, blocks are read one by one. */
const NEAR_HEAD = 64n

const later = (left: bigint, right: bigint): bigint => (left > right ? left : right)
const earlier = (left: bigint, right: bigint): bigint => (left < right ? left : right)

/** Runs `work` only while the lease is ours, with the chain's row locked, so that changes are numbered in order. */
function write(scan: Scan, work: (tx: Tx, chainId: number) => Promise<void>): Promise<void> {
  const { chainId } = scan.network
  return scan.db.tx(async (tx) => {
    if (!(await lockChain(tx, { chainId, owner: scan.owner, leaseMs: scan.leaseMs }))) throw new LeaseLost()
    await work(tx, chainId)
  })
}

async function fetchBlock(scan: Scan, number: bigint): Promise<Block> {
  const { method, params } = blockCall(number)
  const block = await scan.rpc.call<RpcBlock | null>(method, ...params)
  if (block === null) throw new ChainDoubt(`the node does not have block ${number}`)
  return toBlock(block)
}

/** The newest block, and the tagged ones that the network's finality rules ask for. */
export async function readView({ rpc, network }: Scan): Promise<View> {
  const tags = tagsOf(network)
  const [head, ...tagged] = await rpc.batch<RpcBlock | null>([blockCall('latest'), ...tags.map(blockCall)])
  if (!head) throw new ChainDoubt('the node has no newest block')
  const pick = (tag: 'safe' | 'finalized'): Block | null => {
    const block = tagged[tags.indexOf(tag)]
    return block ? toBlock(block) : null
  }
  return { head: toBlock(head), safe: pick('safe'), finalized: pick('finalized') }
}

/** Begins to read a chain, or begins anew because it is another one than before: then nothing that was seen is left. */
export async function begin(scan: Scan, head: Block): Promise<BlockId> {
  const genesis = await fetchBlock(scan, 0n)
  const start = await fetchBlock(scan, later(0n, head.number - LOOK_BACK))
  await write(scan, async (tx, chainId) => {
    const orphaned = await updateOrphaned(tx, chainId, -1n)
    if (orphaned > 0) scan.log.error({ chainId, orphaned }, 'the chain is another one than before; transfers are gone')
    await deleteBlocksAbove(tx, chainId, -1n)
    await updateGenesis(tx, chainId, genesis.hash)
    await insertBlocks(tx, chainId, [start], KEPT_BLOCKS)
    await updateHead(tx, chainId, start)
  })
  return start
}

/**
 * Goes back to the newest block that the chain still has, and marks what was seen above it as orphaned.
 * @returns the new top; the old one when the node is merely behind us
 */
export async function reconcile(
  scan: Scan,
  state: { top: BlockId; genesisHash: string | null },
  head: Block,
): Promise<BlockId> {
  const stored = await listBlocks(scan.db, scan.network.chainId)
  const reachable = stored.filter((block) => block.number <= head.number)
  for (const block of reachable) {
    const canonical = await fetchBlock(scan, block.number)
    if (canonical.hash !== block.hash) continue
    const behind = block === reachable[0] && head.number < state.top.number
    if (behind || block.number === state.top.number) return state.top
    await rewind(scan, block, state.top)
    return block
  }
  const genesis = await fetchBlock(scan, 0n)
  if (genesis.hash !== state.genesisHash) return begin(scan, head)
  const oldest = stored.at(-1)
  if (!oldest || reachable.length === 0) return state.top // the same chain, far behind us
  const deeper = await fetchBlock(scan, later(0n, oldest.number - BigInt(KEPT_BLOCKS)))
  await rewind(scan, deeper, state.top)
  return deeper
}

async function rewind(scan: Scan, ancestor: BlockId, top: BlockId): Promise<void> {
  await write(scan, async (tx, chainId) => {
    await deleteBlocksAbove(tx, chainId, ancestor.number)
    const known = await findBlock(tx, chainId, ancestor.number)
    if (!known) await insertBlocks(tx, chainId, [ancestor], KEPT_BLOCKS)
    const orphaned = await updateOrphaned(tx, chainId, ancestor.number)
    await updateHead(tx, chainId, ancestor)
    const depth = (top.number - ancestor.number).toString()
    scan.log.info({ chainId, depth, orphaned }, 'the chain was reorganised')
  })
}

/**
 * Reads the next blocks, each by its hash, each only on top of ours.
 * @returns the new top; undefined when the first of them stands on another block than ours
 */
export async function readBlocks(scan: Scan, top: BlockId, head: Block): Promise<BlockId | undefined> {
  const last = earlier(head.number, top.number + BLOCKS_AT_ONCE)
  const numbers = Array.from({ length: Number(last - top.number) }, (_, index) => top.number + 1n + BigInt(index))
  const answers = await scan.rpc.batch<RpcBlock | null>(numbers.map(blockCall))
  const blocks = answers.map((block, index) => {
    if (block === null) throw new ChainDoubt(`the node does not have block ${numbers[index]}`)
    return toBlock(block)
  })
  const [first] = blocks
  if (!first || first.parentHash !== top.hash) return undefined
  for (const [index, block] of blocks.entries()) {
    const parent = blocks[index - 1] ?? top
    if (block.parentHash !== parent.hash) throw new ChainDoubt(`block ${block.number} does not follow the one before`)
  }
  const filter = await readLogFilter(scan.db, scan.network, first.at)
  const calls = blocks.flatMap((block) => logsCall(filter, { blockHash: block.hash }) ?? [])
  const logs = (await scan.rpc.batch<RpcLog[]>(calls)).flat()
  await store(scan, filter, logs, blocks)
  return blocks.at(-1)
}

/**
 * Reads many old blocks at once, far enough from the head that only a catastrophe changes them; checks that the range
 * stands on our top and that its end was the same before and after.
 */
export async function readRange(scan: Scan, top: BlockId, head: Block, span: bigint): Promise<BlockId | undefined> {
  const fromBlock = top.number + 1n
  const toNumber = earlier(head.number - NEAR_HEAD / 2n, top.number + span)
  const first = await fetchBlock(scan, fromBlock)
  if (first.parentHash !== top.hash) return undefined
  const last = await fetchBlock(scan, toNumber)
  const filter = await readLogFilter(scan.db, scan.network, first.at)
  const call = logsCall(filter, { fromBlock: toHex(fromBlock), toBlock: toHex(toNumber) })
  const logs = call ? await scan.rpc.call<RpcLog[]>(call.method, ...call.params) : []
  const holders = [...new Set(logs.map((log) => BigInt(log.blockNumber)))]
  const blocks = await fetchInTurns(scan, holders)
  if ((await fetchBlock(scan, toNumber)).hash !== last.hash) throw new ChainDoubt(`block ${toNumber} was replaced`)
  await store(scan, filter, logs, blocks, last)
  return last
}

async function fetchInTurns(scan: Scan, numbers: readonly bigint[]): Promise<Block[]> {
  const blocks: Block[] = []
  for (let index = 0; index < numbers.length; index += 100) {
    const answers = await scan.rpc.batch<RpcBlock | null>(numbers.slice(index, index + 100).map(blockCall))
    blocks.push(...answers.flatMap((block) => (block ? [toBlock(block)] : [])))
  }
  return blocks
}

/** Writes transfers and the new top in one transaction; of a range only its last block is remembered. */
async function store(
  scan: Scan,
  filter: Awaited<ReturnType<typeof readLogFilter>>,
  logs: readonly RpcLog[],
  blocks: readonly Block[],
  only?: Block,
): Promise<void> {
  const byHash = new Map(blocks.map((block) => [block.hash, block]))
  const transfers = await readTransfers(scan.db, { chainId: scan.network.chainId, filter }, logs, byHash)
  const top = only ?? blocks.at(-1)
  if (!top) return
  await write(scan, async (tx, chainId) => {
    if (transfers.length > 0) await upsertTransfers(tx, transfers)
    await insertBlocks(tx, chainId, only ? [only] : blocks, KEPT_BLOCKS)
    await updateHead(tx, chainId, top)
  })
}

/** Notes that we stand at the head, and announces the transfers that have more confirmations now. */
export async function finish(scan: Scan, view: View): Promise<void> {
  const { network } = scan
  for (const tagged of [view.safe, view.finalized]) {
    const ours = tagged && (await findBlock(scan.db, network.chainId, tagged.number))
    if (ours && ours.hash !== tagged.hash) throw new ChainDoubt(`block ${tagged.number} is not the one we have`)
  }
  const tags = { safeNumber: view.safe?.number ?? null, finalizedNumber: view.finalized?.number ?? null }
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
