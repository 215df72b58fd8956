import { listTransfersSince } from '../chain/transfer-queries.ts'
import type { Queryable } from '../db/db.ts'
import { isSharedDeposit } from './deposit-check-queries.ts'
import type { Payment } from './payment-queries.ts'

/** Addresses (lower case) that sent at least this many USDC units to a payment’s deposit address. */
export async function listPayingAddresses(q: Queryable, payment: Payment, leastUnits: bigint): Promise<string[]> {
  const { toAddress = null, tokenAddress = null } = payment.instructions ?? {}
  if (toAddress === null || tokenAddress === null) return []
  // strangers pay to a shared address too
  if (payment.ownAccount && (await isSharedDeposit(q, payment))) return []
  const sums = new Map<string, bigint>()
  for (const { chainId, token, status, fromAddress, units } of await listTransfersSince(q, [toAddress])) {
    const counts = chainId === payment.network && token === tokenAddress.toLowerCase()
    if (counts && status === 'seen') sums.set(fromAddress, (sums.get(fromAddress) ?? 0n) + units)
  }
  return [...sums].filter(([, units]) => units >= leastUnits).map(([address]) => address)
}
