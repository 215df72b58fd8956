-- How a company offers its channels: in which order, in which words, and for which prices.
create table channel_rules (
  company_id text not null,
  channel text not null,
  -- place among the channels that payers are offered; null: after those that have one
  position smallint,
  offered boolean not null default true,
  -- EUR
  min_amount numeric(18, 2) check (min_amount > 0),
  max_amount numeric(18, 2) check (max_amount > 0),
  -- language to label and hint
  texts jsonb not null default '{}',
  updated_at timestamptz(3) not null,
  primary key (company_id, channel),
  check (min_amount <= max_amount)
);
