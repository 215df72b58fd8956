import type { Db, Tx } from '../db/db.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { claimTransaction, releaseTransaction, type TransactionClaim } from './claim-queries.ts'

async function claim(tx: Tx, wanted: TransactionClaim): Promise<boolean> {
  const result = await claimTransaction(tx, wanted)
  if (result === 'taken') throw invalid('txHash', 'has paid another refund or settlement already')
  return result === 'made'
}

/**
 * Checks a transaction that a person names while it is kept for one refund or settlement, so that it settles no other,
 * and lets that one `follow` it.
 * @throws VALIDATION_FAILED at `txHash` when it is kept for another one; whatever `check` and `follow` throw, and then
 * it is free again, unless it was kept before or is followed by now
 */
export async function followClaimed<Verdict>(
  db: Db,
  wanted: TransactionClaim,
  { check, follow }: { check(): Promise<Verdict>; follow(tx: Tx, verdict: Verdict): Promise<void> },
): Promise<Verdict> {
  const made = await db.tx((tx) => claim(tx, wanted))
  try {
    const verdict = await check()
    await db.tx(async (tx) => {
      // another request of the same person may have released it since
      await claim(tx, wanted)
      await follow(tx, verdict)
    })
    return verdict
  } catch (error) {
    // who named it before may follow it already, or be about to
    if (made) await db.tx((tx) => releaseTransaction(tx, wanted))
    throw error
  }
}

/**
 * The same check again, later. The transaction may be gone: its sender's wallet replaced it, or its block left the
 * chain. That says nothing about the payout, but whoever named the transaction has to learn of it.
 */
export async function checkNamedAgain<Verdict>(
  txHash: string,
  check: () => Promise<Verdict>,
): Promise<Verdict | { outcome: 'pending'; reference: null; txHash: string; providerStatus: string }> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const [fault] = error.details ?? []
    const gone = `Transaction ${txHash} ${fault?.message}. If another one paid this, name that one.`
    return { outcome: 'pending', reference: null, txHash, providerStatus: fault ? gone : error.message }
  }
}
