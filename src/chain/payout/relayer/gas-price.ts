import { larger, smaller } from '../../../kernel/money.ts'
import { askNodes, type Hex, type Rpc, RpcError } from '../../endpoints/rpc.ts'
import { toHex } from '../../transfer-logs.ts'
import { readNewestBlock } from '../payout-view.ts'
import { middleOf } from './wei.ts'

/** What the next blocks take for one gas, in wei. */
export type GasPrice = {
  /** The one in the middle of what the nodes show; 0 where the chain has none. */
  baseFee: bigint
  /** All that they show. */
  baseFees: readonly bigint[]
  tip: bigint
  /** The highest that a node suggests: for a transaction that waits in vain, or that a node refused. */
  highestTip: bigint
}

/** Suggested where a node suggests nothing, and so little that no block is asked whether it was paid. */
export const USUAL_TIP = 1_000_000_000n
const PAST_BLOCKS = 20n
/** A tip is at most so many times what one of the last blocks was paid. */
const MOST_TIMES_PAID = 2n

/** A node may answer anything to a question that it need not answer. */
type FeeHistory = { gasUsedRatio?: unknown; reward?: unknown } | null

const WEI = /^0x[0-9a-f]{1,64}$/i
const entryOf = (list: unknown, index: number): unknown => (Array.isArray(list) ? list[index] : undefined)

const nullIf = (isExpected: (error: RpcError) => boolean) => (error: unknown) => {
  if (error instanceof RpcError && isExpected(error)) return null
  throw error
}
const nullIfRefused = nullIf(({ kind }) => kind === 'definite')

/**
 * The largest of the median tips that the last blocks were paid; null: the node does not say it, or those blocks are
 * empty.
 */
async function readPaidTip(node: Rpc): Promise<bigint | null> {
  const asked = [toHex(PAST_BLOCKS), 'latest', [50]]
  const past = await node.call<FeeHistory>('eth_feeHistory', ...asked).catch(nullIf(() => true))
  const rewards: unknown[] = Array.isArray(past?.reward) ? past.reward : []
  const paid = rewards.flatMap((reward, index) => {
    const [tip, used] = [entryOf(reward, 0), entryOf(past?.gasUsedRatio, index)]
    return typeof tip === 'string' && WEI.test(tip) && typeof used === 'number' && used > 0 ? [BigInt(tip)] : []
  })
  return paid.length === 0 ? null : paid.reduce(larger)
}

type NodePrice = { baseFee: bigint | null; tip: bigint; paid: bigint | null }

/** What one node suggests, as far as its own blocks bear it out. @throws RpcError */
async function readNodePrice(node: Rpc): Promise<NodePrice> {
  const [{ baseFee }, suggested, paid] = await Promise.all([
    readNewestBlock(node),
    node.call<Hex>('eth_maxPriorityFeePerGas').catch(nullIfRefused),
    readPaidTip(node),
  ])
  const tip = larger(suggested === null ? USUAL_TIP : BigInt(suggested), 1n)
  const most = paid === null ? tip : larger(paid * MOST_TIMES_PAID, USUAL_TIP)
  return { baseFee, tip: smaller(tip, most), paid }
}

const isKnown = (value: bigint | null): value is bigint => value !== null

/**
 * A tip goes to whoever makes the block, so one node's word is not believed where there are others: of all proven ones,
 * the value in the middle; but no less than blocks were paid, as far as that is little. A block without a base fee says
 * nothing where another node shows one.
 * @throws RpcError if none answers
 */
export async function readGasPrice(rpc: Rpc): Promise<GasPrice> {
  const prices = await askNodes(rpc, readNodePrice)
  const tips = prices.map(({ tip }) => tip)
  const baseFees = prices.map(({ baseFee }) => baseFee).filter(isKnown)
  const paid = middleOf(prices.map((one) => one.paid).filter(isKnown))
  return {
    ...{ baseFee: middleOf(baseFees), baseFees },
    ...{ tip: larger(middleOf(tips), smaller(paid, USUAL_TIP)), highestTip: tips.reduce(larger) },
  }
}
