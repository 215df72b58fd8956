import type { FastifyBaseLogger } from 'fastify'
import type { UsdcContracts } from '../chain/transfer-queries.ts'
import { OFFICE_PATHS, officePathsOf } from '../config/office-paths.ts'
import type { Db, Queryable, Tx } from '../db/db.ts'
import { findUnreconciled } from '../db/restored-queries.ts'
import { type Clock, isYounger } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { nameCompany } from '../mail/alarm-words.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { isOfDay, updateReopened } from './days/day-queries.ts'
import {
  type Difference,
  type DifferenceSource,
  findBookCheck,
  findOpenDifference,
  hasMorePayments,
  isExplained,
  type KnownDifference,
  keyOfDifference,
  listBookedCompanies,
  listOpenBalances,
  listOpenDifferences,
  OPERATOR,
  type OpenBalance,
  type ReadDifference,
  updateDifferencesGone,
  upsertBookCheck,
  upsertDifference,
} from './difference-queries.ts'
import { describeDifference } from './ledger-verify.ts'
import { listDifferences, setLongSnapshot, setSnapshot } from './ledger-verify-queries.ts'
import { listTransferDifferences } from './transfer-verify-queries.ts'

export type BooksDeps = {
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  alarm: RaiseAlarm
  /** On the chains that are set up. */
  usdc: UsdcContracts
  /** Companies with at most this many payments are verified every time; default 2000. */
  smallBooks?: number
}

/** Scope of a comparison. `known`: it ends only these differences, which were read before it began. */
type Looked = { subjects?: readonly string[]; known?: readonly ReadDifference[] }

/** Compares the books with the facts, and stops payouts while they differ. */
export type Books = {
  /** Verifies a company's books before its money leaves. @throws BOOKS_DIFFER with the reason */
  check(companyId: string): Promise<void>
  /** For jobs: why money may not leave now, or null. */
  findHold(companyId: string): Promise<string | null>
  /** The same by what is stored, without a comparison: in a transaction that locks what the difference is about. */
  findStoredHold(tx: Tx, companyId: string): Promise<string | null>
  /** Every company's books, one after the other, the longest unchecked first. */
  verifyAll(): Promise<void>
  /**
   * Stores the differences found for one company by one source: new ones raise an alarm, missing ones are closed.
   * @param looked the scope, if not everything was compared
   */
  note(companyId: string, source: DifferenceSource, found: readonly Difference[], looked?: Looked): Promise<void>
  /** The same in the caller's transaction, together with the cause of the difference. */
  noteIn(
    tx: Tx,
    companyId: string,
    source: DifferenceSource,
    found: readonly Difference[],
    looked?: Looked,
  ): Promise<void>
  /** What one source has found about these subjects, and is open. */
  listOpen(companyId: string, source: DifferenceSource, subjects: readonly string[]): Promise<ReadDifference[]>
  /** Open faults of balances, of all companies and wallets. */
  listOpenBalances(): Promise<OpenBalance[]>
  /**
   * Stores the faults of balances. @param compared the open ones, read before, that were looked at once more: without
   * a fault they are gone, and no other is
   */
  noteBalances(faults: readonly Difference[], compared: readonly OpenBalance[]): Promise<void>
  /** Whether a person has explained this fault of a balance, to the unit. */
  isBalanceExplained(fault: Difference): Promise<boolean>
}

/** Of those that are neither explained nor stored. */
const MAX_OF_A_CHECK = 20
/** A payment may learn of a transfer a moment after the scanner stored it. */
const SECOND_LOOK_MS = 3000
/** Small books are verified every time, however slow the database is; larger ones may take a twentieth of the time. */
const SMALL_BOOKS = 2000
const QUICK_MS = 1000
const SHARE = 20

/** `knownAtMs`: null while it runs. */
type Running = { verdict: Promise<KnownDifference | undefined>; knownAtMs: number | null; keptMs: number }

/** What a comparison found, and what was stored as open before it. */
type Read = { found: Difference[]; known: ReadDifference[] }
/** Nobody explains more full lists than this while they are compared. */
const MAX_LOOKS = 5
/** `tookMs`: how long the database was busy. `mayBeMore`: a list was full. */
type Verified = { tookMs: number; mayBeMore: boolean }

/** A few lines for the operator. */
const mailOf = (companyId: string, company: string, differences: readonly KnownDifference[]) => ({
  subject: 'The books differ from what happened',
  paragraphs: [
    companyId === ''
      ? 'A wallet of yours does not hold what it should. Refunds and settlements of all companies wait.'
      : `The books of company ${company} differ from what happened. Its refunds and settlements wait.`,
    ...differences.slice(0, 10).map((one) => describeDifference(one, company)),
    'Find the cause first. What turns out to be right after all is explained there, or with POST /api/next/ledger/differences/{id}/explain.',
  ],
  path: companyId === '' ? OFFICE_PATHS.wallets : officePathsOf(companyId).money,
})

const wrongSumsMail = (companyId: string, company: string, wrong: readonly Difference[]) => ({
  subject: 'Sums of closed days were wrong',
  paragraphs: [
    `Sums that the books of company ${company} keep of closed days were not what its bookings add up to. They were thrown away and are made anew from the bookings. No money waits. Balances and fees that were read before may have been wrong.`,
    ...wrong.slice(0, 10).map((one) => describeDifference(one, company)),
    'There is nothing to explain. If this comes again, find out who changes the tables of the books.',
  ],
  path: officePathsOf(companyId).money,
})

const sayHold = async (q: Queryable, difference: KnownDifference): Promise<string> =>
  `the books differ: ${describeDifference(difference, await nameCompany(q, difference.companyId))}`

export function openBooks(deps: BooksDeps): Books {
  const { db, clock, log, smallBooks = SMALL_BOOKS } = deps
  const running = new Map<string, Running>()

  const noteIn: Books['noteIn'] = async (tx, companyId, source, found, { subjects, known } = {}) => {
    const at = new Date(clock())
    const open: Difference[] = []
    const fresh: KnownDifference[] = []
    for (const one of found) {
      if (await isExplained(tx, source, one)) continue
      open.push(one)
      const id = newId(at.getTime())
      const rest = { status: 'open', explainedBy: null, reason: null, foundAt: at, updatedAt: at } as const
      if (await upsertDifference(tx, { ...one, id, source, at })) fresh.push({ ...one, ...rest, id, source })
    }
    await updateDifferencesGone(tx, {
      companyId,
      source,
      but: open.map(keyOfDifference),
      subjects: subjects ?? null,
      known: known ?? null,
      at,
    })
    if (fresh.length === 0) return
    await deps.alarm(tx, mailOf(companyId, await nameCompany(tx, companyId), fresh))
    tx.afterCommit(() => {
      for (const one of fresh) log.error({ companyId, source, difference: one }, 'the books differ from what happened')
    })
  }
  const note: Books['note'] = (...found) => db.tx((tx) => noteIn(tx, ...found))

  /** What is open is read in the snapshot of the comparison, so that nothing found later, by whomever, is ended. */
  const listKnown = (tx: Tx, companyId: string, source: DifferenceSource): Promise<ReadDifference[]> =>
    listOpenDifferences(tx, { companyId, source, subjects: null })

  const readBooks = (companyId: string): Promise<Read> =>
    db.tx(async (tx) => {
      await setSnapshot(tx)
      const known = await listKnown(tx, companyId, 'books')
      return { known, found: await listDifferences(tx, companyId, MAX_OF_A_CHECK) }
    })

  /** What is read next is added up from the bookings; where nothing was in use any more, the operator knows already. */
  const throwAway = (companyId: string, wrong: readonly Difference[]): Promise<void> =>
    db.tx(async (tx) => {
      if ((await updateReopened(tx, companyId)) === 0) return
      await deps.alarm(tx, wrongSumsMail(companyId, await nameCompany(tx, companyId), wrong))
      tx.afterCommit(() => {
        for (const one of wrong) log.error({ companyId, difference: one }, 'the sum of a closed day was wrong')
      })
    })
  /** No money depends on the sums of days: wrong ones are no difference that holds it, and nor is a failure here. */
  const dropWrongSums = async (companyId: string, wrong: readonly Difference[]): Promise<void> => {
    if (wrong.length === 0) return
    try {
      await throwAway(companyId, wrong)
    } catch (error) {
      log.error({ err: error, companyId }, 'wrong sums of closed days were not thrown away')
    }
  }
  const readTransfers = (companyId: string): Promise<Read> =>
    db.tx(async (tx) => {
      await setLongSnapshot(tx)
      const known = await listKnown(tx, companyId, 'transfers')
      return { known, found: await listTransferDifferences(tx, companyId, MAX_OF_A_CHECK, deps.usdc) }
    })

  const verify = async (companyId: string): Promise<Verified> => {
    const startedMs = performance.now()
    const { known, found } = await readBooks(companyId)
    const books = found.filter((one) => !isOfDay(one))
    await note(companyId, 'books', books, { known })
    await dropWrongSums(companyId, found.filter(isOfDay))
    let transfers = await readTransfers(companyId)
    const tookMs = performance.now() - startedMs
    if (transfers.found.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, SECOND_LOOK_MS))
      transfers = await readTransfers(companyId)
    }
    await note(companyId, 'transfers', transfers.found, { known: transfers.known })
    await upsertBookCheck(db, companyId, new Date(clock()))
    return { tookMs, mayBeMore: Math.max(books.length, transfers.found.length) >= MAX_OF_A_CHECK }
  }

  /**
   * Does the same for one company after the other. One that fails is logged and keeps no other from its turn; only
   * without the database the round ends. @returns the errors
   */
  const forEachCompany = async (ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<unknown[]> => {
    const errors: unknown[] = []
    for (const companyId of ids) {
      try {
        await work(companyId)
      } catch (error) {
        log.error({ err: error, companyId }, 'the books of this company could not be compared')
        // rejects without the database
        await findBookCheck(db, companyId)
        errors.push(error)
      }
    }
    return errors
  }

  /** Concurrent calls for a company share one verification; for large books, calls shortly after it do too. */
  const verifyOnce = (companyId: string): Promise<KnownDifference | undefined> => {
    const known = running.get(companyId)
    if (known && (known.knownAtMs === null || isYounger(known.knownAtMs, known.keptMs, clock()))) return known.verdict
    const look = async (): Promise<KnownDifference | undefined> => {
      for (let looks = 1; looks <= MAX_LOOKS; looks += 1) {
        const { tookMs, mayBeMore } = await verify(companyId)
        const difference = await findOpenDifference(db, companyId)
        // all that was found has been explained meanwhile, and it was not all there is
        if (!difference && mayBeMore) continue
        const isKept = !difference && tookMs >= QUICK_MS && (await hasMorePayments(db, companyId, smallBooks))
        entry.knownAtMs = clock()
        entry.keptMs = isKept ? tookMs * SHARE : 0
        return difference
      }
      throw new AppError('BUSY', {
        message: 'Differences of these books are being explained as they are found. Money waits; try again.',
        retryAfter: 10,
      })
    }
    const entry: Running = { knownAtMs: null, keptMs: 0, verdict: Promise.resolve(undefined) }
    running.set(companyId, entry)
    entry.verdict = look()
    entry.verdict.catch(() => running.delete(companyId))
    return entry.verdict
  }

  const findHold: Books['findHold'] = async (companyId) => {
    const restored = await findUnreconciled(db)
    if (restored) {
      const from = restored.backupMadeAt.toISOString()
      return restored.isTakeover
        ? `another database server took over and may lack what followed ${from}; “comptoir reconcile” has not run yet.`
        : `the database was restored from a backup of ${from}, and “comptoir reconcile” has not run yet.`
    }
    // a verdict is shared for a while; providers and balances may have reported something since
    const difference = (await verifyOnce(companyId)) ?? (await findOpenDifference(db, companyId))
    return difference ? sayHold(db, difference) : null
  }
  const findStoredHold: Books['findStoredHold'] = async (tx, companyId) => {
    const difference = await findOpenDifference(tx, companyId)
    return difference ? sayHold(tx, difference) : null
  }

  return {
    note,
    noteIn,
    findStoredHold,
    listOpen: (companyId, source, subjects) => listOpenDifferences(db, { companyId, source, subjects }),
    findHold,
    async check(companyId) {
      const reason = await findHold(companyId)
      if (reason === null) return
      const message = `Refunds and settlements of this company wait, because ${reason} The operator has been alerted.`
      throw new AppError('BOOKS_DIFFER', { message })
    },
    listOpenBalances: () => listOpenBalances(db),
    async noteBalances(faults, compared) {
      const failed = await forEachCompany([OPERATOR, ...(await listBookedCompanies(db))], (companyId) => {
        const isOwn = (one: { companyId: string }): boolean => one.companyId === companyId
        return note(companyId, 'balances', faults.filter(isOwn), { known: compared.filter(isOwn) })
      })
      // a fault that is not stored stops no payout: the audit is due again
      if (failed.length > 0) throw failed[0]
    },
    isBalanceExplained: (fault) => isExplained(db, 'balances', fault),
    async verifyAll() {
      await forEachCompany(await listBookedCompanies(db), verify)
    },
  }
}
