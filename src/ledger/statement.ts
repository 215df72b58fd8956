import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/db.ts'
import { guardCell } from '../http/csv.ts'
import { type Clock, MINUTE } from '../kernel/clock.ts'
import { EXPONENTS, formatDecimal, isAsset } from '../kernel/money.ts'
import {
  type EntryRow,
  findNextTransaction,
  hasEndedBefore,
  LONGEST_BOOKING_MS,
  listBalancesBetween,
  listEntries,
} from './ledger-queries.ts'
import { setOneMoment } from './ledger-verify-queries.ts'
import { findPayout } from './payable-queries.ts'

export type Period = {
  from: Date | null
  to: Date | null
  /** Leaves out what is not final yet, so that periods that follow each other hold every booking once. */
  isFinal: boolean
}

type Ends = {
  from: Date | null
  to: Date | null
  /** No booking before it is missing, or can come later: the next period may start here. */
  finalUntil: Date
}

/**
 * A booking has its time before it is committed, so the end of a period that has just ended, or has not, may grow.
 * @param boundMs leaves out bookings from then on, so that all pages of the reading end; null: none
 */
function endsOf({ from, to, isFinal }: Period, readAtMs: number, boundMs: number | null): Ends {
  const toMs = to?.getTime() ?? Number.POSITIVE_INFINITY
  const finalMs = Math.max(from?.getTime() ?? 0, Math.min(toMs, readAtMs - LONGEST_BOOKING_MS))
  const finalUntil = new Date(finalMs)
  if (isFinal) return { from, to: finalUntil, finalUntil }
  return { from, to: boundMs === null ? to : new Date(Math.min(toMs, boundMs)), finalUntil }
}

/** The last journal of a page, and when the first page was read: all pages end there. */
const writeCursor = (journalId: string, readAtMs: number): string => `${journalId}-${readAtMs.toString(16)}`

/** A cursor of the earlier version has no time. */
function readCursor(cursor: string): { after: string; readAtMs: number | null } {
  const [after = '', readAt] = cursor.split('-')
  return { after, readAtMs: readAt === undefined ? null : Number.parseInt(readAt, 16) }
}

const DIGITS = 6
const amount = (units: bigint): string => formatDecimal(units, DIGITS)

/**
 * Balances and one page of bookings of a company in a period, and what would be paid out, all of one moment.
 * @param page its `cursor` is the `nextCursor` of the previous page
 */
export async function readLedger(
  { db, clock }: { db: Db; clock: Clock },
  companyId: string,
  period: Period,
  page: { cursor: string | null; limit: number },
) {
  const place = page.cursor === null ? null : readCursor(page.cursor)
  const firstReadAtMs = place?.readAtMs ?? null
  // by the clock that read the first page, also where this node's is behind it
  const readAtMs = firstReadAtMs ?? clock()
  const { from, to, finalUntil } = endsOf(period, readAtMs, firstReadAtMs === null ? null : readAtMs + 1)
  const { balances, entries, payout } = await db.tx(async (tx) => {
    await setOneMoment(tx)
    return {
      balances: await listBalancesBetween(tx, companyId, { from, to }),
      entries: await listEntries(tx, companyId, { from, to, after: place?.after ?? null, limit: page.limit }),
      payout: await findPayout(tx, companyId),
    }
  })
  const last = entries.at(-1)
  const journals = new Set(entries.map(({ journalId }) => journalId))
  return {
    companyId,
    finalUntil: finalUntil.toISOString(),
    payout: {
      ...{ ready: amount(payout.ready), kept: amount(payout.kept) },
      ...{ owed: amount(payout.owed), undecided: amount(payout.undecided) },
    },
    balances: balances.map(({ account, asset, openingUnits, debitUnits, creditUnits }) => ({
      account,
      asset,
      opening: amount(openingUnits),
      debit: amount(debitUnits),
      credit: amount(creditUnits),
      closing: amount(openingUnits + debitUnits - creditUnits),
    })),
    entries: entries.map((entry) => ({
      journalId: entry.journalId,
      at: entry.at.toISOString(),
      kind: entry.kind,
      cause: entry.causeId,
      code: entry.orderCode,
      account: entry.account,
      asset: entry.asset,
      amount: amount(entry.units),
    })),
    nextCursor: last && journals.size === page.limit ? writeCursor(last.journalId, readAtMs) : null,
  }
}

const PAGE = 1000
const HEADER = 'date,journal,kind,cause,order,account,asset,debit,credit,alias,fromAmount,fromAsset'

/**
 * What was paid in the currency of the price stands once beside a payment, where the company receives it, so that the
 * column adds up to what was sold. A refund is an amount of USDC.
 */
function priceOf({ kind, account, fromUnits, fromAsset }: EntryRow): [string, string] {
  const isSale = kind === 'payment' && account === 'company_payable'
  if (!isSale || fromUnits === null || fromAsset === null || !isAsset(fromAsset)) return ['', '']
  return [formatDecimal(fromUnits, EXPONENTS[fromAsset]), fromAsset]
}

/** Debits and credits have separate columns, so that no cell starts with a sign. */
function lineOf(entry: EntryRow): string {
  const { at, journalId, kind, causeId, orderCode, alias, account, asset, units } = entry
  const [debit, credit] = units > 0n ? [amount(units), ''] : ['', amount(-units)]
  const booking = [at.toISOString(), journalId, kind, causeId, orderCode ?? '', account, asset, debit, credit]
  return [...booking, guardCell(alias ?? ''), ...priceOf(entry)].join(',')
}

/** The longest wait for what is being committed, and how often it is looked at. */
const [WAIT_MS, PAUSE_MS] = [2000, 20]

/** More than the clocks of two nodes differ: what others have booked by now may have a later time than this node's. */
const SKEW_MS = MINUTE

/** Waits until what was being written is committed; not for long, because other writers of the database count too. */
async function waitForOpen(db: Db): Promise<void> {
  const next = await findNextTransaction(db)
  const untilMs = performance.now() + WAIT_MS
  while (!(await hasEndedBefore(db, next)) && performance.now() < untilMs) await sleep(PAUSE_MS)
}

/**
 * A company's statement as CSV, and until when it is final. Of a period that has just ended it waits for bookings that
 * are being committed, so that also whoever asks for the next period only has them.
 */
export async function openStatement(
  { db, clock }: { db: Db; clock: Clock },
  companyId: string,
  period: Period,
): Promise<{ finalUntil: Date; lines: AsyncGenerator<string> }> {
  const isOver = period.to !== null && period.to.getTime() <= clock() - LONGEST_BOOKING_MS
  if (!isOver && !period.isFinal) await waitForOpen(db)
  const readAtMs = clock()
  const { finalUntil, ...ends } = endsOf(period, readAtMs, readAtMs + SKEW_MS)
  return { finalUntil, lines: streamLines(db, companyId, ends) }
}

/** Streams RFC 4180, page by page. */
async function* streamLines(db: Db, companyId: string, ends: Omit<Ends, 'finalUntil'>): AsyncGenerator<string> {
  yield `${HEADER}\r\n`
  let after: string | null = null
  for (;;) {
    const entries: EntryRow[] = await listEntries(db, companyId, { ...ends, after, limit: PAGE })
    const last = entries.at(-1)
    if (!last) return
    yield `${entries.map(lineOf).join('\r\n')}\r\n`
    after = last.journalId
  }
}
