-- Screening of addresses (KYT). One row for each address of one subject: a payment, a refund, a settlement, a sweep.
-- `address` is null where a provider screened by itself.
create table screenings (
  company_id text not null,
  id text not null,
  purpose text not null check (purpose in ('payment', 'refund', 'settlement', 'sweep')),
  subject_id text not null,
  order_id text,
  network integer,
  address text,
  status text not null check (status in ('checking', 'held', 'clean', 'blocked', 'released', 'returned')),
  checks integer not null default 0,
  next_check_at timestamptz(3),
  lease_until timestamptz(3),
  lease_epoch bigint not null default 0,
  poll_again boolean not null default false,
  -- when a person was told that it waits
  told_at timestamptz(3),
  decided_by text,
  reason text,
  opened_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (company_id, id)
);
create unique index screenings__subject on screenings (company_id, purpose, subject_id, coalesce(address, ''));
create index screenings__order on screenings (company_id, order_id) where order_id is not null;
create index screenings__checks on screenings (next_check_at) where next_check_at is not null;
create index screenings__undecided on screenings (company_id, id desc) where status in ('checking', 'held', 'blocked');

-- Append-only: what each source said, with the answer itself.
create table screening_answers (
  company_id text not null,
  id text not null,
  screening_id text not null,
  source text not null,
  verdict text not null check (verdict in ('clean', 'hold', 'blocked', 'unavailable')),
  level text,
  reasons text[] not null,
  evidence jsonb,
  at timestamptz(3) not null,
  primary key (company_id, id)
);
create index screening_answers__screening on screening_answers (company_id, screening_id, id);
create function screening_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'answers of screening sources are append-only';
end $$;
create trigger screening_answers__append_only before update or delete on screening_answers
  for each row execute function screening_refuse_change();
create trigger screening_answers__no_truncate before truncate on screening_answers
  for each statement execute function screening_refuse_change();

-- Money whose sender is not cleared waits in a record of its own.
alter table mispayments drop constraint mispayments_kind_check;
alter table mispayments add constraint mispayments_kind_check
  check (kind in ('under', 'over', 'late', 'duplicate', 'held', 'wrong_token', 'orphaned'));
create index screenings__told on screenings (told_at) where told_at is not null;
