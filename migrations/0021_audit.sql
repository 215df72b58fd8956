-- Who did what, when, from where, on which object, with which result. Append-only and chained: each row's hash (HMAC with a
-- key that is not in the clear here) covers the row and the hash before it; the head tells whether the end was cut off.

create table audit_log (
  seq bigint primary key,
  at timestamptz(3) not null,
  actor text not null,
  action text not null,
  result text not null check (result in ('ok', 'refused')),
  company_id text,
  object text,
  ip text,
  user_agent text,
  request_id text,
  -- text, not jsonb: the bytes are part of the hash
  detail text not null,
  key_id text not null,
  hash text not null
);
create index audit_log__company on audit_log (company_id, seq desc);
create index audit_log__actor on audit_log (actor, seq desc);

create table audit_head (
  one boolean primary key default true check (one),
  seq bigint not null,
  hash text not null
);
insert into audit_head (seq, hash) values (0, '');

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log__append_only before update or delete on audit_log
  for each row execute function refuse_audit_change();
create trigger audit_log__no_truncate before truncate on audit_log
  for each statement execute function refuse_audit_change();
create trigger audit_head__stays before delete on audit_head
  for each row execute function refuse_audit_change();
revoke update, delete, truncate on audit_log from public;
revoke update, delete, truncate on audit_log from current_user;
