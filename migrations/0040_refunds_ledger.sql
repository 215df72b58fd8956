-- Money back, and the books.

alter table companies add column refund_limit_units numeric(38, 0) not null default 1000000000;

create table refunds (
  company_id text not null,
  id text not null,
  order_id text not null,
  payment_id text not null,
  -- set: money that never paid the order goes back; the order's state is not touched
  mispayment_id text,
  channel text not null,
  status text not null check (status in
    ('needs_approval', 'needs_address', 'ready', 'submitted', 'settled', 'rejected', 'refused')),
  units numeric(38, 0) not null check (units > 0),
  -- what of it is money above the price, which never belonged to the company
  excess_units numeric(38, 0) not null default 0 check (excess_units >= 0 and excess_units <= units),
  fiat_units numeric(38, 0) not null,
  address text,
  network integer,
  reason text,
  requested_by text not null,
  decided_by text,
  provider_reference text,
  tx_hash text,
  last_words text,
  checks integer not null default 0,
  next_check_at timestamptz(3),
  request_id text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  settled_at timestamptz(3),
  primary key (company_id, id)
);
create index refunds__order on refunds (company_id, order_id);
create index refunds__checks on refunds (next_check_at) where next_check_at is not null;
-- an order has at most one refund under way: the sum of all can never exceed what was paid
create unique index refunds__one_open on refunds (company_id, order_id, coalesce(mispayment_id, ''))
  where status in ('needs_approval', 'needs_address', 'ready', 'submitted');

-- One row for each thing that moved money; a cause is booked once.
create table ledger_journals (
  company_id text not null,
  id text not null,
  kind text not null,
  cause_id text not null,
  order_id text,
  at timestamptz(3) not null,
  primary key (company_id, id),
  unique (company_id, kind, cause_id)
);
create index ledger_journals__order on ledger_journals (company_id, order_id);

-- Debits are positive, credits negative; the legs of a journal add up to zero in each asset.
create table ledger_entries (
  company_id text not null,
  journal_id text not null,
  account text not null check (account in
    ('payer_clearing', 'company_payable', 'fees', 'refunds', 'suspense', 'rounding', 'settlement_transit')),
  asset text not null,
  units numeric(38, 0) not null check (units <> 0),
  primary key (company_id, journal_id, account, asset)
);
create index ledger_entries__account on ledger_entries (company_id, account, asset);

create function ledger_check_balance() returns trigger language plpgsql as $$
begin
  if exists (
    select 1 from ledger_entries
    where company_id = new.company_id and journal_id = new.journal_id
    group by asset having sum(units) <> 0
  ) then
    raise exception 'journal % is not balanced', new.journal_id using errcode = '23514', constraint = 'ledger_entries__balanced';
  end if;
  return null;
end $$;
create constraint trigger ledger_entries__balanced after insert or update on ledger_entries
  deferrable initially deferred for each row execute function ledger_check_balance();

create function ledger_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only; book a correction instead';
end $$;
create trigger ledger_entries__append_only before update or delete on ledger_entries
  for each row execute function ledger_refuse_change();
create trigger ledger_journals__append_only before update or delete on ledger_journals
  for each row execute function ledger_refuse_change();

-- What is sent to a company's own address, in one go.
create table settlements (
  company_id text not null,
  id text not null,
  status text not null check (status in ('open', 'approved', 'paid', 'cancelled')),
  units numeric(38, 0) not null check (units > 0),
  address text not null,
  network integer not null,
  tx_hash text,
  created_by text not null,
  approved_by text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  paid_at timestamptz(3),
  primary key (company_id, id)
);
create unique index settlements__tx on settlements (network, tx_hash) where tx_hash is not null;
create unique index settlements__one_open on settlements (company_id) where status in ('open', 'approved');
