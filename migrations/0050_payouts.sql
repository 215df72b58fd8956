-- Money that leaves by our own keys: one row for each payout, whatever happens in between.

create table chain_payouts (
  -- the caller's id (a refund, a settlement): the token's own nonce follows from it, so that it pays once
  id text primary key,
  chain_id integer not null,
  from_address text not null check (from_address ~ '^0x[0-9a-f]{40}$'),
  to_address text not null check (to_address ~ '^0x[0-9a-f]{40}$'),
  units numeric(78, 0) not null check (units > 0),
  -- keccak256 of the id: EIP-3009's nonce, used at most once by the token
  authorization_nonce text not null check (authorization_nonce ~ '^0x[0-9a-f]{64}$'),
  status text not null check (status in ('reserved', 'signed', 'sent', 'mined', 'final', 'failed')),
  -- the newest authorization that was signed, and until when (the chain's seconds) anybody may use it
  signature text,
  valid_before bigint,
  -- the relayer's account nonce that is kept for this payout until something is mined with it
  relayer_address text,
  relayer_nonce bigint,
  -- the transaction that paid
  tx_hash text,
  words text not null,
  refusals integer not null default 0,
  lease_epoch bigint not null default 0,
  lease_until timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (chain_id, from_address, authorization_nonce),
  check ((relayer_address is null) = (relayer_nonce is null)),
  check (status <> 'final' or tx_hash is not null)
);
create unique index chain_payouts__relayer_nonce on chain_payouts (chain_id, relayer_address, relayer_nonce)
  where status not in ('final', 'failed');

-- Everything that was ever signed for a payout, kept before it is sent: of the same account nonce the first mined wins.
create table chain_payout_transactions (
  chain_id integer not null,
  tx_hash text not null,
  payout_id text not null references chain_payouts (id),
  relayer_nonce bigint not null,
  raw text not null,
  max_fee_wei numeric(78, 0) not null,
  priority_fee_wei numeric(78, 0) not null,
  -- the newest block when it was handed in; null before
  sent_block bigint,
  created_at timestamptz(3) not null,
  primary key (chain_id, tx_hash)
);
create index chain_payout_transactions__payout on chain_payout_transactions (payout_id, created_at);

-- Account nonces are given out here, under the row's lock, never by the node.
create table chain_relayers (
  chain_id integer not null,
  address text not null,
  next_nonce bigint not null check (next_nonce >= 0),
  primary key (chain_id, address)
);
