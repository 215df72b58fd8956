import type { Db } from '../db/db.ts'
import { guardCell } from '../http/csv.ts'
import { EXPONENTS, formatDecimal, isAsset } from '../kernel/money.ts'
import { type EntryRow, listBalancesBetween, listEntries } from './ledger-queries.ts'
import { findPayout } from './payable-queries.ts'

export type Period = { from: Date | null; to: Date | null }

const DIGITS = 6
const amount = (units: bigint): string => formatDecimal(units, DIGITS)

/** Balances and one page of bookings of a company in a period. */
export async function readLedger(
  db: Db,
  companyId: string,
  period: Period,
  page: { after: string | null; limit: number },
) {
  const [balances, entries, payout] = await Promise.all([
    listBalancesBetween(db, companyId, period),
    listEntries(db, companyId, { ...period, ...page }),
    findPayout(db, companyId),
  ])
  const journals = new Set(entries.map(({ journalId }) => journalId))
  return {
    companyId,
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
    nextCursor: journals.size === page.limit ? (entries.at(-1)?.journalId ?? null) : null,
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

/** Streams a company's statement as CSV (RFC 4180), page by page. */
export async function* streamStatement(db: Db, companyId: string, period: Period): AsyncGenerator<string> {
  yield `${HEADER}\r\n`
  let after: string | null = null
  for (;;) {
    const entries: EntryRow[] = await listEntries(db, companyId, { ...period, after, limit: PAGE })
    const last = entries.at(-1)
    if (!last) return
    yield `${entries.map(lineOf).join('\r\n')}\r\n`
    after = last.journalId
  }
}
