-- Identity checks of payers (KYC), and what a payer spends.

alter table companies
  -- EUR; null: payers are not checked
  add column kyc_threshold_amount numeric(20, 2) check (kyc_threshold_amount > 0),
  -- EUR that an approved payer may spend in 30 days; null: any sum
  add column kyc_limit_amount numeric(20, 2) default 10000 check (kyc_limit_amount >= 0);

-- One row for each payer of whom an e-mail is known: held while a sum is formed, so that two orders cannot both fit.
create table kyc_payers (
  company_id text not null,
  -- HMAC of the normalised e-mail
  payer_key text not null check (payer_key ~ '^[0-9a-f]{64}$'),
  primary key (company_id, payer_key)
);

create table kyc_records (
  company_id text not null,
  -- also the provider's externalUserId
  id text not null check (id ~ '^[0-9a-f]{24}$'),
  payer_key text not null,
  -- null: erased
  email_sealed text,
  provider text not null check (provider in ('manual', 'sumsub')),
  status text not null check (status in ('pending', 'approved', 'refused')),
  edd_status text not null default 'none' check (edd_status in ('none', 'requested', 'pending', 'completed')),
  edd_outcome text check (edd_outcome in ('approved', 'refused')),
  spending_limit_amount numeric(20, 2) check (spending_limit_amount >= 0),
  -- the limit that holds once the provider approves the enhanced check; null: a SuperAdmin says it then
  edd_limit_amount numeric(20, 2) check (edd_limit_amount >= 0),
  applicant_id text,
  -- an applicant may exist at the provider although its answer never came
  creation_tried boolean not null default false,
  -- what the provider wants the payer to know
  payer_message text,
  last_words text,
  checks integer not null default 0,
  next_check_at timestamptz(3),
  -- grows with every change; the number of the newest history row
  version integer not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (company_id, id),
  unique (company_id, payer_key),
  check ((edd_status = 'completed') = (edd_outcome is not null)),
  check ((edd_status = 'completed') = (spending_limit_amount is not null))
);
create index kyc_records__id on kyc_records (id);
create index kyc_records__applicant on kyc_records (applicant_id) where applicant_id is not null;
create index kyc_records__checks on kyc_records (next_check_at) where next_check_at is not null;

-- Append-only: every state that a check ever had, and who decided.
create table kyc_history (
  company_id text not null,
  kyc_id text not null,
  seq integer not null,
  trigger text not null,
  status text not null,
  edd_status text not null,
  edd_outcome text,
  spending_limit_amount numeric(20, 2),
  actor text not null,
  reason text,
  request_id text,
  at timestamptz(3) not null,
  primary key (company_id, kyc_id, seq)
);
create function kyc_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the history of identity checks is append-only';
end $$;
create trigger kyc_history__append_only before update or delete on kyc_history
  for each row execute function kyc_refuse_change();

-- The orders that wait for a check: their merchant is told how it ends.
create table kyc_orders (
  company_id text not null,
  order_id text not null,
  kyc_id text not null,
  created_at timestamptz(3) not null,
  primary key (company_id, order_id)
);
create index kyc_orders__kyc on kyc_orders (company_id, kyc_id, order_id desc);

-- What a payer's accepted orders are worth.
create table kyc_spendings (
  company_id text not null,
  order_id text not null,
  payer_key text not null,
  -- cents of a EUR
  euro_units numeric(38, 0) not null check (euro_units >= 0),
  accepted_at timestamptz(3) not null,
  primary key (company_id, order_id)
);
create index kyc_spendings__payer on kyc_spendings (company_id, payer_key, accepted_at);

-- Callbacks that were taken, so that a repeated one starts nothing.
create table kyc_callbacks (
  applicant_id text not null,
  type text not null,
  created_at_text text not null,
  received_at timestamptz(3) not null,
  primary key (applicant_id, type, created_at_text)
);
create index kyc_callbacks__age on kyc_callbacks (received_at);
