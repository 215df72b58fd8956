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

/** The number of confirmations shown to the payer; null if a block tag decides. */
export function confirmationsNeeded(
  network: Pick<Network, 'small' | 'large' | 'largeFromUnits'>,
  units: bigint,
): number | null {
  const rule = units >= network.largeFromUnits ? network.large : network.small
  return rule.kind === 'confirmations' ? rule.confirmations : null
}

function isSatisfied(rule: FinalityRule, transfer: Placed, head: Reached): boolean {
  const confirmations = confirmationsOf(transfer, head)
  if (confirmations === 0n) return false
  if (rule.kind === 'confirmations') return confirmations >= BigInt(rule.confirmations)
  const tagged = rule.tag === 'safe' ? head.safeNumber : head.finalizedNumber
  return tagged !== null && transfer.blockNumber + BigInt(rule.extraBlocks) <= tagged
}
