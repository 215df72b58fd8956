import { type Sql, sql, type Tx } from '../db/db.ts'

/** One place where the books and the facts differ; amounts in USDC units, as text. */
export type Difference = {
  companyId: string
  /** What it is about: an order, a refund, a settlement, a journal. */
  subject: string
  what: string
  booked: string
  expected: string
}

/** Nothing of what is compared changes while it is compared, however long that takes. */
export async function setSnapshot(tx: Tx): Promise<void> {
  await tx.run(sql`set transaction isolation level repeatable read read only`)
  await tx.run(sql`set local statement_timeout = 0`)
}

const unbalanced = sql`
  select company_id, 'journal ' || journal_id as subject, 'sum of its legs in ' || asset as what,
    sum(units)::text as booked, '0' as expected
  from ledger_entries group by company_id, journal_id, asset having sum(units) <> 0
  order by company_id, journal_id limit 1`

const torn = sql`
  select coalesce(j.company_id, e.company_id) as company_id, 'journal ' || coalesce(j.id, e.journal_id) as subject,
    case when j.id is null then 'legs without their journal' else 'a journal without legs' end as what,
    count(e.account)::text as booked, case when j.id is null then 'a journal' else 'legs' end as expected
  from ledger_journals j full join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
  where j.id is null or e.journal_id is null
  group by j.company_id, e.company_id, j.id, e.journal_id order by 1, 2 limit 1`

/** Journals about nothing that exists. */
const causeless = sql`
  select j.company_id, 'journal ' || j.id as subject, j.kind || ' of ' || j.cause_id as what, 'booked' as booked,
    'a cause that exists' as expected
  from ledger_journals j
  where not case
    when j.kind = 'payment' then exists (select 1 from payments p
      where p.company_id = j.company_id and p.id = j.cause_id and p.order_id = j.order_id)
    when j.kind in ('mispayment', 'late_accept') then exists (select 1 from orders o
      where o.company_id = j.company_id and o.id = j.order_id)
    when j.kind in ('refund', 'refund_settled', 'refund_dropped') then exists (select 1 from refunds r
      where r.company_id = j.company_id and r.id = j.cause_id and r.order_id = j.order_id)
    else exists (select 1 from settlements s where s.company_id = j.company_id and s.id = j.cause_id) end
  order by j.company_id, j.id limit 1`

/** What arrived for an order, by its payments, is what came in for it, by the books. */
const received = sql`
  with booked as (
    select j.company_id, j.order_id, sum(e.units) as units
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where j.kind in ('payment', 'mispayment', 'late_accept') and e.account in ('payer_clearing', 'own_account')
    group by j.company_id, j.order_id
  ), arrived as (
    select company_id, order_id, sum(received_units) as units from payments group by company_id, order_id
  )
  select o.company_id, 'order ' || o.code as subject, 'money received' as what, coalesce(b.units, 0)::text as booked,
    coalesce(a.units, 0)::text as expected
  from orders o
  left join booked b on b.company_id = o.company_id and b.order_id = o.id
  left join arrived a on a.company_id = o.company_id and a.order_id = o.id
  where coalesce(b.units, 0) <> coalesce(a.units, 0) order by o.company_id, o.id limit 1`

/** A paid order has the one booking of the payment that paid it; no other order has any. */
const paidOnce = sql`
  select o.company_id, 'order ' || o.code as subject, 'bookings of its payment' as what, count(j.id)::text as booked,
    case when o.paid_at is null then '0' else '1' end as expected
  from orders o
  left join ledger_journals j on j.company_id = o.company_id and j.order_id = o.id and j.kind = 'payment'
  group by o.company_id, o.id, o.code, o.paid_at, o.payment_id
  having count(j.id) <> case when o.paid_at is null then 0 else 1 end
    or (o.paid_at is not null and min(j.cause_id) <> o.payment_id)
  order by o.company_id, o.id limit 1`

const paidUnits = sql`
  select o.company_id, 'order ' || o.code as subject, 'paid units' as what, o.paid_units::text as booked,
    coalesce(p.received_units, 0)::text as expected
  from orders o left join payments p
    on p.company_id = o.company_id and p.id = o.payment_id and o.paid_at is not null
  where o.paid_units <> coalesce(p.received_units, 0) order by o.company_id, o.id limit 1`

const refundedUnits = sql`
  select o.company_id, 'order ' || o.code as subject, 'refunded units' as what, o.refunded_units::text as booked,
    coalesce(sum(r.units), 0)::text as expected
  from orders o left join refunds r on r.company_id = o.company_id and r.order_id = o.id
    and r.mispayment_id is null and r.status = 'settled'
  group by o.company_id, o.id, o.code, o.refunded_units
  having o.refunded_units <> coalesce(sum(r.units), 0) order by o.company_id, o.id limit 1`

const price = sql`
  select p.company_id, 'order ' || o.code as subject, 'price of its payment' as what, p.price_units::text as booked,
    least(p.due_units, e.units)::text as expected
  from payments p
  join orders o on o.company_id = p.company_id and o.id = p.order_id
  join ledger_journals j on j.company_id = p.company_id and j.kind = 'payment' and j.cause_id = p.id
  join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id and e.account in ('payer_clearing', 'own_account')
  where p.price_units is distinct from least(p.due_units, e.units) order by p.company_id, p.id limit 1`

/** The company's share of a payment, after its fee, which is rounded down. */
const share = sql`(p.price_units - div(p.price_units * p.fee_bps, 10000))`

/** Who holds a payment's money: the company, where it came to its own account at the provider. */
const holder = sql`case when p.own_account and p.channel <> 'coinbase' then 'own_account' else 'payer_clearing' end`

/** Every booking that follows from one row of facts, leg by leg, beside what stands in the books. */
const legs = sql`
  with expected (company_id, kind, cause_id, account, units) as (
    select p.company_id, 'payment', p.id, l.account, l.units
    from payments p
    join ledger_journals j on j.company_id = p.company_id and j.kind = 'payment' and j.cause_id = p.id
    join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id and e.account in ('payer_clearing', 'own_account')
    cross join lateral (values (${holder}, e.units), ('company_payable', -${share}),
      ('fees', ${share} - p.price_units), ('suspense', p.price_units - e.units)) as l (account, units)
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
    where l.booked
    union all
    select s.company_id, l.kind, s.id, l.account, l.units
    from settlements s
    cross join lateral (values
      ('settlement', 'company_payable', s.units, true), ('settlement', 'settlement_transit', -s.units, true),
      ('settlement_paid', 'settlement_transit', s.units, s.status = 'paid'),
      ('settlement_paid', 'payer_clearing', -s.units, s.status = 'paid'),
      ('settlement_cancelled', 'settlement_transit', s.units, s.status = 'cancelled'),
      ('settlement_cancelled', 'company_payable', -s.units, s.status = 'cancelled')) as l (kind, account, units, booked)
    where l.booked
  ), booked as (
    select j.company_id, j.kind, j.cause_id, e.account, e.units
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where j.kind not in ('mispayment', 'late_accept')
  )
  select coalesce(x.company_id, b.company_id) as company_id,
    coalesce(x.kind, b.kind) || ' ' || coalesce(x.cause_id, b.cause_id) as subject,
    'leg ' || coalesce(x.account, b.account) as what, coalesce(b.units, 0)::text as booked,
    coalesce(x.units, 0)::text as expected
  from (select * from expected where units <> 0) x
  full join booked b using (company_id, kind, cause_id, account)
  where x.units is distinct from b.units order by 1, 2, 3 limit 1`

/** What waits for a decision, or was left alone by one, is what is in suspense. */
const suspense = sql`
  with booked as (
    select j.company_id, j.order_id, -sum(e.units) as units
    from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
    where e.account = 'suspense' group by j.company_id, j.order_id
  ), waiting as (
    select company_id, order_id, sum(units) as units from (
      select company_id, order_id, units from mispayments
      where kind in ('under', 'late', 'duplicate', 'over') and status in ('open', 'ignored', 'refunded')
      union all
      select company_id, order_id, -excess_units from refunds where status not in ('rejected', 'refused')
    ) as parts group by company_id, order_id
  )
  select o.company_id, 'order ' || o.code as subject, 'money in suspense' as what, coalesce(b.units, 0)::text as booked,
    coalesce(w.units, 0)::text as expected
  from orders o
  left join booked b on b.company_id = o.company_id and b.order_id = o.id
  left join waiting w on w.company_id = o.company_id and w.order_id = o.id
  where coalesce(b.units, 0) <> coalesce(w.units, 0) order by o.company_id, o.id limit 1`

/** Told a second time, without the journals: from orders, refunds and settlements alone. */
const payable = sql`
  with booked as (
    select company_id, -sum(units) as units from ledger_entries where account = 'company_payable' group by company_id
  ), facts as (
    select company_id, sum(units) as units from (
      select p.company_id, ${share} as units from payments p
      join orders o on o.company_id = p.company_id and o.payment_id = p.id and o.paid_at is not null
      union all
      select company_id, excess_units - units from refunds where status not in ('rejected', 'refused')
      union all
      select company_id, -units from settlements where status <> 'cancelled'
    ) as parts group by company_id
  )
  select c.id as company_id, 'company ' || c.name as subject, 'what is owed to it' as what,
    coalesce(b.units, 0)::text as booked, coalesce(f.units, 0)::text as expected
  from companies c left join booked b on b.company_id = c.id left join facts f on f.company_id = c.id
  where coalesce(b.units, 0) <> coalesce(f.units, 0) order by c.id limit 1`

/** In this order, so that the first difference is nearest to its cause. */
const CHECKS: readonly Sql[] = [
  unbalanced,
  torn,
  causeless,
  paidOnce,
  received,
  paidUnits,
  price,
  legs,
  refundedUnits,
  suspense,
  payable,
]

export async function findFirstDifference(tx: Tx): Promise<Difference | undefined> {
  for (const check of CHECKS) {
    const difference = await tx.maybe<Difference>(check)
    if (difference) return difference
  }
  return undefined
}

export async function countBooked(tx: Tx): Promise<{ orders: bigint; journals: bigint }> {
  return tx.one(sql`
    select (select count(*) from orders) as orders, (select count(*) from ledger_journals) as journals`)
}
