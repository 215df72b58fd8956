import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/db.ts'
import { guardCell } from '../http/csv.ts'
import { type Clock, MINUTE, NODES_DIFFER_MS } from '../kernel/clock.ts'
import { EXPONENTS, formatDecimal, isAsset } from '../kernel/money.ts'
import {
  type EntryRow,
  findLastBookingAt,
  findNextTransaction,
  findWritingSince,
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

/** How far the books are written when a reading begins. */
type Reading = {
  readAtMs: number
  /** No booking before it is missing, or can come later. */
  finalMs: number
}

/**
 * A booking has its time before it is committed, so the end of a period that has just ended, or has not, may grow. By
 * the earlier of two clocks, because one that is ahead would call final what others still book.
 */
async function openReading({ db, clock }: { db: Db; clock: Clock }): Promise<Reading> {
  const { now, since } = await findWritingSince(db)
  const readAtMs = Math.min(clock(), now.getTime())
  const openMs = since === null ? readAtMs : since.getTime() - NODES_DIFFER_MS
  return { readAtMs, finalMs: Math.min(readAtMs - LONGEST_BOOKING_MS, openMs) }
}

/** Up to when no booking of a period is missing: the next one may start there. */
const finalEnd = ({ from, to }: Period, { finalMs }: Reading): Date =>
  new Date(Math.max(from?.getTime() ?? 0, Math.min(to?.getTime() ?? Number.POSITIVE_INFINITY, finalMs)))

/** Where all pages of a reading end, and up to when they are final. */
type Ends = { to: Date; finalUntil: Date }

/** @param after the last journal of the page */
const writeCursor = (after: string, { to, finalUntil }: Ends): string =>
  [after, to.getTime().toString(16), finalUntil.getTime().toString(16)].join('-')

/** A cursor of the earlier version has no times. */
function readCursor(cursor: string): { after: string; ends: Ends | null } {
  const [after = '', ...times] = cursor.split('-')
  const [to, finalUntil] = times.map((time) => new Date(Number.parseInt(time, 16)))
  return { after, ends: to && finalUntil ? { to, finalUntil } : null }
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
  const reading = await openReading({ db, clock })
  const { after, ends } = page.cursor === null ? { after: null, ends: null } : readCursor(page.cursor)
  const finalUntil = ends?.finalUntil ?? finalEnd(period, reading)
  const to = ends?.to ?? (period.isFinal ? finalUntil : period.to)
  const { balances, entries, payout, lastAt } = await db.tx(async (tx) => {
    await setOneMoment(tx)
    return {
      balances: await listBalancesBetween(tx, companyId, { from: period.from, to }),
      entries: await listEntries(tx, companyId, { from: period.from, to, after, limit: page.limit }),
      payout: await findPayout(tx, companyId),
      lastAt: ends ? null : await findLastBookingAt(tx, companyId, new Date(reading.readAtMs)),
    }
  })
  const last = entries.at(-1)
  const journals = new Set(entries.map(({ journalId }) => journalId))
  // of what was seen, a node whose clock is ahead of this one's may have booked the last
  const seenMs = Math.max(reading.readAtMs, lastAt?.getTime() ?? 0) + 1
  const next = ends ?? { to: new Date(Math.min(to?.getTime() ?? seenMs, seenMs)), finalUntil }
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
    nextCursor: last && journals.size === page.limit ? writeCursor(last.journalId, next) : null,
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
  const reading = await openReading({ db, clock })
  const finalUntil = finalEnd(period, reading)
  if (period.isFinal) return { finalUntil, lines: streamLines(db, companyId, { from: period.from, to: finalUntil }) }
  const endMs = period.to?.getTime() ?? Number.POSITIVE_INFINITY
  if (endMs > reading.finalMs) await waitForOpen(db)
  const to = new Date(Math.min(endMs, clock() + SKEW_MS))
  return { finalUntil, lines: streamLines(db, companyId, { from: period.from, to }) }
}

/** Streams RFC 4180, page by page. */
async function* streamLines(
  db: Db,
  companyId: string,
  ends: { from: Date | null; to: Date | null },
): AsyncGenerator<string> {
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
