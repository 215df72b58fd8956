-- Nodes that start at the same moment in a restored database: each had read the clock before it asked to lock it, so two
-- of them could wait for each other. Now they queue at a lock that nobody holds yet.
create or replace function event_clock_follow() returns boolean language plpgsql as $$
declare
  here text := (select system_identifier::text from pg_control_system());
  shift bigint;
begin
  if exists (select from event_clock where system_identifier = here) then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('event_clock_follow', 0));
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
