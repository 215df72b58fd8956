-- What another database of the same server does holds the feed back no more: the horizon was the oldest transaction of
-- the whole server, so that an hour of another application's writing was an hour without events.

-- The oldest transaction of this database that runs in a snapshot, or the first one after it. One that has ended
-- meanwhile counts as ours: what it wrote may be ours, and is not in the snapshot.
create function oldest_transaction_here(taken pg_snapshot) returns bigint language sql stable as $$
  select coalesce(min(running::text::bigint), pg_snapshot_xmax(taken)::text::bigint)
  from pg_snapshot_xip(taken) running
  where not exists (select from pg_stat_get_activity(null) other
      where other.backend_xid = running::xid
        and other.datid <> (select oid from pg_database where datname = current_database()))
    and not exists (select from pg_prepared_xacts other
      where other.transaction = running::xid and other.database <> current_database())
$$;

-- Both clocks, `shift` behind the server's. A replica's snapshots do not name what runs.
create function set_event_clock(shift bigint) returns void language plpgsql as $$
begin
  execute format('create or replace function event_position() returns bigint language sql stable as %L',
    'select pg_current_xact_id()::text::bigint + ' || shift);
  execute format('create or replace function event_horizon() returns bigint language sql stable as %L',
    'select case when pg_is_in_recovery() or pg_snapshot_xmin(pg_current_snapshot()) = pg_snapshot_xmax(pg_current_snapshot())'
    || ' then pg_snapshot_xmin(pg_current_snapshot())::text::bigint'
    || ' else oldest_transaction_here(pg_current_snapshot()) end + ' || shift);
  -- higher than every horizon that was ever read
  execute format('create or replace function event_clock_end() returns bigint language sql stable as %L',
    'select pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ' || shift);
end $$;

select set_event_clock(substring(prosrc from '\+ (\d+)\s*$')::bigint) from pg_proc where proname = 'event_horizon';

create or replace function event_clock_follow() returns boolean language plpgsql as $$
declare
  here text := (select system_identifier::text from pg_control_system());
begin
  if exists (select from event_clock where system_identifier = here) then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('event_clock_follow', 0));
  if exists (select from event_clock where system_identifier = here) then
    return false;
  end if;
  lock table order_events in share row exclusive mode;
  perform set_event_clock(
    (select greatest(0, coalesce(max(position), 0) + 1 - pg_current_xact_id()::text::bigint) from order_events));
  update event_clock set system_identifier = here;
  return true;
end $$;
