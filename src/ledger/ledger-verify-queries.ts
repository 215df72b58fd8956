import { type Sql, sql, type Tx } from '../db/db.ts'
import { OWN_AMOUNTS_UNITS } from '../kernel/money.ts'
import { wrongDays } from './days/day-queries.ts'
import type { Difference } from './difference-queries.ts'
import { type FirstUnexplained, findUnexplained, listUnexplained } from './unexplained-queries.ts'

/** All that the transaction reads is of one moment. The first statement of the transaction. */
export async function setOneMoment(tx: Tx): Promise<void> {
  await tx.run(sql`set transaction isolation level repeatable read read only`)
}

/** The same without a time limit: a company's comparison takes as long as it takes. */
export async function setLongSnapshot(tx: Tx): Promise<void> {
  await setOneMoment(tx)
  await tx.liftTimeLimit()
}

/** The same for the comparisons below, which read whole tables of a company. */
export async function setSnapshot(tx: Tx): Promise<void> {
  await setLongSnapshot(tx)
  // a nested loop makes the comparison quadratic, and PostgreSQL chooses it for tables without statistics: in a new
  // installation, in a restored backup
  await tx.run(sql`set local enable_nestloop = off`)
}

/**
 * Restricts a table to one company's rows, or not at all. A separate condition per table, so that the index is used.
 */
type Scope = (table: Sql) => Sql

const scopeOf =
  (companyId: string | null): Scope =>
  (table) =>
    companyId === null ? sql`true` : sql`${table}.company_id = ${companyId}`

type Check = (within: Scope) => Sql

const unbalanced: Check = (within) => sql`
  select company_id, 'journal ' || journal_id as subject, 'sum of its legs in ' || asset as what,
    sum(units)::text as booked, '0' as expected
  from ledger_entries e where ${within(sql`e`)} group by company_id, journal_id, asset having sum(units) <> 0
  order by company_id, journal_id`

const torn: Check = (within) => sql`
  select coalesce(j.company_id, e.company_id) as company_id, 'journal ' || coalesce(j.id, e.journal_id) as subject,
    case when j.id is null then 'legs without their journal' else 'a journal without legs' end as what,
    count(e.account)::text as booked, case when j.id is null then 'a journal' else 'legs' end as expected
  from (select * from ledger_journals l where ${within(sql`l`)}) j
  full join (select * from ledger_entries l where ${within(sql`l`)}) e
    on e.company_id = j.company_id and e.journal_id = j.id
  where j.id is null or e.journal_id is null
  group by j.company_id, e.company_id, j.id, e.journal_id order by 1, 2`

/** Each booking `w` of a sweep: one that was undone was booked before, and is again once it is done. */
const bookedSweeps = sql`(
  select *, id || case when nth > 0 then '#' || nth else '' end as cause_id,
    nth < undone or status = 'done' as is_booked, nth < undone as is_undone
  from (
    select *, 0 as nth from sweeps
    union all
    select s.*, nth from sweeps s cross join lateral generate_series(1, s.undone) as nth where s.undone > 0
  ) as each) w`

/** Journals without a cause. */
const causeless: Check = (within) => sql`
  select j.company_id, 'journal ' || j.id as subject, j.kind || ' of ' || j.cause_id as what, 'booked' as booked,
    'a cause that exists' as expected
  from ledger_journals j
  where ${within(sql`j`)} and not case
    when j.kind = 'payment' then exists (select 1 from payments p
      where p.company_id = j.company_id and p.id = j.cause_id and p.order_id = j.order_id)
    when j.kind in ('mispayment', 'late_accept', 'loss', 'loss_borne') then exists (select 1 from orders o
      where o.company_id = j.company_id and o.id = j.order_id)
    when j.kind in ('refund', 'refund_settled', 'refund_dropped') then exists (select 1 from refunds r
      where r.company_id = j.company_id and r.id = j.cause_id and r.order_id = j.order_id)
    when j.kind in ('sweep', 'sweep_undone') then exists (select 1 from ${bookedSweeps}
      where w.company_id = j.company_id and w.id = split_part(j.cause_id, '#', 1) and w.cause_id = j.cause_id
        and case j.kind when 'sweep' then w.is_booked else w.is_undone end)
    when j.kind in ('sweep_fee', 'sweep_fee_undone') then exists (select 1 from ${bookedSweeps}
      where w.id = split_part(j.cause_id, '#', 1) and w.cause_id = j.cause_id
        and case j.kind when 'sweep_fee' then w.is_booked else w.is_undone end)
    else exists (select 1 from settlements s where s.company_id = j.company_id and s.id = j.cause_id) end
  order by j.company_id, j.id`

/**
 * Two attempts of an order count the same transfers: an old bug gave the hundredth the address of the tenth. What one
 * of them holds as a mispayment never existed and must not be refunded.
 */
const countedTwice: Check = (within) => sql`
  select p.company_id, 'order ' || o.code as subject, 'the deposit address of attempt ' || p.number as what,
    'that of attempt ' || q.number || ', and both count its money' as booked, 'one of its own' as expected
  from payments p
  join payments q on q.company_id = p.company_id and q.order_id = p.order_id and q.deposit_address = p.deposit_address
    and q.number < p.number and q.received_units > 0
  join orders o on o.company_id = p.company_id and o.id = p.order_id
  where ${within(sql`p`)} and p.number >= 100 and p.received_units > 0
    and not exists (select 1 from deposit_reservations r
      where r.company_id = p.company_id and r.reference = p.merchant_reference)
  order by p.company_id, p.id`

/** An order’s payments received what its journals say. */
const received: Check = (within) => sql`
  with booked as (
    select j.company_id, j.order_id, sum(e.units) as units
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where ${within(sql`j`)} and j.kind in ('payment', 'mispayment', 'late_accept')
      and e.account in ('payer_clearing', 'own_account')
    group by j.company_id, j.order_id
  ), arrived as (
    select company_id, order_id, sum(received_units) as units from payments p where ${within(sql`p`)}
    group by company_id, order_id
  )
  select o.company_id, 'order ' || o.code as subject, 'money received' as what, coalesce(b.units, 0)::text as booked,
    coalesce(a.units, 0)::text as expected
  from orders o
  left join booked b on b.company_id = o.company_id and b.order_id = o.id
  left join arrived a on a.company_id = o.company_id and a.order_id = o.id
  where ${within(sql`o`)} and coalesce(b.units, 0) <> coalesce(a.units, 0) order by o.company_id, o.id`

/** A paid order has exactly one payment booking, of the payment that paid it; other orders have none. */
const paidOnce: Check = (within) => sql`
  select o.company_id, 'order ' || o.code as subject, 'bookings of its payment' as what, count(j.id)::text as booked,
    case when o.paid_at is null then '0' else '1' end as expected
  from orders o
  left join ledger_journals j on j.company_id = o.company_id and j.order_id = o.id and j.kind = 'payment'
  where ${within(sql`o`)}
  group by o.company_id, o.id, o.code, o.paid_at, o.payment_id
  having count(j.id) <> case when o.paid_at is null then 0 else 1 end
    or (o.paid_at is not null and min(j.cause_id) <> o.payment_id)
  order by o.company_id, o.id`

/** An order's paid units are those of its payment, minus what a person decided. */
const paidUnits: Check = (within) => sql`
  with decided as (
    select company_id, payment_id, sum(units) as units from mispayments m
    where ${within(sql`m`)} and kind in ('under', 'late', 'duplicate', 'held') and status in ('refunded', 'ignored')
    group by company_id, payment_id
  )
  select o.company_id, 'order ' || o.code as subject, 'paid units' as what, o.paid_units::text as booked,
    (coalesce(p.received_units, 0) - coalesce(d.units, 0))::text as expected
  from orders o
  left join payments p on p.company_id = o.company_id and p.id = o.payment_id and o.paid_at is not null
  left join decided d on d.company_id = p.company_id and d.payment_id = p.id
  where ${within(sql`o`)} and o.paid_units <> coalesce(p.received_units, 0) - coalesce(d.units, 0)
  order by o.company_id, o.id`

const refundedUnits: Check = (within) => sql`
  select o.company_id, 'order ' || o.code as subject, 'refunded units' as what, o.refunded_units::text as booked,
    coalesce(sum(r.units), 0)::text as expected
  from orders o left join refunds r on r.company_id = o.company_id and r.order_id = o.id
    and r.mispayment_id is null and r.status = 'settled'
  where ${within(sql`o`)}
  group by o.company_id, o.id, o.code, o.refunded_units
  having o.refunded_units <> coalesce(sum(r.units), 0) order by o.company_id, o.id`

/** The price of an order through its payment `p`: `priceUnitsOf` in src/payments/payment-rules.ts. */
const asked = sql`case
  when p.due_units < o.to_units then o.to_units
  when p.channel = 'crypto' and p.due_units - o.to_units >= ${String(OWN_AMOUNTS_UNITS)}::numeric then o.to_units
  else p.due_units end`

const price: Check = (within) => sql`
  select p.company_id, 'order ' || o.code as subject, 'price of its payment' as what, p.price_units::text as booked,
    least(${asked}, e.units)::text as expected
  from payments p
  join orders o on o.company_id = p.company_id and o.id = p.order_id
  join ledger_journals j on j.company_id = p.company_id and j.kind = 'payment' and j.cause_id = p.id
  join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id and e.account in ('payer_clearing', 'own_account')
  where ${within(sql`p`)} and p.price_units is distinct from least(${asked}, e.units) order by p.company_id, p.id`

/** The company's share of a payment after the fee, which is rounded down. */
const share = sql`(p.price_units - div(p.price_units * p.fee_bps, 10000))`

/** Who holds a payment's money: the company, if it came to its own account at the provider. */
const holder = sql`case when p.own_account and p.channel <> 'coinbase' then 'own_account' else 'payer_clearing' end`

/** Before sweeps existed, payouts from our wallet were booked as payer_clearing. */
const paidFrom = sql`case when e.account = 'wallet' and j.kind in ('refund_settled', 'settlement_paid')
  then 'payer_clearing' else e.account end`

/** Compares each expected booking of a fact, leg by leg, with the actual one. */
const legs: Check = (within) => sql`
  with expected (company_id, kind, cause_id, account, units) as (
    select p.company_id, 'payment', p.id, l.account, l.units
    from payments p
    join ledger_journals j on j.company_id = p.company_id and j.kind = 'payment' and j.cause_id = p.id
    join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id and e.account in ('payer_clearing', 'own_account')
    cross join lateral (values (${holder}, e.units), ('company_payable', -${share}),
      ('fees', ${share} - p.price_units), ('suspense', p.price_units - e.units)) as l (account, units)
    where ${within(sql`p`)}
    union all
    select r.company_id, l.kind, r.id, l.account, l.units
    from refunds r
    join payments p on p.company_id = r.company_id and p.id = r.payment_id
    cross join lateral (values
      ('refund', 'company_payable', r.units - r.excess_units, true), ('refund', 'suspense', r.excess_units, true),
      ('refund', 'refunds', -r.units, true),
      ('refund_settled', 'refunds', r.units, r.status = 'settled'),
      ('refund_settled', ${holder}, -r.units, r.status = 'settled'),
      ('refund_dropped', 'company_payable', r.excess_units - r.units, r.status in ('rejected', 'refused')),
      ('refund_dropped', 'suspense', -r.excess_units, r.status in ('rejected', 'refused')),
      ('refund_dropped', 'refunds', r.units, r.status in ('rejected', 'refused'))) as l (kind, account, units, booked)
    where l.booked and ${within(sql`r`)}
    union all
    select s.company_id, l.kind, s.id, l.account, l.units
    from settlements s
    cross join lateral (values
      ('settlement', 'company_payable', s.units, true), ('settlement', 'settlement_transit', -s.units, true),
      ('settlement_paid', 'settlement_transit', s.units, s.status = 'paid'),
      ('settlement_paid', 'payer_clearing', -coalesce(s.left_units, s.units), s.status = 'paid'),
      ('settlement_paid', 'company_payable', coalesce(s.left_units, s.units) - s.units, s.status = 'paid'),
      ('settlement_cancelled', 'settlement_transit', s.units, s.status = 'cancelled'),
      ('settlement_cancelled', 'company_payable', -s.units, s.status = 'cancelled')) as l (kind, account, units, booked)
    where l.booked and ${within(sql`s`)}
    union all
    select w.company_id, l.kind, w.cause_id, l.account, l.units
    from ${bookedSweeps} cross join lateral (values
      ('sweep', 'wallet', w.units, w.is_booked), ('sweep', 'payer_clearing', -w.units, w.is_booked),
      ('sweep_undone', 'wallet', -w.units, w.is_undone),
      ('sweep_undone', 'payer_clearing', w.units, w.is_undone)) as l (kind, account, units, booked)
    where l.booked and ${within(sql`w`)}
  ), booked as (
    select j.company_id, j.kind, j.cause_id, ${paidFrom} as account, e.units
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where ${within(sql`j`)} and j.kind not in ('mispayment', 'late_accept', 'loss', 'loss_borne', 'sweep_fee', 'sweep_fee_undone')
  )
  select coalesce(x.company_id, b.company_id) as company_id,
    coalesce(x.kind, b.kind) || ' ' || coalesce(x.cause_id, b.cause_id) as subject,
    'leg ' || coalesce(x.account, b.account) as what, coalesce(b.units, 0)::text as booked,
    coalesce(x.units, 0)::text as expected
  from (select * from expected where units <> 0) x
  full join booked b using (company_id, kind, cause_id, account)
  where x.units is distinct from b.units order by 1, 2, 3`

/** Undecided and ignored money is in suspense, minus undecided losses. */
const suspense: Check = (within) => sql`
  with booked as (
    select j.company_id, j.order_id, -sum(e.units) as units
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where ${within(sql`j`)} and e.account = 'suspense' group by j.company_id, j.order_id
  ), waiting as (
    select company_id, order_id, sum(units) as units from (
      select company_id, order_id, units from mispayments m
      where ${within(sql`m`)} and kind in ('under', 'late', 'duplicate', 'held', 'over') and status in ('open', 'ignored', 'refunded')
      union all
      select company_id, order_id, -units from mispayments m
      where ${within(sql`m`)} and kind = 'orphaned' and status = 'open'
      union all
      select company_id, order_id, -excess_units from refunds r
      where ${within(sql`r`)} and status not in ('rejected', 'refused')
    ) as parts group by company_id, order_id
  )
  select o.company_id, 'order ' || o.code as subject, 'money in suspense' as what, coalesce(b.units, 0)::text as booked,
    coalesce(w.units, 0)::text as expected
  from orders o
  left join booked b on b.company_id = o.company_id and b.order_id = o.id
  left join waiting w on w.company_id = o.company_id and w.order_id = o.id
  where ${within(sql`o`)} and coalesce(b.units, 0) <> coalesce(w.units, 0) order by o.company_id, o.id`

/** Losses match what the books no longer hold, and each bearer pays for the decided ones. */
const losses: Check = (within) => sql`
  with booked as (
    select j.company_id, j.order_id,
      coalesce(-sum(e.units) filter (where j.kind = 'loss' and e.account in ('payer_clearing', 'own_account')), 0) as lost,
      coalesce(sum(e.units) filter (where j.kind = 'loss_borne' and e.account = 'losses'), 0) as by_operator,
      coalesce(sum(e.units) filter (where j.kind = 'loss_borne' and e.account = 'company_payable'), 0) as by_company
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where ${within(sql`j`)} and j.kind in ('loss', 'loss_borne') group by j.company_id, j.order_id
  ), facts as (
    select company_id, order_id, sum(units) as lost,
      coalesce(sum(units) filter (where status = 'borne' and borne_by = 'operator'), 0) as by_operator,
      coalesce(sum(units) filter (where status = 'borne' and borne_by = 'company'), 0) as by_company
    from mispayments m
    where ${within(sql`m`)} and kind = 'orphaned' and status in ('open', 'borne') group by company_id, order_id
  ), compared as (
    select company_id, order_id, l.what, l.booked, l.expected from booked b full join facts f using (company_id, order_id)
    cross join lateral (values ('money that left the chain', b.lost, f.lost),
      ('losses that the operator bears', b.by_operator, f.by_operator),
      ('losses that the company bears', b.by_company, f.by_company)) as l (what, booked, expected)
  )
  select c.company_id, 'order ' || coalesce(o.code, c.order_id) as subject, c.what, coalesce(c.booked, 0)::text as booked,
    coalesce(c.expected, 0)::text as expected
  from compared c left join orders o on o.company_id = c.company_id and o.id = c.order_id
  where coalesce(c.booked, 0) <> coalesce(c.expected, 0) order by 1, 2, 3`

/** The balance recomputed without the journals: from orders, refunds, losses and settlements. */
const payable: Check = (within) => sql`
  with booked as (
    select company_id, -sum(units) as units from ledger_entries e
    where ${within(sql`e`)} and account = 'company_payable' group by company_id
  ), facts as (
    select company_id, sum(units) as units from (
      select p.company_id, ${share} as units from payments p
      join orders o on o.company_id = p.company_id and o.payment_id = p.id and o.paid_at is not null
      where ${within(sql`p`)}
      union all
      select company_id, excess_units - units from refunds r
      where ${within(sql`r`)} and status not in ('rejected', 'refused')
      union all
      select company_id, -units from mispayments m where ${within(sql`m`)} and status = 'borne' and borne_by = 'company'
      union all
      select company_id, -coalesce(left_units, units) from settlements s where ${within(sql`s`)} and status <> 'cancelled'
    ) as parts group by company_id
  )
  select c.company_id, 'company ' || c.name as subject, 'what is owed to it' as what,
    coalesce(b.units, 0)::text as booked, coalesce(f.units, 0)::text as expected
  from (select id as company_id, name from companies) c
  left join booked b on b.company_id = c.company_id left join facts f on f.company_id = c.company_id
  where ${within(sql`c`)} and coalesce(b.units, 0) <> coalesce(f.units, 0) order by c.company_id`

/** Paid by a transaction that a reorganisation undid after it was final, and that is never sent again. */
const undone: Check = (within) => sql`
  select c.company_id, c.kind || ' ' || c.id as subject, 'what its transaction ' || p.tx_hash || ' paid' as what,
    p.units::text as booked, '0' as expected
  from (select id, tx_hash, units from chain_payouts where reopened_at is not null and status = 'failed') p
  join (
    select r.company_id, r.id, 'refund' as kind from refunds r where ${within(sql`r`)} and r.status = 'settled'
    union all
    select s.company_id, s.id, 'settlement' from settlements s where ${within(sql`s`)} and s.status = 'paid'
  ) c on c.id = p.id
  order by c.company_id, c.id`

/** Ordered so that the first difference is closest to its cause. */
const CHECKS: readonly Check[] = [
  unbalanced,
  torn,
  causeless,
  countedTwice,
  paidOnce,
  received,
  paidUnits,
  price,
  legs,
  refundedUnits,
  losses,
  suspense,
  payable,
  undone,
]

/** Of all companies, the first difference that nobody has explained, and how many are. */
export async function findFirstDifference(tx: Tx): Promise<FirstUnexplained> {
  let explained = 0
  for (const check of [...CHECKS, wrongDays]) {
    const found = await findUnexplained(tx, { source: 'books', companyId: null }, check(scopeOf(null)))
    explained += found.explained
    if (found.difference) return { explained, difference: found.difference }
  }
  return { explained, difference: undefined }
}

/**
 * Searches one company for what nobody has explained; per check at most this many that are not stored as open. Of
 * closed days also what is explained: they are added up anew whatever anybody says of them.
 */
export async function listDifferences(tx: Tx, companyId: string, limit: number): Promise<Difference[]> {
  const found: Difference[] = []
  for (const check of CHECKS)
    found.push(...(await listUnexplained(tx, { source: 'books', companyId }, check(scopeOf(companyId)), limit)))
  found.push(...(await tx.many<Difference>(sql`${wrongDays(scopeOf(companyId))} limit ${limit}`)))
  return found
}

export async function countBooked(tx: Tx): Promise<{ orders: bigint; journals: bigint }> {
  return tx.one(sql`
    select (select count(*) from orders) as orders, (select count(*) from ledger_journals) as journals`)
}
