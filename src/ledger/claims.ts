import { lockActor } from '../companies/company-scope.ts'
import type { Db, Queryable, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import { MINUTE } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import {
  claimTransaction,
  isSettlementTransaction,
  listClaimedForeign,
  lockClaims,
  releaseClaims,
  releaseTransaction,
  type TransactionClaim,
} from './claim-queries.ts'

/** @returns whether it is new @throws VALIDATION_FAILED at `txHash` when it is reserved for another one */
export async function claim(tx: Tx, wanted: TransactionClaim): Promise<boolean> {
  const result = await claimTransaction(tx, wanted)
  if (result === 'taken' || (await isSettlementTransaction(tx, wanted)))
    throw invalid('txHash', 'has paid another refund or settlement to this address already')
  return result === 'made'
}

/** Naming a transaction takes less. */
export const NAMING_MS = MINUTE

/**
 * Checks a transaction that a person names while what it brings to an address is reserved for one refund or settlement,
 * so that it can settle no other; then that one may `follow` it, and one that was named for it before is released.
 * @param actor locked before anything else: its session may end during the check
 * @param isWithdrawn whether its own payout was withdrawn, as naming does once a check has passed
 * @param begin has it polled in `NAMING_MS`, in case naming is cut short
 * @throws UNAUTHORIZED; VALIDATION_FAILED at `txHash` when it is reserved for another one; whatever `check` throws,
 * after releasing it, unless it was reserved before and may have passed a check then; whatever `follow` throws:
 * OBJECT_CONFLICT if that one is over, after releasing it
 */
export async function followClaimed<Verdict>(
  db: Db,
  wanted: TransactionClaim,
  {
    actor,
    isWithdrawn,
    begin,
    check,
    follow,
  }: {
    actor: Actor
    isWithdrawn(q: Queryable): Promise<boolean>
    begin(tx: Tx): Promise<unknown>
    check(): Promise<Verdict>
    follow(tx: Tx, verdict: Verdict): Promise<void>
  },
): Promise<Verdict> {
  const made = await db.tx(async (tx) => {
    await lockActor(tx, actor, wanted.companyId)
    await begin(tx)
    return claim(tx, wanted)
  })
  let isChecked = false
  try {
    const verdict = await check()
    isChecked = true
    await db.tx(async (tx) => {
      await lockActor(tx, actor, wanted.companyId)
      // the refund or settlement is locked before its claims, as by whoever settles or drops it
      await follow(tx, verdict)
      // a concurrent request of the same person may have released it
      await claim(tx, wanted)
      const { companyId, network, causeId } = wanted
      await releaseClaims(tx, { companyId, network, causeId })
    })
    return verdict
  } catch (error) {
    // the check may have withdrawn our payout: what pays it instead stays known while it is open
    const isOpen = isChecked && !(error instanceof AppError && error.code === 'OBJECT_CONFLICT')
    // if naming it was cut short before, only the chain's own word shows that it is wrong
    const isWrong = made || (!isChecked && isRefusal(error) && !(await isWithdrawn(db)))
    if (isWrong && !isOpen) await db.tx((tx) => releaseTransaction(tx, wanted))
    throw error
  }
}

/** What was polled before a person named the transaction, which now takes precedence. */
export const isNamedSince = (asked: Named, current: Named): boolean =>
  current.byHand && (!asked.byHand || asked.txHash !== current.txHash)
type Named = { byHand: boolean; txHash: string | null }

/** Why a payout of ours does not settle its refund or settlement: a person named its transaction for another one. */
export const claimedWords = (txHash: string): string =>
  `Transaction ${txHash} paid this, but it was named for another refund or settlement, which is settled with it. Look up ` +
  'what paid that one (docs/backup.md).'

/** A refund or settlement for which a person may have named transactions. `network` null: none can be named. */
type Nameable = Named & { id: string; network: number | null }

/**
 * Every transaction that a person named for it and that keeps the service from paying it: the one that it follows, and
 * foreign ones whose naming was cut short.
 */
export async function listNamed(q: Queryable, { id: causeId, network, byHand, txHash }: Nameable): Promise<string[]> {
  if (network === null) return []
  const claimed = await listClaimedForeign(q, { network, causeId })
  return byHand && txHash !== null ? [...new Set([txHash, ...claimed])] : claimed
}

/** What a refund or settlement says that is not sent because of what a person named, and does not follow it. */
export const namedWords = (named: readonly string[]): string =>
  `Transaction ${named.join(' or ')} was named for this, so the service does not send it any more. If it is not ` +
  'settled in a minute, name that transaction again. If it is gone, a SuperAdmin can reject or cancel this.'

/**
 * What its payout says once a person named, or is naming, a foreign transaction for it; null: none is, nor will be
 * until the transaction of the database ends.
 */
export async function findNamedHold(
  tx: Tx,
  { network, causeId }: Pick<TransactionClaim, 'network' | 'causeId'>,
): Promise<string | null> {
  await lockClaims(tx, causeId)
  const named = await listClaimedForeign(tx, { network, causeId })
  return named.length > 0 ? namedWords(named) : null
}

/** A check refuses the named transaction: it pays something else, or nothing, or no node knows it any more. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && error.details?.some(({ path }) => path === 'txHash') === true

async function isRefused(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check()
    return false
  } catch (error) {
    if (isRefusal(error)) return true
    throw error
  }
}

/**
 * The named transactions that cannot pay it, for `checkNoneHolds`. The chain is asked about each of them, with no
 * transaction of the database open. @throws whatever `check` throws, unless it refuses the transaction
 */
export async function listVanished(
  db: Db,
  named: Nameable,
  check: (txHash: string) => Promise<unknown>,
): Promise<string[]> {
  const vanished: string[] = []
  for (const txHash of await listNamed(db, named)) if (await isRefused(() => check(txHash))) vanished.push(txHash)
  return vanished
}

/** What to do where what was named or signed cannot be looked up. */
export const missingChainWords = (network: number | null): string =>
  `the chain ${network} is not set up; give it back (CHAIN_${network}_RPC_URL, CHAIN_${network}_XPUB)`

/** Why it cannot be dropped where its chain is not set up: nothing says whether what was signed for it was used. */
export const signedWords = (network: number | null): string =>
  `Something was signed for it and may have paid it, and ${missingChainWords(network)}, so that it can be seen whether ` +
  'it did.'

type Dated = { updatedAt: Date }

/**
 * What a person named for a refund or settlement holds it, in whatever state it is, until the chain refuses what was
 * named: dropped, it would be paid a second time. @param vanished null: its chain is not set up here
 * @param asked as it was before its chain was asked: what vanished then may have been named again since
 * @throws OBJECT_CONFLICT
 */
export async function checkNoneHolds(
  tx: Tx,
  { asked, current: named }: { asked: Dated; current: Nameable & Dated },
  vanished: readonly string[] | null,
): Promise<void> {
  if (vanished && vanished.length > 0 && asked.updatedAt.getTime() !== named.updatedAt.getTime())
    throw new AppError('OBJECT_CONFLICT', {
      message: 'It has changed while its chain was asked about what was named for it. Try again.',
    })
  const txHash = (await listNamed(tx, named)).find((one) => !vanished?.includes(one))
  if (txHash === undefined) return
  throw new AppError('OBJECT_CONFLICT', {
    message:
      `Transaction ${txHash} was named for this and may have paid it, ` +
      (vanished === null
        ? `and ${missingChainWords(named.network)}, then reject or cancel.`
        : 'so it can be dropped only once no node knows that transaction. If it is not settled in a minute, name that ' +
          'transaction again.'),
  })
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
