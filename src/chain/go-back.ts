import type { Tx } from '../db/db.ts'
import {
  type BlockId,
  deleteBlocksAbove,
  findBlock,
  findHead,
  insertBlocks,
  listBlocks,
  listStandings,
  updateHead,
} from './chain-queries.ts'
import type { Rpc } from './endpoints/rpc.ts'
import { isSettled } from './finality.ts'
import { DEEP_WORDS, dropGone } from './gone-transfers.ts'
import { findHoldersOfGone } from './hearing/shortened.ts'
import { confirm } from './hearing/vote.ts'
import { checkIdentity, earlier, fetchBlock, fetchBlocks, KEPT_BLOCKS, later, type Scan, write } from './scan.ts'
import { type Block, blockCall, ChainDoubt, ReaderDoubt, type RpcBlock } from './transfer-logs.ts'
import { listFinalTransfers, listSeenBlocks, updateOrphaned, updateReopened } from './transfer-queries.ts'

/** Step sizes when walking back to the start of a reorganisation: block by block, a slow node would take minutes. */
const WALKED_AT_ONCE = [1, 15, 84]
/** Where nothing that is remembered is on the chain any more, so many blocks before it are read again. */
const READ_AGAIN = 4096n
const SHORTENED_WORDS = 'the newest blocks that were read are not part of the chain; they count as not mined'

/** `isShortened`: for long, the chain has ended below our top, and the endpoints show that our top is gone. */
type Standing = { top: BlockId; genesisHash: string | null; isShortened: boolean }

/**
 * Goes back to the newest block that the chain still has, and marks transfers above it as orphaned. A block leaves only
 * where two endpoints show the same other one in its place.
 * @returns the new top
 * @throws ForeignChain; Disagreement when another endpoint still has our block; ChainDoubt while the node is merely
 * behind us; ReaderDoubt if it has our top, but what it shows above does not follow
 */
export async function reconcile(scan: Scan, state: Standing, head: Block): Promise<Block> {
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
  const oldest = stored.at(-1)
  if (!oldest) throw new ChainDoubt(`no block below ${top.number} is remembered`)
  const disputed = common ? reachable.findLast(({ number }) => number > common.block.number) : reachable.at(-1)
  await checkIdentity(scan.network, scan.endpoint, state.genesisHash)
  if (!isShortened) await confirmGone(scan, disputed ?? top)
  if (common) {
    await rewind(scan, common.canonical, state)
    return common.canonical
  }
  const ancestor = await findRead(scan, oldest, head)
  const orphaned = await rewind(scan, ancestor, state)
  if (orphaned > 0) scan.log.error({ chainId: scan.network.chainId, orphaned }, DEEP_WORDS)
  await dropGone(scan, scan, { addresses: 'all', from: 0n, untilStanding: true })
  return ancestor
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

/** The newest of these blocks that is still on the chain. The top is queried alone: it is usually the one. */
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

/**
 * The block to read on from where none that is remembered is on the chain. Each recorded transfer names its block: one
 * that still is on the chain was read, and so was all before it. Without any, enough blocks are read again.
 */
async function findRead(scan: Scan, oldest: BlockId, head: Block): Promise<Block> {
  const { chainId } = scan.network
  const end = earlier(oldest.number, head.number)
  const which = { chainId, addresses: 'all', from: 0n, limit: KEPT_BLOCKS } as const
  for (let below = end; ; ) {
    const seen = await listSeenBlocks(scan.db, { ...which, below })
    const common = await findCommon(scan, seen)
    if (common) return common.canonical
    const last = seen.at(-1)
    if (!last) return fetchBlock(scan, later(0n, end - READ_AGAIN))
    below = last.number
  }
}

/** The block at a height. @returns undefined if the node does not have it yet */
const hashAt = (number: bigint) => async (rpc: Rpc) => {
  const { method, params } = blockCall(number)
  return (await rpc.call<RpcBlock | null>(method, ...params))?.hash
}

/** @throws Disagreement, Outvoted; ChainDoubt as long as no other block in the place of ours is confirmed */
async function confirmGone(scan: Scan, { number, hash }: BlockId): Promise<void> {
  const own = await hashAt(number)(scan.rpc)
  if (own === undefined) throw new ChainDoubt(`endpoint ${scan.endpoint.number} shows no block ${number}`)
  if (own === hash) throw new ChainDoubt(`block ${number} is there again`)
  await confirm(scan, {
    ...{ own, ask: hashAt(number), keyOf: (at: string) => at, subject: `block ${number}`, isMoney: true },
    block: { number },
  })
}

/** @returns how many transfers are orphaned */
async function rewind(scan: Scan, ancestor: Block, { top, isShortened }: Standing): Promise<number> {
  let orphaned = 0
  await write(scan, async (tx, chainId) => {
    await deleteBlocksAbove(tx, chainId, ancestor.number)
    const known = await findBlock(tx, chainId, ancestor.number)
    if (!known) await insertBlocks(tx, chainId, [ancestor], KEPT_BLOCKS)
    orphaned = await updateOrphaned(tx, chainId, ancestor.number)
    await updateHead(tx, chainId, ancestor)
    await reopen(scan, tx, ancestor)
    const depth = (top.number - ancestor.number).toString()
    scan.log.info({ chainId, depth, orphaned }, 'the chain was reorganised')
    if (isShortened) scan.log.error({ chainId, depth, orphaned }, `ALARM: ${SHORTENED_WORDS}`)
  })
  return orphaned
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
