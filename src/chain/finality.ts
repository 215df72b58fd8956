import type { FinalityRule, Network } from './networks.ts'
import type { Head, Transfer } from './transfer.ts'

type Placed = Pick<Transfer, 'blockNumber' | 'status'>
type Reached = Pick<Head, 'number' | 'safeNumber' | 'finalizedNumber'>

/** 1 in the newest block; 0 when orphaned. */
export function confirmationsOf(transfer: Placed, head: Pick<Head, 'number'>): bigint {
  if (transfer.status === 'orphaned' || transfer.blockNumber > head.number) return 0n
  return head.number - transfer.blockNumber + 1n
}

/**
 * Whether a transfer is final by this network's rule for its amount.
 * @param units the amount at stake, in USDC units: if several transfers pay an order, their sum
 * @param largeFromUnits a merchant's own threshold between small and large amounts
 */
export function isFinal(
  network: Pick<Network, 'small' | 'large' | 'largeFromUnits'>,
  {
    units,
    transfer,
    head,
    largeFromUnits,
  }: { units: bigint; transfer: Placed; head: Reached; largeFromUnits?: bigint | undefined },
): boolean {
  const rule = units >= (largeFromUnits ?? network.largeFromUnits) ? network.large : network.small
  return isSatisfied(rule, transfer, head)
}

/** Whether it is final by both the small and the large rule, so no further block matters. */
export function isSettled(network: Pick<Network, 'small' | 'large'>, transfer: Placed, head: Reached): boolean {
  return isSatisfied(network.small, transfer, head) && isSatisfied(network.large, transfer, head)
}

/** The highest block in which `isSettled` holds for every transfer; null: none is known. */
export function settledUpTo(network: Pick<Network, 'small' | 'large'>, head: Reached): bigint | null {
  const [small, large] = [reachOf(network.small, head), reachOf(network.large, head)]
  if (small === null || large === null) return null
  const reach = small < large ? small : large
  return reach < head.number ? reach : head.number
}

/**
 * The number of confirmations shown to the payer; null if a block tag decides.
 * @param units the amount at stake, as for `isFinal`
 */
export function confirmationsNeeded(
  network: Pick<Network, 'small' | 'large' | 'largeFromUnits'>,
  units: bigint,
): number | null {
  const rule = units >= network.largeFromUnits ? network.large : network.small
  return rule.kind === 'confirmations' ? rule.confirmations : null
}

/** The highest block that this rule calls final; null: none is known. */
function reachOf(rule: FinalityRule, head: Reached): bigint | null {
  if (rule.kind === 'confirmations') return head.number - BigInt(rule.confirmations) + 1n
  const tagged = rule.tag === 'safe' ? head.safeNumber : head.finalizedNumber
  return tagged === null ? null : tagged - BigInt(rule.extraBlocks)
}

function isSatisfied(rule: FinalityRule, transfer: Placed, head: Reached): boolean {
  const reach = reachOf(rule, head)
  return confirmationsOf(transfer, head) > 0n && reach !== null && transfer.blockNumber <= reach
}
