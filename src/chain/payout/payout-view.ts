import { MINUTE, SECOND } from '../../kernel/clock.ts'
import { tagsOf } from '../endpoints/network-check.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { blockCall } from '../transfer-logs.ts'
import { UNSIGNED } from './state/states.ts'

/** The chain as a node saw it at one moment. */
export type ChainView = {
  number: bigint
  /** Of the newest block. */
  hash: string
  /** Timestamp of the newest block, in seconds. */
  timestamp: bigint
  /** Null if the network's rules do not use it. */
  safeNumber: bigint | null
  finalizedNumber: bigint | null
}

type BlockHead = { number: Hex; hash: string; timestamp: Hex; baseFeePerGas?: Hex }

const toHead = (head: BlockHead | null | undefined) => {
  if (!head) throw new RpcError('unknown', 'the node knows no newest block')
  return {
    number: BigInt(head.number),
    hash: head.hash,
    timestamp: BigInt(head.timestamp),
    /** Wei per gas; null: the block shows none. */
    baseFee: head.baseFeePerGas ? BigInt(head.baseFeePerGas) : null,
  }
}

/** @throws RpcError */
export async function readNewestBlock(rpc: Rpc) {
  const { method, params } = blockCall('latest')
  return toHead(await rpc.call<BlockHead | null>(method, ...params))
}

/** @throws RpcError */
export async function readChainView(rpc: Rpc, network: Network): Promise<ChainView> {
  const tags = tagsOf(network)
  const [head, ...tagged] = await rpc.batch<BlockHead | null>(['latest', ...tags].map(blockCall))
  const { number, hash, timestamp } = toHead(head)
  const numberOf = (tag: 'safe' | 'finalized'): bigint | null => {
    const block = tagged[tags.indexOf(tag)]
    return block ? BigInt(block.number) : null
  }
  return {
    number,
    hash,
    timestamp,
    safeNumber: numberOf('safe'),
    finalizedNumber: numberOf('finalized'),
  }
}

type Authorized = { signature: Hex | null; validBefore: bigint | null }

export const hasSignature = ({ signature }: Pick<Authorized, 'signature'>): boolean =>
  signature !== null && signature !== UNSIGNED

/** Whether its signature is stored and can be used. */
export const isSigned = (payout: Authorized, view: ChainView): boolean =>
  hasSignature(payout) && payout.validBefore !== null && view.timestamp < payout.validBefore

/** Block times can go back a little in a reorganisation. */
export const EXPIRY_MARGIN_SECONDS = 60n

/** Whether the authorization can no longer be used, so giving up is safe. */
export const isAuthorizationOver = ({ validBefore }: { validBefore: bigint | null }, view: ChainView): boolean =>
  validBefore === null || view.timestamp >= validBefore + EXPIRY_MARGIN_SECONDS

const MOST_AHEAD_MS = 30 * MINUTE
/** An authorization of ours is valid for an hour. */
export const VALID_SECONDS = 3600

/** When the last authorization that was signed before this moment has run out, in the chain's seconds. */
export const lastExpiryOf = (signedUntil: Date): bigint =>
  BigInt(Math.ceil((signedUntil.getTime() + MOST_AHEAD_MS) / SECOND) + VALID_SECONDS) + EXPIRY_MARGIN_SECONDS

/**
 * Why nothing is signed by this clock: an expiry counted from it could be far off, and until then what is signed cannot
 * be taken back. Null: it is about ours, or behind it.
 */
export function findClockFault({ chainId, name }: Network, { timestamp }: ChainView, nowMs: number): string | null {
  const aheadMs = Number(timestamp) * SECOND - nowMs
  if (aheadMs <= MOST_AHEAD_MS) return null
  return (
    `The newest block of ${name} is ${Math.round(aheadMs / MINUTE)} minutes ahead of our clock, so nothing is signed. ` +
    `Check the clock of the server, and the nodes in CHAIN_${chainId}_RPC_URL.`
  )
}
