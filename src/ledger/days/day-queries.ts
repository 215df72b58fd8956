import { type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'

/** Bookings of a day arrive until it ends, and a little later: from nodes whose clocks are behind, or that are slow. */
const LATE = sql`interval '1 hour'`

/**
 * The first day that is not closed yet at this time. By the earlier of two clocks: what is booked into a closed day
 * opens it again, and one node whose clock is ahead must not close today over and over.
 */
const openFrom = (at: Date): Sql => sql`((least(${at}::timestamptz, now()) - ${LATE}) at time zone 'UTC')::date`

const startOf = (day: Sql): Sql => sql`(${day}::timestamp at time zone 'UTC')`

/** Companies with bookings of days that have ended and are not closed. */
export async function listCompaniesToClose(q: Queryable, at: Date): Promise<string[]> {
  const rows = await q.many<{ id: string }>(sql`
    select c.id from companies c left join ledger_closed d on d.company_id = c.id
    where exists (select from ledger_journals j
      where j.company_id = c.id and j.at >= coalesce(${startOf(sql`d.before`)}, '-infinity')
        and j.at < ${startOf(openFrom(at))})
    order by c.id`)
  return rows.map(({ id }) => id)
}

/** The days from `first` until before `next`, as text: one with bookings, and the empty ones before it. */
export type Days = { first: string; next: string }

/** Days without a booking that are closed at once: each is a lock. */
const EMPTY_DAYS = 31

/** Which days are closed next; undefined: none, or another node is at it. Locks them until the transaction ends. */
export async function lockNextDays(tx: Tx, companyId: string, at: Date): Promise<Days | undefined> {
  // whoever books comes first
  await tx.run(sql`set local lock_timeout = '500ms'`)
  await tx.run(sql`
    insert into ledger_closed (company_id, since, before)
    select ${companyId}, day, day
    from (select (min(at) at time zone 'UTC')::date as day from ledger_journals where company_id = ${companyId}) first
    where day is not null on conflict do nothing`)
  const locked = await tx.maybe(sql`
    select 1 from ledger_closed where company_id = ${companyId} for update skip locked`)
  if (!locked) return undefined
  const days = await tx.maybe<Days>(sql`
    select c.before::text as first, least(booked.day + 1, c.before + ${EMPTY_DAYS}::integer)::text as next
    from ledger_closed c cross join lateral (
      select (min(at) at time zone 'UTC')::date as day from ledger_journals
      where company_id = ${companyId} and at >= ${startOf(sql`c.before`)}) as booked
    where c.company_id = ${companyId} and booked.day < ${openFrom(at)}`)
  if (!days) return undefined
  await tx.run(sql`
    select pg_advisory_xact_lock(ledger_day_lock(${companyId}, ${days.first}::date + n))
    from generate_series(0, ${days.next}::date - ${days.first}::date - 1) as n`)
  return days
}

/** The leg `e` of a booking `j` that says that a refund's money left. */
export const isRefunded = (j: Sql, e: Sql): Sql => sql`${j}.kind = 'refund_settled' and ${e}.account = 'refunds'`

/**
 * What the refund of such a booking had reserved of its company's balance. No join: the comparison of the books forbids
 * nested loops, and another join would read all bookings for each refund.
 */
export const reservedOf = (j: Sql): Sql => sql`(
  select sum(held.units) from ledger_entries held
  where held.company_id = ${j}.company_id and held.account in ('company_payable', 'fees')
    and held.journal_id = (select r.id from ledger_journals r
      where r.company_id = ${j}.company_id and r.kind = 'refund' and r.cause_id = ${j}.cause_id))`

/**
 * The legs `e` of a few journals `j`: each by the primary key, which PostgreSQL would not choose, because it does not
 * know how few lie outside the closed days. Of many it may choose for itself.
 */
export const legsOf = (isMany: boolean): Sql => sql`cross join lateral (
  select e.account, e.asset, e.units from ledger_entries e
  where e.company_id = j.company_id and e.journal_id = j.id ${isMany ? sql`` : sql`offset 0`}) as e`

/** What bookings add up to, by day. `where` restricts the journals `j`. */
const sumsByDay = (where: Sql): Sql => sql`
  select j.company_id, (j.at at time zone 'UTC')::date as day, j.kind, e.account, e.asset, count(*) as bookings,
    coalesce(sum(e.units) filter (where e.units > 0), 0) as debit_units,
    coalesce(-sum(e.units) filter (where e.units < 0), 0) as credit_units,
    coalesce(sum(${reservedOf(sql`j`)}) filter (where ${isRefunded(sql`j`, sql`e`)}), 0) as reserved_units
  from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
  where ${where} group by 1, 2, 3, 4, 5`

/** Adds up locked days, in a statement of its own: it sees what was committed before they were locked. */
export async function insertClosed(tx: Tx, companyId: string, { first, next }: Days): Promise<void> {
  await tx.run(sql`
    delete from ledger_days where company_id = ${companyId} and day >= ${first}::date and day < ${next}::date`)
  await tx.run(sql`
    insert into ledger_days (company_id, day, kind, account, asset, bookings, debit_units, credit_units, reserved_units)
    ${sumsByDay(sql`j.company_id = ${companyId} and j.at >= ${startOf(sql`${first}::date`)}
      and j.at < ${startOf(sql`${next}::date`)}`)}`)
  await tx.run(sql`update ledger_closed set before = ${next}::date where company_id = ${companyId}`)
}

const DAY_SUBJECT = 'day '

/** Whether a difference is one of the closed days. */
export const isOfDay = ({ subject }: { subject: string }): boolean => subject.startsWith(DAY_SUBJECT)

/** Closed days whose sums are not what their bookings add up to. `within` restricts a table to some companies. */
export const wrongDays = (within: (table: Sql) => Sql): Sql => {
  const isClosed = (companyId: Sql, day: Sql): Sql => sql`exists (select from ledger_closed c
    where c.company_id = ${companyId} and ${day} >= c.since and ${day} < c.before)`
  const words = (sums: Sql): Sql => sql`case when ${sums}.day is null then 'no sum'
    else ${sums}.bookings || ' bookings, debit ' || ${sums}.debit_units || ', credit ' || ${sums}.credit_units ||
      case when ${sums}.reserved_units = 0 then '' else ', reserved ' || ${sums}.reserved_units end end`
  return sql`
    select coalesce(d.company_id, b.company_id) as company_id,
      ${DAY_SUBJECT}::text || coalesce(d.day, b.day)::text as subject,
      'the sum of ' || coalesce(d.kind, b.kind) || ' in ' || coalesce(d.account, b.account) || ', ' ||
        coalesce(d.asset, b.asset) as what,
      ${words(sql`d`)} as booked, ${words(sql`b`)} as expected
    from (select * from ledger_days l where ${within(sql`l`)} and ${isClosed(sql`l.company_id`, sql`l.day`)}) d
    full join (${sumsByDay(sql`${within(sql`j`)}
      and ${isClosed(sql`j.company_id`, sql`(j.at at time zone 'UTC')::date`)}`)}) b
      on b.company_id = d.company_id and b.day = d.day and b.kind = d.kind and b.account = d.account and b.asset = d.asset
    where (d.bookings, d.debit_units, d.credit_units, d.reserved_units)
      is distinct from (b.bookings, b.debit_units, b.credit_units, b.reserved_units)
    order by 1, 2, 3`
}

/** Has all sums of a company made anew. @returns 0 where none were in use */
export const updateReopened = (q: Queryable, companyId: string): Promise<number> =>
  q.run(sql`update ledger_closed set before = since where company_id = ${companyId} and before > since`)

/** More than these are read faster in another way. */
const FEW_BOOKINGS = 20_000

/** Whether many bookings of earlier days are not closed yet: in the first minutes of a version that closes days. */
export async function isFarBehind(q: Queryable, companyId: string): Promise<boolean> {
  const { found } = await q.one<{ found: bigint }>(sql`
    select count(*) as found from (
      select 1 from ledger_journals
      where company_id = ${companyId} and at < now() - interval '3 days' and at >= coalesce(
        (select ${startOf(sql`before`)} from ledger_closed where company_id = ${companyId}), '-infinity')
      limit ${FEW_BOOKINGS + 1}) as first`)
  return found > FEW_BOOKINGS
}

/**
 * One row: from when and until before when a company's days are closed. Read it in the same statement as the sums, so
 * that both are from one snapshot.
 */
export const closedOf = (companyId: string): Sql => sql`
  select coalesce(min(${startOf(sql`since`)}), '-infinity') as since,
    coalesce(min(${startOf(sql`before`)}), '-infinity') as before
  from ledger_closed where company_id = ${companyId}`
