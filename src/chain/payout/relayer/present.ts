import { parseTransaction } from 'viem/utils'
import { askNodes, type Hex, type Rpc } from '../../endpoints/rpc.ts'
import type { Payout } from '../payout-queries.ts'
import { expiryOfCall } from '../usdc-token.ts'
import type { PayoutTransaction } from './transaction-queries.ts'

/** Whether it uses the account nonce that the payout keeps. An earlier version did not store who signed it. */
export const isKept = (
  { relayerNonce, relayerAddress }: Payout,
  { relayerNonce: nonce, signerAddress }: PayoutTransaction,
): boolean => nonce === relayerNonce && (signerAddress ?? relayerAddress) === relayerAddress

/**
 * The transaction that is to pay it, which the row names. Undefined: none was signed with the account nonce that it
 * keeps.
 */
export function presentOf(payout: Payout, transactions: readonly PayoutTransaction[]): PayoutTransaction | undefined {
  const kept = transactions.filter((one) => isKept(payout, one))
  // an earlier version signed it
  if (payout.presentTxHash === null) return kept.at(-1)
  return kept.find(({ txHash }) => txHash === payout.presentTxHash)
}

/** The contract that a signed transaction calls, and when the authorization in it runs out. */
function callOf(raw: Hex): { token: Hex | undefined; validBefore: bigint | undefined } | undefined {
  try {
    const { to, data } = parseTransaction(raw as `0x02${string}`)
    return { token: to?.toLowerCase() as Hex | undefined, validBefore: data && expiryOfCall(data) }
  } catch {
    return undefined // the stored bytes do not say it
  }
}

export const tokenOfTransaction = ({ raw }: PayoutTransaction): Hex | undefined => callOf(raw)?.token

/** Those that submit what is signed for the payout now, and not what ran out before; oldest first. */
export const listPresent = (
  { validBefore }: Payout,
  transactions: readonly PayoutTransaction[],
): readonly PayoutTransaction[] =>
  validBefore === null ? [] : transactions.filter(({ raw }) => callOf(raw)?.validBefore === validBefore)

/** Whether one of them can still pay it: what ran out before cannot. */
export const isSignedNow = (payout: Payout, transactions: readonly PayoutTransaction[]): boolean =>
  presentOf(payout, transactions) !== undefined || listPresent(payout, transactions).length > 0

/**
 * Whether a node ever took what is signed for it now. A process may have ended between handing it in and writing that
 * down, so all nodes are asked. @returns null while they do not agree: only some have it, or one errs @throws RpcError
 */
export async function wasSubmitted(
  { rpc }: { rpc: Rpc },
  payout: Payout,
  transactions: readonly PayoutTransaction[],
): Promise<boolean | null> {
  const signed = listPresent(payout, transactions)
  if (signed.some(({ sentBlock }) => sentBlock !== null)) return true
  if (signed.length === 0) return false
  const questions = signed.map(({ txHash }) => ({ method: 'eth_getTransactionByHash', params: [txHash] }))
  // no vote: what waits is not the same on all nodes, which proves none of them wrong
  const answers = await askNodes(rpc, async (node) =>
    (await node.batch<object | null>(questions)).some((one) => one !== null),
  )
  const [first = false] = answers
  return answers.every((one) => one === first) ? first : null
}
