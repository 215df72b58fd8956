import type { Db, Queryable } from '../../db/db.ts'
import { guardCell } from '../../http/csv.ts'
import { EXPONENTS, formatDecimal, isAsset } from '../../kernel/money.ts'
import type { Settlement } from './settlement-queries.ts'
import {
  findSpan,
  type KindTotal,
  listLines,
  type Span,
  type StatementLine,
  sumLines,
} from './settlement-statement-queries.ts'

const usdc = (units: bigint): string => formatDecimal(units, EXPONENTS.USDC)

async function spanOf(q: Queryable, { companyId, id }: Settlement): Promise<Span> {
  const span = await findSpan(q, companyId, id)
  if (!span) throw new Error(`settlement ${id} is gone`)
  return span
}

/** How the amount of a settlement was computed, in lines that add up. */
function summaryOf({ basis, carriedUnits }: Span, totals: readonly KindTotal[], settlement: Settlement) {
  const { units, heldBackUnits } = settlement
  const of = (kind: KindTotal['kind']) =>
    totals.find((total) => total.kind === kind) ?? { count: 0, units: 0n, feeUnits: 0n }
  const [paid, refunded, dropped, lost] = [of('payment'), of('refund'), of('refund_dropped'), of('loss_borne')]
  const owed = basis?.owed ?? carriedUnits + totals.reduce((sum, total) => sum + total.units, 0n)
  return {
    carriedOver: usdc(carriedUnits),
    payments: {
      count: paid.count,
      gross: usdc(paid.units + paid.feeUnits),
      fees: usdc(paid.feeUnits),
      net: usdc(paid.units),
    },
    refunds: { count: refunded.count, amount: usdc(refunded.units) },
    takenBack: { count: dropped.count, amount: usdc(dropped.units) },
    losses: usdc(lost.units),
    owed: usdc(owed),
    ownAccounts: basis && usdc(-basis.own),
    undecided: basis && usdc(-basis.undecided),
    reserve: basis && usdc(-basis.kept),
    heldBack: heldBackUnits === null ? null : usdc(-heldBackUnits),
    amount: usdc(units),
  }
}

/** Only of a payment: a refund is an amount of USDC, and the price beside it would be added as if it was paid again. */
function priceOf({ kind, fromUnits, fromAsset }: StatementLine) {
  const isKnown = kind === 'payment' && fromUnits !== null && fromAsset !== null && isAsset(fromAsset)
  if (!isKnown) return { fromAmount: null, fromAsset: null }
  return { fromAmount: formatDecimal(fromUnits, EXPONENTS[fromAsset]), fromAsset }
}

const viewLine = (line: StatementLine) => ({
  journalId: line.journalId,
  at: line.at.toISOString(),
  kind: line.kind,
  code: line.code,
  shortCode: line.shortCode,
  alias: line.alias,
  ...priceOf(line),
  gross: usdc(line.units + line.feeUnits),
  fee: usdc(line.feeUnits),
  amount: usdc(line.units),
  ownAccount: line.ownAccount,
})

/** What a settlement pays for: the parts of its amount, and a page of its bookings. */
export async function readSettlementStatement(
  db: Db,
  settlement: Settlement,
  page: { after: string | null; limit: number },
) {
  const span = await spanOf(db, settlement)
  const [totals, lines] = await Promise.all([sumLines(db, span), listLines(db, span, page)])
  return {
    since: span.since?.toISOString() ?? null,
    summary: summaryOf(span, totals, settlement),
    lines: lines.map(viewLine),
    nextCursor: lines.length === page.limit ? (lines.at(-1)?.journalId ?? null) : null,
  }
}

const PAGE = 1000
const HEADER = 'date,kind,order,shortCode,alias,fromAmount,fromAsset,gross,fee,amount,ownAccount,journal'

function csvLine(line: StatementLine): string {
  const { at, kind, code, shortCode, alias, fromAmount, fromAsset, gross, fee, amount, ownAccount, journalId } =
    viewLine(line)
  const cells = [
    at,
    kind,
    code,
    shortCode,
    guardCell(alias ?? ''),
    fromAmount,
    fromAsset,
    gross,
    fee,
    amount,
    ownAccount,
    journalId,
  ]
  return `${cells.map((cell) => cell ?? '').join(',')}\r\n`
}

/** Every booking of a settlement as CSV (RFC 4180), page by page. The amounts add up to what the bookings changed. */
export async function* streamSettlementStatement(db: Db, settlement: Settlement): AsyncGenerator<string> {
  yield `${HEADER}\r\n`
  const span = await spanOf(db, settlement)
  let after: string | null = null
  for (;;) {
    const lines: StatementLine[] = await listLines(db, span, { after, limit: PAGE })
    const last = lines.at(-1)
    if (!last) return
    yield lines.map(csvLine).join('')
    after = last.journalId
  }
}
