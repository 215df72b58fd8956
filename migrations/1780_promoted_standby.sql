-- Which server last wrote this database. A standby that takes over goes on in another timeline, maybe without the last
-- commits; the new server's timeline then differs from the one that came with the data. Null until a node noted it.
alter table installation
  add column server_system text,
  add column server_timeline bigint,
  add column server_seen_at timestamptz(3),
  -- whether commits waited for a standby then
  add column server_waits boolean not null default false,
  -- the last promotion: what it skipped, and whether the operator was told
  add column promotion jsonb;

-- Nulls where the server is a replica, or does not let us read it. pg_walfile_name knows the timeline at once; the
-- control file learns it at the first checkpoint, up to minutes later.
create function server_line(out system text, out timeline bigint, out waits boolean) language plpgsql as $$
begin
  waits := current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local');
  if pg_is_in_recovery() then
    return;
  end if;
  system := (select system_identifier::text from pg_control_system());
  begin
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
  exception when others then
    timeline := (select timeline_id from pg_control_checkpoint());
  end;
exception when others then
  system := null;
  timeline := null;
end $$;

-- Whether a standby took over since a node last noted the server. Another system holds a copy, with timelines of its own.
create function is_promoted(noted installation) returns boolean language sql as $$
  select exists (select from server_line() s where s.system = noted.server_system and s.timeline <> noted.server_timeline)
$$;
