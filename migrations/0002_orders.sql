-- Orders, their history, the attempts to pay them, and what the merchant's server is told.
-- Every large table carries company_id, and its keys contain it, so that it can be distributed by company.

create table rate_quotes (
  id text primary key,
  from_asset text not null,
  to_asset text not null,
  rate numeric(30, 12) not null check (rate > 0),
  -- every answer that was asked, taken or dropped, with the reason: the proof of the rate
  evidence jsonb not null,
  created_at timestamptz(3) not null
);
create index rate_quotes__pair on rate_quotes (from_asset, to_asset, created_at desc);

create table orders (
  company_id text not null,
  id text not null,
  code text not null,
  short_code text not null,
  status text not null check (status in ('INITIAL', 'PENDING', 'AWAITING', 'PAID', 'CANCELLED', 'ERROR', 'REFUNDING',
    'REFUNDED', 'FULL_REFUNDED', 'EXPIRED', 'WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED')),
  alias text,
  from_asset text not null,
  from_units numeric(38, 0) not null check (from_units > 0),
  to_asset text not null,
  to_units numeric(38, 0) not null check (to_units >= 0),
  rate numeric(30, 12) not null,
  quote_id text not null,
  payment_channel text,
  payment_id text,
  collector_id text,
  merchant_identifier text,
  website_url text,
  button_session_id text,
  webhook_url text,
  cancel_url text,
  return_url text,
  goods jsonb,
  anonymous boolean not null default false,
  created_by text,
  request_id text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  paid_at timestamptz(3),
  paid_units numeric(38, 0) not null default 0,
  refunded_units numeric(38, 0) not null default 0 check (refunded_units >= 0),
  -- grows with every change; the number of the newest order event
  version integer not null default 1,
  primary key (company_id, id),
  constraint orders__refunds_within_payment check (refunded_units <= paid_units)
) with (fillfactor = 85);
create unique index orders__code on orders (code, company_id);
create unique index orders__short_code on orders (company_id, short_code);
create unique index orders__open_alias on orders (company_id, alias)
  where alias is not null and status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION');
create index orders__alias on orders (alias, company_id, id desc) where alias is not null;
create index orders__expiring on orders (expires_at) where status in ('INITIAL', 'PENDING', 'AWAITING');

-- Append-only. `facts` holds the fields that changed, so that the order can be shown as it was at this event.
create table order_events (
  company_id text not null,
  order_id text not null,
  seq integer not null,
  trigger text not null,
  from_status text,
  to_status text not null,
  event text,
  actor text not null,
  request_id text,
  facts jsonb not null default '{}',
  at timestamptz(3) not null,
  xid xid8 not null default pg_current_xact_id(),
  primary key (company_id, order_id, seq)
);

create table payments (
  company_id text not null,
  id text not null,
  order_id text not null,
  -- the n-th attempt of this order; the merchant reference at the provider is made from it
  number integer not null,
  channel text not null,
  status text not null check (status in
    ('creating', 'awaiting', 'confirming', 'paid', 'failed', 'closing', 'closed')),
  merchant_reference text not null,
  provider_reference text,
  instructions jsonb,
  network integer,
  token_address text,
  deposit_address text,
  due_asset text not null,
  due_units numeric(38, 0) not null,
  received_units numeric(38, 0) not null default 0,
  payer_email_sealed text,
  user_address text,
  past_orders jsonb,
  cancel_url text,
  return_url text,
  last_words text,
  checks integer not null default 0,
  next_check_at timestamptz(3),
  opened_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  closed_at timestamptz(3),
  primary key (company_id, id),
  unique (company_id, order_id, number)
);
create unique index payments__merchant_reference on payments (merchant_reference, company_id);
create index payments__provider_reference on payments (channel, provider_reference) where provider_reference is not null;
create index payments__deposit_address on payments (deposit_address) where deposit_address is not null;
create index payments__checks on payments (next_check_at) where next_check_at is not null;

-- Money that does not fit an order as it should: recorded, decided by a person, never lost.
create table mispayments (
  company_id text not null,
  id text not null,
  order_id text not null,
  payment_id text not null,
  kind text not null check (kind in ('under', 'over', 'late', 'duplicate', 'wrong_token', 'orphaned')),
  asset text not null,
  units numeric(38, 0) not null,
  source_reference text not null,
  status text not null default 'open' check (status in ('open', 'accepted', 'refunded', 'ignored', 'resolved')),
  decided_by text,
  reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (company_id, id),
  unique (company_id, payment_id, kind, source_reference)
);

-- Up to which change of a chain's transfers the payments were told.
create table payment_chain_cursors (
  chain_id integer primary key,
  after_change bigint not null
);

create table payer_information (
  company_id text not null,
  order_id text not null,
  sealed text not null,
  updated_at timestamptz(3) not null,
  primary key (company_id, order_id)
);

create table idempotency_keys (
  company_id text not null,
  scope text not null,
  key text not null,
  fingerprint text not null,
  -- null while the first request runs
  response text,
  claimed_by text,
  locked_until timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (company_id, scope, key)
);
create index idempotency_keys__age on idempotency_keys (created_at);

create table deliveries (
  company_id text not null,
  id text not null check (id ~ '^[0-9a-f]{32}$'),
  order_id text not null,
  event text not null,
  refund_id text not null default '',
  url text not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'parked')),
  request_id text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (company_id, id),
  unique (company_id, order_id, event, refund_id)
) with (fillfactor = 90);
create index deliveries__list on deliveries (company_id, created_at desc, id);

-- Narrow, one row for each unfinished delivery, gone when it is finished.
create table delivery_due (
  company_id text not null,
  delivery_id text not null,
  bucket smallint not null,
  lane text not null,
  series integer not null default 1,
  attempts smallint not null default 0,
  crashes smallint not null default 0,
  next_at timestamptz(3) not null,
  lease_epoch bigint not null default 0,
  owner text,
  primary key (company_id, delivery_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
create index delivery_due__next on delivery_due (next_at);

-- Append-only.
create table delivery_attempts (
  company_id text not null,
  delivery_id text not null,
  series integer not null,
  number smallint not null,
  -- an attempt whose outcome nobody knows (the node died) is logged with its own epoch and not counted
  epoch bigint not null,
  trigger text not null default 'schedule' check (trigger in ('schedule', 'manual')),
  started_at timestamptz(3) not null,
  duration_ms integer,
  status_code integer,
  error_code text,
  response_body text,
  primary key (company_id, delivery_id, series, number, epoch)
);

-- Mails and other work that must happen once its transaction committed.
create table jobs (
  id text primary key,
  kind text not null,
  payload jsonb not null,
  dedupe_key text unique,
  run_at timestamptz(3) not null,
  attempts integer not null default 0,
  lease_epoch bigint not null default 0,
  owner text,
  last_error text,
  created_at timestamptz(3) not null
);
create index jobs__due on jobs (run_at);
