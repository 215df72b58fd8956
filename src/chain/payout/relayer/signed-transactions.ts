import { keccak256, parseTransaction, recoverAddress, serializeTransaction } from 'viem/utils'
import type { Hex } from '../../endpoints/rpc.ts'
import type { PayoutDeps } from '../payout-deps.ts'
import { listNonceTransactions, type PayoutTransaction } from './transaction-queries.ts'

/** Who signed it, in lower case. */
async function recoverSigner(raw: Hex): Promise<string> {
  const { r, s, yParity, ...unsigned } = parseTransaction(raw as `0x02${string}`)
  if (r === undefined || s === undefined || yParity === undefined) throw new Error('a stored transaction is not signed')
  const hash = keccak256(serializeTransaction(unsigned))
  return (await recoverAddress({ hash, signature: { r, s, yParity } })).toLowerCase()
}

/**
 * Everything that this relayer has signed with the account nonce, oldest first: for payouts that keep it, for those
 * that gave it up, and to fill it. Relayers of earlier settings count with the same numbers.
 */
export async function listSigned(
  { db, network, relayerSigner }: PayoutDeps,
  nonce: bigint,
): Promise<PayoutTransaction[]> {
  const all = await listNonceTransactions(db, network.chainId, nonce)
  const signers = await Promise.all(all.map(({ signerAddress, raw }) => signerAddress ?? recoverSigner(raw)))
  return all.filter((_, index) => signers[index] === relayerSigner.address.toLowerCase())
}
