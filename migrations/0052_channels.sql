-- Payments at exchanges: whose account they are in, what was said to the provider, companies' own credentials.

-- opened with the company's own credentials: only these can ask about it, whatever is set up later
alter table payments add column own_account boolean not null default false;
create index payments__order on payments (company_id, order_id, number desc);

-- a company's own account at a provider wins over the operator's
create table channel_accounts (
  company_id text not null,
  channel text not null,
  -- JSON of the settings, sealed
  sealed text not null,
  -- names and the last characters of what is set, for people
  hints jsonb not null,
  created_by text not null,
  updated_at timestamptz(3) not null,
  primary key (company_id, channel)
);

-- What was said to a provider and what it answered, without secrets, for support; dropped after its retention.
create table channel_exchanges (
  company_id text not null,
  id text not null,
  channel text not null,
  merchant_reference text not null,
  step text not null,
  method text not null,
  url text not null,
  request text not null,
  status integer,
  answer text not null,
  duration_ms integer not null,
  at timestamptz(3) not null,
  primary key (company_id, id)
);
create index channel_exchanges__payment on channel_exchanges (company_id, merchant_reference, at);
create index channel_exchanges__age on channel_exchanges (at);
