-- The catch-up feed: every event has a position, and nothing ever appears behind a position that was read.
--
-- A position is at least the id of the transaction that wrote it. The horizon is the oldest transaction that still runs:
-- what lies before it is complete. Both add the same constant, which `event_clock_follow` raises when the data were moved
-- to another cluster, whose transaction ids start anew.

create function event_position() returns bigint language sql stable as
  'select pg_current_xact_id()::text::bigint + 0';
create function event_horizon() returns bigint language sql stable as
  'select pg_snapshot_xmin(pg_current_snapshot())::text::bigint + 0';

-- The cluster that the constant belongs to.
create table event_clock (
  singleton boolean primary key default true check (singleton),
  system_identifier text not null
);
insert into event_clock (system_identifier) select system_identifier::text from pg_control_system();

alter table order_events alter column xid drop default, alter column xid drop not null;
alter table order_events alter column xid type bigint using xid::text::bigint;
-- null: older than the feed goes back; the event stays as the order's history
alter table order_events rename column xid to position;
alter table order_events alter column position set default event_position();

create index order_events__feed on order_events (company_id, position, order_id, seq)
  where event is not null and position is not null;
create index order_events__kept on order_events (at) where event is not null and position is not null;

-- All events that merchants may be told of, each with the order's fields at that time; other kinds join by `union all`.
create view event_feed as
  select company_id, position, order_id, seq, event, at, to_status, facts
  from order_events where event is not null;

-- Makes positions go on after the highest that the data hold, if they came from another cluster. Returns whether they did.
create function event_clock_follow() returns boolean language plpgsql as $$
declare
  here text := (select system_identifier::text from pg_control_system());
  shift bigint;
begin
  if exists (select from event_clock where system_identifier = here) then
    return false;
  end if;
  lock table event_clock in access exclusive mode;
  if exists (select from event_clock where system_identifier = here) then
    return false;
  end if;
  lock table order_events in share row exclusive mode;
  select greatest(0, coalesce(max(position), 0) + 1 - pg_current_xact_id()::text::bigint) into shift from order_events;
  execute format('create or replace function event_position() returns bigint language sql stable as %L',
    'select pg_current_xact_id()::text::bigint + ' || shift);
  execute format('create or replace function event_horizon() returns bigint language sql stable as %L',
    'select pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ' || shift);
  update event_clock set system_identifier = here;
  return true;
end $$;
