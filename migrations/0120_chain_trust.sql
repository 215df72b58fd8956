-- What the scanner knows about its own standing: how old the newest block is, when it last moved on, why it stands still.

alter table chain_heads
  -- when the newest block that was read says it was made
  add column block_at timestamptz(3),
  -- when the reader last stood at the chain's newest block, and that block was a new one
  add column advanced_at timestamptz(3),
  -- why the reader stands still; null while it reads
  add column trouble text check (trouble in ('foreign', 'disagreement')),
  add column trouble_since timestamptz(3),
  -- deposit balances are compared with the records in rounds, in the order of the addresses
  add column audit_cursor text not null default '',
  add column audited_at timestamptz(3);

-- What a node turned out to take at most. The URL may hold a secret: only its hash is kept.
create table chain_endpoints (
  chain_id integer not null,
  url_hash text not null,
  batch_size integer not null,
  block_span bigint not null,
  topic_count integer not null,
  learned_at timestamptz(3) not null default now(),
  primary key (chain_id, url_hash)
);

-- A deposit address whose balance is not simply what was recorded. Closed while what left it explains the rest.
create table deposit_differences (
  chain_id integer not null,
  address text not null,
  balance_units numeric(78, 0) not null,
  recorded_units numeric(78, 0) not null,
  -- what left the address, read up to this block
  outflow_units numeric(78, 0) not null default 0,
  outflow_to bigint not null default 0,
  block_number bigint not null,
  found_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  closed_at timestamptz(3),
  primary key (chain_id, address)
);
create index deposit_differences__open on deposit_differences (chain_id) where closed_at is null;

-- A deposit address is compared with the chain once more when its payment is over.
alter table payments add column audited_at timestamptz(3);
create index payments__unaudited on payments (closed_at)
  where deposit_address is not null and audited_at is null and closed_at is not null;
