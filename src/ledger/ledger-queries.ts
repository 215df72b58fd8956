import { type Queryable, type Sql, sql, type Tx } from '../db/db.ts'
import { HOUR, MINUTE } from '../kernel/clock.ts'
import { firstIdAt } from '../kernel/ids.ts'
import { closedOf, isFarBehind, legsOf } from './days/day-queries.ts'
import { paidOfPrice } from './payable-queries.ts'

export const ACCOUNTS = [
  /** Payers' money that we hold at deposit addresses and at providers. */
  'payer_clearing',
  /** Payers' money that went to a company's own account at a provider: the company holds it. */
  'own_account',
  /** Payers' money in the operator's own wallets on a chain; negative: the operator has advanced it. */
  'wallet',
  'company_payable',
  'fees',
  'refunds',
  'suspense',
  /** Money that left the chain after it counted, borne by the operator. */
  'losses',
  'rounding',
  'settlement_transit',
] as const

/** The operator's own books also contain the cost of moving money on a chain, in its native coin. */
export type Account = (typeof ACCOUNTS)[number] | 'network_fees' | 'gas'

/** Debits are positive, credits negative. */
export type Leg = { account: Account; asset: string; units: bigint }

export type Journal = {
  companyId: string
  id: string
  kind:
    | 'payment'
    | 'mispayment'
    | 'late_accept'
    | 'loss'
    | 'loss_borne'
    | 'refund'
    | 'refund_settled'
    | 'refund_dropped'
    | 'settlement'
    | 'settlement_paid'
    | 'settlement_cancelled'
    | 'sweep'
    | 'sweep_undone'
    | 'sweep_fee'
    | 'sweep_fee_undone'
  /** The cause of the booking; each cause is booked once. */
  causeId: string
  orderId: string | null
  legs: Leg[]
  at: Date
}

/**
 * A booking whose id or time is older than this has committed, on any node: its transaction ends within a minute, and
 * clocks differ by less than another one.
 */
export const LONGEST_BOOKING_MS = 15 * MINUTE

/** Writes a journal with its legs, or nothing if its cause is already booked. @returns whether it is new */
export async function insertJournal(tx: Tx, journal: Journal): Promise<boolean> {
  const legs = journal.legs.filter((leg) => leg.units !== 0n)
  if (legs.length === 0) return false
  const added = await tx.run(sql`
    with journal as (
      insert into ledger_journals (company_id, id, kind, cause_id, order_id, at)
      values (${journal.companyId}, ${journal.id}, ${journal.kind}, ${journal.causeId}, ${journal.orderId}, ${journal.at})
      on conflict (company_id, kind, cause_id) do nothing returning company_id, id
    )
    insert into ledger_entries (company_id, journal_id, account, asset, units)
    select journal.company_id, journal.id, leg.account, leg.asset, leg.units
    from journal, unnest(${legs.map((leg) => leg.account)}::text[], ${legs.map((leg) => leg.asset)}::text[],
      ${legs.map((leg) => leg.units.toString())}::numeric[]) as leg (account, asset, units)`)
  return added > 0
}

/** One account in a period: its opening balance, and unsigned sums of debits and credits. */
export type PeriodBalance = {
  account: Account
  asset: string
  openingUnits: bigint
  debitUnits: bigint
  creditUnits: bigint
}

/** Of all that was ever booked. The time of a booking stands in its journal, which this does not read. */
const allTime = (companyId: string): Sql => sql`
  select account, asset, 0 as opening_units, coalesce(sum(units) filter (where units > 0), 0) as debit_units,
    coalesce(-sum(units) filter (where units < 0), 0) as credit_units
  from ledger_entries where company_id = ${companyId} group by account, asset order by account, asset`

/** While most days are not closed yet: every booking. */
const oneByOne = (companyId: string, from: Date | null, to: Date | null): Sql => sql`
  select e.account, e.asset,
    coalesce(sum(e.units) filter (where j.at < p.start), 0) as opening_units,
    coalesce(sum(e.units) filter (where j.at >= p.start and e.units > 0), 0) as debit_units,
    coalesce(-sum(e.units) filter (where j.at >= p.start and e.units < 0), 0) as credit_units
  from ledger_entries e
  join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
  cross join (select coalesce(${from}::timestamptz, '-infinity') as start) as p
  where e.company_id = ${companyId} and j.at < coalesce(${to}::timestamptz, 'infinity')
  group by e.account, e.asset order by e.account, e.asset`

/**
 * The sums until the end of the period, less those until its start. Each is added up from the closed days before it and
 * the bookings that are in none.
 */
const between = (companyId: string, from: Date | null, to: Date | null): Sql => sql`
  with ends as (
    select is_start, until, least(since, until) as low,
      greatest(least(since, until), least(date_trunc('day', until, 'UTC'), before)) as high
    from (select coalesce(${from}::timestamptz, '-infinity') as start, coalesce(${to}::timestamptz, 'infinity') as stop) p
    cross join lateral (values (true, least(start, stop)), (false, stop)) as e (is_start, until)
    cross join (${closedOf(companyId)}) as closed
  ), sums as (
    select is_start, account, asset, d.debit_units, d.credit_units
    from ends join ledger_days d on d.company_id = ${companyId}
      and d.day >= (low at time zone 'UTC')::date and d.day < (high at time zone 'UTC')::date
    union all
    select is_start, e.account, e.asset, greatest(e.units, 0), greatest(-e.units, 0)
    from ends cross join lateral (values ('-infinity', low), (high, until)) as open (start, stop)
    join ledger_journals j on j.company_id = ${companyId} and j.at >= open.start and j.at < open.stop
    ${legsOf(false)}
  )
  select account, asset, coalesce(sum(debit_units - credit_units) filter (where is_start), 0) as opening_units,
    sum(case when is_start then -debit_units else debit_units end) as debit_units,
    sum(case when is_start then -credit_units else credit_units end) as credit_units
  from sums group by account, asset order by account, asset`

export async function listBalancesBetween(
  q: Queryable,
  companyId: string,
  { from, to }: { from: Date | null; to: Date | null },
): Promise<PeriodBalance[]> {
  type Row = Record<'openingUnits' | 'debitUnits' | 'creditUnits', string> & Pick<PeriodBalance, 'account' | 'asset'>
  const slow = from === null && to === null ? allTime(companyId) : oneByOne(companyId, from, to)
  const rows = await q.many<Row>((await isFarBehind(q, companyId)) ? slow : between(companyId, from, to))
  return rows.map(({ openingUnits, debitUnits, creditUnits, ...row }) => ({
    ...row,
    openingUnits: BigInt(openingUnits),
    debitUnits: BigInt(debitUnits),
    creditUnits: BigInt(creditUnits),
  }))
}

export type EntryRow = {
  journalId: string
  kind: string
  causeId: string
  /** The code of its order. */
  orderCode: string | null
  /** The merchant's own reference of its order. */
  alias: string | null
  /** Of a payment: what was paid, in the currency of its order's price. */
  fromUnits: bigint | null
  fromAsset: string | null
  account: Account
  asset: string
  units: bigint
  at: Date
}

/**
 * A transaction later than all that have written until now. One of its own: a snapshot ends at the last that has ended,
 * before an open one that began after it.
 */
export async function findNextTransaction(q: Queryable): Promise<bigint> {
  const { next } = await q.one<{ next: bigint }>(sql`select pg_current_xact_id()::text::bigint as next`)
  return next
}

/**
 * What time it is for the database, and since when the oldest transaction that has written something is open; null:
 * none is. One whose commit waits for a standby is open, however long. To be read before the snapshot that it is about.
 */
export const findWritingSince = (q: Queryable): Promise<{ now: Date; since: Date | null }> =>
  q.one<{ now: Date; since: Date | null }>(sql`
    select now() as now, (select min(xact_start) from pg_stat_activity
      where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()) as since`)

/** The time of the last booking after this one. */
export async function findLastBookingAt(q: Queryable, companyId: string, after: Date): Promise<Date | null> {
  const { last } = await q.one<{ last: Date | null }>(
    sql`select max(at) as last from ledger_journals where company_id = ${companyId} and at > ${after}`,
  )
  return last
}

/** Whether all that this database wrote before that transaction is committed or undone. */
export async function hasEndedBefore(q: Queryable, next: bigint): Promise<boolean> {
  const { ended } = await q.one<{ ended: boolean }>(
    sql`select oldest_transaction_here(pg_current_snapshot()) >= ${next.toString()}::bigint as ended`,
  )
  return ended
}

/**
 * How much older an id may be than its booking's time. An id is made of that time and may only run ahead of it, and an
 * order that a sandbox moves back keeps its bookings' ids: this is room for clocks that were set.
 */
const ID_MARGIN_MS = HOUR

/** No booking of that time or later has an id up to this. */
const idBefore = (from: Date | null): string =>
  from === null ? '' : firstIdAt(Math.max(0, from.getTime() - ID_MARGIN_MS))

/**
 * Bookings by time; `after` is the last journal of the previous page. A late period starts at its first possible id:
 * ordered by id, PostgreSQL would otherwise read all bookings before it.
 */
export async function listEntries(
  q: Queryable,
  companyId: string,
  page: { from: Date | null; to: Date | null; after: string | null; limit: number },
): Promise<EntryRow[]> {
  const first = idBefore(page.from)
  const start = page.after !== null && page.after > first ? page.after : first
  const paid = sql`sum(e.units) filter (where e.units > 0) over (partition by j.id)`
  const fromUnits = paidOfPrice({ fromUnits: sql`o.from_units`, toUnits: sql`o.to_units`, paid })
  const rows = await q.many<Omit<EntryRow, 'units' | 'fromUnits'> & { units: string; fromUnits: string | null }>(sql`
    with journals as (
      select * from ledger_journals where company_id = ${companyId}
        and at >= coalesce(${page.from}::timestamptz, '-infinity') and at < coalesce(${page.to}::timestamptz, 'infinity')
        and id > ${start} order by id limit ${page.limit}
    )
    select j.id as journal_id, j.kind, j.cause_id, o.code as order_code, o.alias, o.from_asset,
      e.account, e.asset, e.units, j.at, ${fromUnits} as from_units
    from journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    left join orders o on o.company_id = j.company_id and o.id = j.order_id
    order by j.id, e.account`)
  return rows.map((row) => ({
    ...row,
    units: BigInt(row.units),
    fromUnits: row.fromUnits === null ? null : BigInt(row.fromUnits),
  }))
}
