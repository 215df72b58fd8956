import type { Db } from '../db/db.ts'
import { invalid } from '../kernel/errors.ts'
import { claimTransaction, releaseTransaction, type TransactionClaim } from './claim-queries.ts'

/**
 * Checks a transaction that a person names while it is kept for one refund or settlement, so that it settles no other.
 * @throws VALIDATION_FAILED at `txHash` when it is kept for another one; whatever `check` throws, and then it is free
 * again
 */
export async function checkClaimed<Verdict>(
  db: Db,
  claim: TransactionClaim,
  check: () => Promise<Verdict>,
): Promise<Verdict> {
  const mine = await db.tx((tx) => claimTransaction(tx, claim))
  if (!mine) throw invalid('txHash', 'has paid another refund or settlement already')
  try {
    return await check()
  } catch (error) {
    await releaseTransaction(db, claim)
    throw error
  }
}
