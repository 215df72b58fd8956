import { formatDecimal, larger, smaller } from '../../../kernel/money.ts'
import type { Hex } from '../../endpoints/rpc.ts'
import type { Network } from '../../networks.ts'
import type { PayoutDeps } from '../payout-deps.ts'
import type { ChainView } from '../payout-view.ts'
import { findFeeOverride } from '../wallet-queries.ts'
import { PAYOUT_GAS } from './attempts.ts'
import { type DataOf, readDataFee } from './data-fee.ts'
import { type GasPrice, readGasPrice, USUAL_TIP } from './gas-price.ts'
import { listSigned } from './signed-transactions.ts'
import type { PayoutTransaction } from './transaction-queries.ts'

/*
 * What a transaction of the relayer pays for gas. Its account nonce decides, not its payout: a node compares it with
 * whatever it has of the same nonce.
 */

export type Fees = Pick<PayoutTransaction, 'maxFeeWei' | 'priorityFeeWei'>

/** `mostPriorityWei`: a replacement with a higher tip would not help. */
export type Offer = Fees & { mostPriorityWei: bigint }

/**
 * Raises a fee by an eighth, rounded up: nodes accept a replacement only if both fees rise by at least a tenth
 * (go-ethereum).
 */
const raise = (fee: bigint): bigint => (fee * 9n + 7n) / 8n

/** A tip is raised to at most so many times the present one, or to the base fee if that is more. */
const MOST_TIPS = 10n

/** At most twice the base fee, so that it may rise; not above the ceiling where that is enough for now. */
const maxFeeAt = (baseFee: bigint, tip: bigint, { ceiling }: Pick<Means, 'ceiling'>): bigint =>
  larger(smaller(baseFee * 2n + tip, ceiling), baseFee + tip)

/**
 * The highest base fee that a node shows and the relayer may and can pay for: what is more than the block's is not
 * charged, and with less than it a transaction waits in vain.
 */
function coveredBaseFee({ baseFee, baseFees, tip }: GasPrice, means: Means): bigint {
  const isPayable = (one: bigint) => one + tip <= means.ceiling && PAYOUT_GAS * maxFeeAt(one, tip, means) <= means.purse
  return baseFees.filter(isPayable).reduce(larger, baseFee)
}

/** What a transaction pays whose account nonce nothing was signed with. */
const offerAt = (price: GasPrice, means: Means): Offer => ({
  priorityFeeWei: price.tip,
  maxFeeWei: maxFeeAt(coveredBaseFee(price, means), price.tip, means),
  mostPriorityWei: larger(price.tip * MOST_TIPS, price.baseFee),
})

/**
 * What replaces a transaction that waits in vain, or that a node refused: its tip is doubled until it is the highest
 * that a node suggests, within the ceiling. So the word of one node alone never has much more paid at once.
 */
function offerAgain(price: GasPrice, means: Means, earlierTip: bigint): Offer {
  const most = larger(smaller(price.highestTip, means.ceiling - price.baseFee), price.tip)
  const tip = smaller(most, larger(larger(price.tip, USUAL_TIP), earlierTip * 2n))
  const { mostPriorityWei } = offerAt(price, means)
  return { ...offerAt({ ...price, tip }, means), mostPriorityWei: larger(mostPriorityWei, most) }
}

/** What no block takes at this price. */
const isTooLow = ({ maxFeeWei }: Fees, { baseFee, tip }: Pick<GasPrice, 'baseFee' | 'tip'>): boolean =>
  maxFeeWei < baseFee + tip

/**
 * The fees at this price, but at least enough to replace whatever the relayer has signed with this account nonce.
 * Where no block takes the newest of it, a higher tip than the highest is no waste.
 * @param nonce null: none is known yet
 */
export async function aboveSigned(
  deps: PayoutDeps,
  price: GasPrice,
  means: Means,
  nonce: bigint | null,
): Promise<Offer> {
  const earlier = nonce === null ? [] : await listSigned(deps, nonce)
  const most = (fee: keyof Fees) => earlier.reduce((sofar, one) => larger(sofar, one[fee]), 0n)
  const now = earlier.length === 0 ? offerAt(price, means) : offerAgain(price, means, most('priorityFeeWei'))
  const above = (fee: keyof Fees) => larger(raise(most(fee)), now[fee])
  const [maxFeeWei, priorityFeeWei] = [above('maxFeeWei'), above('priorityFeeWei')]
  const newest = earlier.at(-1)
  const isFree = newest !== undefined && isTooLow(newest, price)
  const mostPriorityWei = isFree ? larger(now.mostPriorityWei, priorityFeeWei) : now.mostPriorityWei
  return { maxFeeWei, priorityFeeWei, mostPriorityWei }
}

/**
 * For something else than was signed with the nonce so far: it is submitted in any case, for at most a step more than
 * the highest tip. A node that has a dearer one refuses it, and that one gets into a block; one that has lost that, or
 * has refused it, takes this.
 */
export function atMostAStepMore(
  { maxFeeWei, priorityFeeWei, mostPriorityWei }: Offer,
  price: GasPrice,
  means: Means,
): Offer {
  const most = smaller(raise(mostPriorityWei), larger(means.ceiling - price.baseFee, price.tip))
  return {
    maxFeeWei: smaller(maxFeeWei, raise(coveredBaseFee(price, means) * 2n + mostPriorityWei)),
    priorityFeeWei: smaller(priorityFeeWei, most),
    mostPriorityWei: most,
  }
}

/** It has waited for so many blocks that it may be replaced with a dearer one. */
export const isStuck = ({ stuckBlocks }: PayoutDeps, view: ChainView, { sentBlock }: PayoutTransaction): boolean =>
  view.number - (sentBlock ?? view.number) >= stuckBlocks

/**
 * Whether a transaction that is next is to be replaced with a dearer one. One that the node shows is, once it is stuck.
 * A node that shows nothing may have lost it, and the same bytes cost no more: unless they pay less than a new one, and
 * no block takes them.
 */
export async function isRaiseDue(deps: PayoutDeps, view: ChainView, newest: PayoutTransaction): Promise<boolean> {
  if (!isStuck(deps, view, newest)) return false
  const known = await deps.rpc.call<object | null>('eth_getTransactionByHash', newest.txHash)
  if (known !== null) return true
  const price = await readGasPrice(deps.rpc)
  const baseFee = coveredBaseFee(price, await readMeans(deps, newest.payoutId === null ? 'filling' : 'payout'))
  return newest.priorityFeeWei < price.tip || isTooLow(newest, { ...price, baseFee })
}

/** What the relayer may and can pay for gas, in wei: without what a transaction's data costs beside it. */
export type Means = { ceiling: bigint; purse: bigint }

export async function readMeans(deps: PayoutDeps, of: DataOf = 'payout'): Promise<Means> {
  const { rpc, network, relayerSigner } = deps
  const balance = await rpc.call<Hex>('eth_getBalance', relayerSigner.address, 'latest')
  // a node takes no transaction unless the balance covers both
  const purse = BigInt(balance) - (await readDataFee(rpc, network, of))
  return { ceiling: await findCeiling(deps), purse }
}

/** Gas costs more than it may, or more than the relayer has. Null: it can be paid for. */
export function findGasFault(
  { network, relayerSigner }: PayoutDeps,
  { baseFee }: GasPrice,
  { gas, maxFeeWei, priorityFeeWei, ceiling, mostPriorityWei, purse }: Offer & Means & { gas: bigint },
): { providerStatus: string; never: false } | null {
  if (priorityFeeWei > mostPriorityWei) return { providerStatus: OUTBID, never: false }
  const costs = baseFee + priorityFeeWei
  if (costs > ceiling) return { providerStatus: tooExpensive(network, costs, ceiling), never: false }
  if (purse >= gas * maxFeeWei) return null
  const providerStatus = `The relayer ${relayerSigner.address} on chain ${network.chainId} has too little native coin for gas. Fund it.`
  return { providerStatus, never: false }
}

const OUTBID =
  'Its transaction pays the relayer’s highest tip, and is not replaced by a dearer one. It waits for a block, or until ' +
  'its authorization runs out.'

/** A temporary override by an operator takes precedence over the setting. */
const findCeiling = async ({ db, clock, network }: PayoutDeps): Promise<bigint> =>
  (await findFeeOverride(db, network.chainId, new Date(clock()))) ?? network.maxFeeWei

const tooExpensive = ({ chainId, name }: Network, costs: bigint, ceiling: bigint): string =>
  `Gas on ${name} costs ${formatDecimal(costs, 9)} gwei, more than the ${formatDecimal(ceiling, 9)} that are allowed. ` +
  `It waits; to pay more for a while: comptoir admin allow-fee --chain ${chainId}`
