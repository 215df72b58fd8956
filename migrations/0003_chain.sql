-- What the chains say: deposit addresses, how far each chain was read, and the transfers that were seen.

-- One row per account key, however many companies use it: an index is given out once in its life.
create table deposit_keys (
  -- hash of public key and chain code: the same for every spelling of the key
  id text primary key,
  xpub text not null,
  next_index bigint not null default 0 check (next_index between 0 and 2147483648),
  created_at timestamptz(3) not null default now()
);

create table deposit_addresses (
  address text primary key check (address ~ '^0x[0-9a-f]{40}$'),
  company_id text not null,
  -- what the address was asked for: asking again gives the same one
  reference text not null,
  key_id text not null references deposit_keys (id),
  key_index bigint not null,
  created_at timestamptz(3) not null default now(),
  watched_until timestamptz(3) not null,
  unique (company_id, reference),
  unique (key_id, key_index)
);
create index deposit_addresses__watched on deposit_addresses (watched_until);

create table chain_heads (
  chain_id integer primary key,
  genesis_hash text,
  -- the newest block whose logs were read; null before the first
  number bigint,
  hash text,
  safe_number bigint,
  finalized_number bigint,
  -- when the scanner last stood at the chain's newest block
  scanned_at timestamptz(3),
  -- one node reads a chain at a time; every write proves that it still holds the lease
  lease_owner text,
  lease_until timestamptz(3)
);

-- The last blocks as we read them; gaps where many were read at once.
create table chain_blocks (
  chain_id integer not null,
  number bigint not null,
  hash text not null,
  primary key (chain_id, number)
);

-- Values are taken while the chain's row in chain_heads is locked: within a chain they appear in order, without gaps
-- that fill later.
create sequence chain_changes;

create table chain_transfers (
  id text primary key,
  chain_id integer not null,
  tx_hash text not null,
  nth integer not null,
  log_index integer not null,
  block_number bigint not null,
  block_hash text not null,
  block_at timestamptz(3) not null,
  token text not null,
  symbol text not null,
  from_address text not null,
  to_address text not null,
  units numeric(78, 0) not null check (units > 0),
  status text not null check (status in ('seen', 'orphaned')),
  first_seen_at timestamptz(3) not null default now(),
  final_at timestamptz(3),
  change bigint not null,
  -- a transaction that is mined again keeps its hash, but not its block nor its place in it
  unique (chain_id, tx_hash, token, to_address, nth)
);
create index chain_transfers__to on chain_transfers (to_address);
create index chain_transfers__change on chain_transfers (chain_id, change);
create index chain_transfers__open on chain_transfers (chain_id) where status = 'seen' and final_at is null;
create index chain_transfers__block on chain_transfers (chain_id, block_number);
