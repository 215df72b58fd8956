-- A look for payers' mistakes that failed is repeated, with growing gaps, and holds back no other payment's.
alter table payments add column audit_due_at timestamptz(3);
create index payments__audit_due on payments (coalesce(audit_due_at, closed_at))
  where deposit_address is not null and audited_at is null and closed_at is not null;
drop index payments__unaudited;
