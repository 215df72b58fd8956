import { LEGAL } from '../stories/legal.ts'

/*
 * Invariants after each statement that commits. PostgreSQL checks them at commit (deferred triggers), only for the
 * affected order, so that nothing wrong ever becomes visible. The message reaches the run as an error.
 */

const steps = Object.entries(LEGAL).flatMap(([trigger, { from, to }]) =>
  from.map((status) => `('${trigger}', '${status}', '${to}')`),
)

/** History without a gap and by the table, its end is the order's status, each event has its delivery. */
const HISTORY = `create function simulation.guard_order() returns trigger language plpgsql as $$
declare broken text;
begin
  select case
    when not found_order then 'it is gone'
    when gap is not null then 'event ' || gap || ' leaves a gap'
    when step is not null then 'its event ' || step || ' is no legal step'
    when back is not null then 'its event ' || back || ' is not later than the one before'
    when silent is not null then 'event ' || silent || ', has no delivery'
    when ends <> status then 'it is ' || status || ', its history ' || ends
    when returned > paid_units then returned || ' units are refunded or promised, of ' || paid_units || ' paid'
  end into broken
  from (
    select o.id is not null as found_order, o.status, o.paid_units,
      min(e.seq) filter (where e.seq <> e.place) as gap,
      min(e.seq || ', ' || e.trigger || ' from ' || coalesce(e.from_status, 'nothing') || ' to ' || e.to_status)
        filter (where e.place > 1 and (e.from_status is distinct from e.before or not exists (
          select from simulation.steps s where s.trigger = e.trigger and s.from_status = e.from_status
            and s.to_status = e.to_status))) as step,
      min(e.seq) filter (where e.at <= e.before_at) as back,
      min(e.seq || ', ' || e.event) filter (where e.event is not null and not exists (
        select from deliveries d
        where d.company_id = o.company_id and d.order_id = o.id and d.event = e.event)) as silent,
      max(e.to_status) filter (where e.place = e.count) as ends,
      (select coalesce(sum(units), 0) from refunds r where r.company_id = o.company_id and r.order_id = o.id
        and r.mispayment_id is null and r.status not in ('rejected', 'refused')) as returned
    from orders o
    join lateral (
      select h.*, row_number() over w as place, count(*) over () as count, lag(h.to_status) over w as before,
        lag(h.at) over w as before_at
      from order_events h where h.company_id = o.company_id and h.order_id = o.id
      window w as (order by h.seq)
    ) e on true
    where o.company_id = new.company_id and o.id = new.id
    group by o.company_id, o.id, o.status, o.paid_units
  ) facts;
  if not found then broken := 'it has no history'; end if;
  if broken is not null then
    raise exception 'simulation: the order % of %: %', new.id, new.company_id, broken;
  end if;
  return null;
end $$`

/** The books of an order sum to zero, and pay a company no more than the order was worth. */
const BOOKS = `create function simulation.guard_books() returns trigger language plpgsql as $$
declare broken text;
begin
  if new.order_id is null then return null; end if;
  select case
    when sum(units) <> 0 then 'its books sum to ' || sum(units)
    when -sum(units) filter (where account = 'company_payable') > max(o.to_units)
      then -sum(units) filter (where account = 'company_payable') || ' units are payable of ' || max(o.to_units)
  end into broken
  from ledger_journals j
  join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
  join orders o on o.company_id = j.company_id and o.id = j.order_id
  where j.company_id = new.company_id and j.order_id = new.order_id;
  if broken is not null then
    raise exception 'simulation: the order % of %: %', new.order_id, new.company_id, broken;
  end if;
  return null;
end $$`

const trigger = (table: string, name: string, events: string): string =>
  `create constraint trigger simulation_${name} after ${events} on ${table} deferrable initially deferred
    for each row execute function simulation.guard_${name}()`

export const GUARDS: readonly string[] = [
  'create schema simulation',
  'create table simulation.steps (trigger text, from_status text, to_status text, primary key (trigger, from_status))',
  `insert into simulation.steps values ${steps.join(', ')}`,
  HISTORY,
  BOOKS,
  trigger('orders', 'order', 'insert or update'),
  trigger('ledger_journals', 'books', 'insert'),
]

/** A guard's message in an ErrorResponse of PostgreSQL, or null. */
export function guardWords(bytes: Buffer): string | null {
  const at = bytes.indexOf('Msimulation: ')
  return at < 0 ? null : bytes.toString('utf8', at + 'Msimulation: '.length, bytes.indexOf(0, at))
}
