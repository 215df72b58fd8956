import { type Queryable, type Sql, sql } from '../../db/db.ts'
import { paidOfPrice } from '../payable-queries.ts'
import type { Coverage, SettlementBasis } from './settlement-queries.ts'

/** Kinds of bookings, besides settlements, that change what a company is owed. */
export const LINE_KINDS = ['payment', 'refund', 'refund_dropped', 'loss_borne'] as const
export type LineKind = (typeof LINE_KINDS)[number]

/** The bookings of one settlement: those that it covers and the previous one does not. */
export type Span = {
  companyId: string
  from: Coverage
  to: Coverage
  /** Null: the company's first settlement. */
  since: Date | null
  /** Balance left over by the previous settlement. */
  carriedUnits: bigint
  /** Null: not recorded. */
  basis: SettlementBasis | null
}

type Ends = {
  id: string
  leftUnits: string
  createdAt: Date
  coversBefore: string
  coversLast: string[]
} & Record<'owed' | 'own' | 'undecided' | 'kept', string | null>

/** Settlements from before migration 0467 cover what was booked until their own booking. */
const ENDS = sql`s.id, coalesce(s.left_units, s.units) as left_units, s.created_at, coalesce(s.covers_last, '{}') as covers_last,
  coalesce(s.covers_before, (select j.id from ledger_journals j
    where j.company_id = s.company_id and j.kind = 'settlement' and j.cause_id = s.id), '') as covers_before,
  s.owed_units as owed, s.own_units as own, s.undecided_units as undecided, s.kept_units as kept`

const coverageOf = ({ coversBefore, coversLast }: Ends): Coverage => ({ before: coversBefore, last: coversLast })

const basisOf = ({ owed, own, undecided, kept }: Ends): SettlementBasis | null =>
  owed === null || own === null || undecided === null || kept === null
    ? null
    : { owed: BigInt(owed), own: BigInt(own), undecided: BigInt(undecided), kept: BigInt(kept) }

async function sumOwedBefore(q: Queryable, companyId: string, before: string): Promise<bigint> {
  const { units } = await q.one<{ units: string }>(sql`
    select coalesce(-sum(units), 0) as units from ledger_entries
    where company_id = ${companyId} and account = 'company_payable' and asset = 'USDC' and journal_id < ${before}`)
  return BigInt(units)
}

export async function findSpan(q: Queryable, companyId: string, id: string): Promise<Span | undefined> {
  const own = await q.maybe<Ends>(sql`
    select ${ENDS} from settlements s where s.company_id = ${companyId} and s.id = ${id}`)
  if (!own) return undefined
  // only one settlement is unfinished at a time, so each earlier one was paid or cancelled; bookings of a cancelled one
  // are covered again
  const last = await q.maybe<Ends>(sql`
    select ${ENDS} from settlements s
    where s.company_id = ${companyId} and s.status <> 'cancelled' and s.created_at < ${own.createdAt}
    order by s.created_at desc limit 1`)
  const span = { companyId, to: coverageOf(own), basis: basisOf(own) }
  if (!last) return { ...span, from: { before: '', last: [] }, since: null, carriedUnits: 0n }
  const owed = basisOf(last)?.owed ?? (await sumOwedBefore(q, companyId, last.coversBefore))
  return { ...span, from: coverageOf(last), since: last.createdAt, carriedUnits: owed - BigInt(last.leftUnits) }
}

const LINES = ({ companyId, from, to }: Span): Sql => sql`
  from ledger_journals j
  join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id and e.account = 'company_payable'
  left join ledger_entries f on f.company_id = j.company_id and f.journal_id = j.id and f.account = 'fees'
  where j.company_id = ${companyId} and j.kind = any(${[...LINE_KINDS]}::text[])
    and j.id >= ${from.before} and not j.id = any(${from.last}::text[])
    and (j.id < ${to.before} or j.id = any(${to.last}::text[])) and j.id <= ${to.last.at(-1) ?? to.before}`

export type KindTotal = {
  kind: LineKind
  count: number
  /** In the company's favour; negative: it owes that much more. */
  units: bigint
  feeUnits: bigint
}

export async function sumLines(q: Queryable, span: Span): Promise<KindTotal[]> {
  const rows = await q.many<{ kind: LineKind; count: number; units: string; feeUnits: string }>(sql`
    select j.kind, count(*)::int as count, -sum(e.units) as units, coalesce(-sum(f.units), 0) as fee_units
    ${LINES(span)} group by j.kind`)
  return rows.map((row) => ({ ...row, units: BigInt(row.units), feeUnits: BigInt(row.feeUnits) }))
}

export type StatementLine = {
  journalId: string
  at: Date
  kind: LineKind
  units: bigint
  feeUnits: bigint
  /** The payer paid to the company's own account. */
  ownAccount: boolean
  /** Code of the order. */
  code: string | null
  shortCode: string | null
  alias: string | null
  fromAsset: string | null
  /** Of a payment: what was paid of its price. */
  fromUnits: bigint | null
}

/** Oldest first; `after` is the last journal of the previous page. */
export async function listLines(
  q: Queryable,
  span: Span,
  page: { after: string | null; limit: number },
): Promise<StatementLine[]> {
  type Row = Omit<StatementLine, 'units' | 'feeUnits' | 'fromUnits'> &
    Record<'units' | 'feeUnits', string> & {
      fromUnits: string | null
    }
  const rows = await q.many<Row>(sql`
    with lines as (
      select j.company_id, j.id, j.at, j.kind, j.order_id, -e.units as units, coalesce(-f.units, 0) as fee_units
      ${LINES(span)} and j.id > coalesce(${page.after}, '') order by j.id limit ${page.limit}
    )
    select l.id as journal_id, l.at, l.kind, l.units, l.fee_units, o.code, o.short_code, o.alias, o.from_asset,
      ${paidOfPrice({ fromUnits: sql`o.from_units`, toUnits: sql`o.to_units`, paid: sql`(l.units + l.fee_units)` })} as from_units,
      exists (select 1 from ledger_entries h
        where h.company_id = l.company_id and h.journal_id = l.id and h.account = 'own_account') as own_account
    from lines l left join orders o on o.company_id = l.company_id and o.id = l.order_id
    order by l.id`)
  return rows.map((row) => ({
    ...row,
    units: BigInt(row.units),
    feeUnits: BigInt(row.feeUnits),
    fromUnits: row.fromUnits === null ? null : BigInt(row.fromUnits),
  }))
}
