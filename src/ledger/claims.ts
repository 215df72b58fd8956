import type { Db, Tx } from '../db/db.ts'
import { invalid } from '../kernel/errors.ts'
import { claimTransaction, releaseTransaction, type TransactionClaim } from './claim-queries.ts'

const taken = () => invalid('txHash', 'has paid another refund or settlement already')

/**
 * Checks a transaction that a person names while it is kept for one refund or settlement, so that it settles no other.
 * What follows it then is written together with `keepClaim`.
 * @throws VALIDATION_FAILED at `txHash` when it is kept for another one; whatever `check` throws, and then it is free
 * again, unless it was kept before or is followed by now
 */
export async function checkClaimed<Verdict>(
  db: Db,
  claim: TransactionClaim,
  check: () => Promise<Verdict>,
): Promise<Verdict> {
  const result = await db.tx((tx) => claimTransaction(tx, claim))
  if (result === 'taken') throw taken()
  try {
    return await check()
  } catch (error) {
    // who named it before may follow it already, or be about to
    if (result === 'made') await db.tx((tx) => releaseTransaction(tx, claim))
    throw error
  }
}

/**
 * Keeps the claim for what follows the transaction from now on: another request for the same refund or settlement may
 * have released it since the check.
 * @throws VALIDATION_FAILED at `txHash` when it is kept for another one
 */
export async function keepClaim(tx: Tx, claim: TransactionClaim): Promise<void> {
  if ((await claimTransaction(tx, claim)) === 'taken') throw taken()
}
