import { lockActor } from '../companies/company-scope.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { claimTransaction, releaseClaims, releaseTransaction, type TransactionClaim } from './claim-queries.ts'

/** @returns whether it is new @throws VALIDATION_FAILED at `txHash` when it is reserved for another one */
export async function claim(tx: Tx, wanted: TransactionClaim): Promise<boolean> {
  const result = await claimTransaction(tx, wanted)
  if (result === 'taken') throw invalid('txHash', 'has paid another refund or settlement to this address already')
  return result === 'made'
}

/**
 * Checks a transaction that a person names while what it brings to an address is reserved for one refund or settlement,
 * so that it can settle no other; then that one may `follow` it, and one that was named for it before is released.
 * @throws VALIDATION_FAILED at `txHash` when it is reserved for another one; UNAUTHORIZED, and whatever `check` and
 * `follow` throw, after releasing it, unless it was reserved before or is followed by now
 */
export async function followClaimed<Verdict>(
  db: Db,
  actor: Actor,
  wanted: TransactionClaim,
  { check, follow }: { check(): Promise<Verdict>; follow(tx: Tx, verdict: Verdict): Promise<void> },
): Promise<Verdict> {
  const made = await db.tx((tx) => claim(tx, wanted))
  try {
    const verdict = await check()
    await db.tx(async (tx) => {
      await lockActor(tx, actor, wanted.companyId)
      // a concurrent request of the same person may have released it
      await claim(tx, wanted)
      await follow(tx, verdict)
      const { companyId, network, causeId } = wanted
      await releaseClaims(tx, { companyId, network, causeId })
    })
    return verdict
  } catch (error) {
    // if it was reserved before, an earlier request may already follow it or be about to
    if (made) await db.tx((tx) => releaseTransaction(tx, wanted))
    throw error
  }
}

/** Why a payout of ours does not settle its refund or settlement: a person named its transaction for another one. */
export const claimedWords = (txHash: string): string =>
  `Transaction ${txHash} paid this, but it was named for another refund or settlement, which is settled with it. Look up ` +
  'what paid that one (docs/backup.md).'

/** Whether a check refuses the named transaction: it pays something else, or nothing, or no node knows it any more. */
export async function isRefused(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check()
    return false
  } catch (error) {
    if (error instanceof AppError && error.details?.some(({ path }) => path === 'txHash')) return true
    throw error
  }
}

/**
 * Repeats the check later. The transaction may be gone: the sender's wallet replaced it, or its block left the chain.
 * That says nothing about the payout, but whoever named the transaction must learn of it.
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
