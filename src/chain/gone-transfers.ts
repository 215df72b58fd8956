import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/db.ts'
import { type BlockId, listBlocks } from './chain-queries.ts'
import { lockHead } from './deposits/deposit-audit-queries.ts'
import type { Rpc } from './endpoints/rpc.ts'
import { confirm, type Panel } from './hearing/vote.ts'
import type { Network } from './networks.ts'
import { blockCall, ChainDoubt, type RpcBlock } from './transfer-logs.ts'
import { listSeenBlocks, updateGone } from './transfer-queries.ts'

const PAGE = 100
export const DEEP_WORDS = 'ALARM: recorded transfers left the chain in a very deep reorganisation'

type Place = { db: Db; network: Network; log: FastifyBaseLogger }

/** For each block, whether the node has a different one at its height. @returns undefined if it has none there yet */
async function compare(rpc: Rpc, blocks: readonly BlockId[]): Promise<readonly boolean[] | undefined> {
  const answers = await rpc.batch<RpcBlock | null>(blocks.map(({ number }) => blockCall(number)))
  if (answers.some((answer) => answer === null)) return undefined
  return answers.map((answer, index) => answer?.hash !== blocks[index]?.hash)
}

/**
 * After a reorganisation deeper than the remembered blocks, recorded transfers below them may be in blocks that are
 * gone. Each carries its block's hash, so the chain shows which: they become orphaned.
 * @param which transfers to these addresses (in lower case) or to all, in blocks from `from` on
 * @param untilStanding stop at the first page whose blocks all still exist: at that moment, all below them do
 * @returns how many
 * @throws RpcError; ChainDoubt while the endpoints do not agree
 */
export async function dropGone(
  { db, network, log }: Place,
  panel: Panel,
  { untilStanding = false, ...which }: { addresses: readonly string[] | 'all'; from: bigint; untilStanding?: boolean },
): Promise<number> {
  const { chainId } = network
  // remembered blocks are the scanner's business
  const oldest = (await listBlocks(db, chainId)).at(-1)
  if (!oldest) return 0
  let dropped = 0
  for (let below = oldest.number + 1n; ; ) {
    const blocks = await listSeenBlocks(db, { chainId, ...which, below, limit: PAGE })
    const last = blocks.at(-1)
    if (!last) return dropped
    const gone = await findGone(panel, blocks)
    const known = gone.length > 0 ? await drop(db, chainId, { oldest, gone, addresses: which.addresses }) : 0
    dropped += known
    if (known > 0) log.error({ chainId, known }, DEEP_WORDS)
    if (untilStanding && gone.length === 0) return dropped
    below = last.number
  }
}

async function findGone(panel: Panel, blocks: readonly BlockId[]): Promise<BlockId[]> {
  const own = await compare(panel.endpoint.rpc, blocks)
  if (!own) throw new ChainDoubt(`endpoint ${panel.endpoint.number} lacks old blocks`)
  if (!own.includes(true)) return []
  const subject = `${blocks.length} blocks up to ${blocks[0]?.number}`
  const oldest = blocks.at(-1)
  await confirm(panel, {
    ...{ own, ask: (rpc: Rpc) => compare(rpc, blocks), keyOf: (flags: readonly boolean[]) => flags.join(), subject },
    ...(oldest ? { block: { number: oldest.number } } : {}),
  })
  return blocks.filter((_, index) => own[index])
}

/** Not while the scanner rewinds: the remembered blocks must be the same as at the start. */
const drop = (
  db: Db,
  chainId: number,
  { oldest, ...which }: { oldest: BlockId; gone: readonly BlockId[]; addresses: readonly string[] | 'all' },
): Promise<number> =>
  db.tx(async (tx) => {
    const head = await lockHead(tx, chainId)
    if (!head || head.number < oldest.number) return 0
    return updateGone(tx, chainId, which)
  })
