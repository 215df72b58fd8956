-- Deposits brought home: one row for each authorization that moves one address, with what it cost.
create table sweeps (
  -- whose deposit it was
  company_id text not null,
  -- sweep:<chain>:<address>:<number>: the token's own nonce is its hash, so that it moves money once
  id text not null,
  chain_id integer not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  -- counts the sweeps of an address on a chain, from 1
  number integer not null check (number > 0),
  to_address text not null check (to_address ~ '^0x[0-9a-f]{40}$'),
  units numeric(78, 0) not null check (units > 0),
  status text not null check (status in ('sending', 'done', 'failed')),
  -- someone else submits the authorization (a Safe): it is only watched
  outside boolean not null default false,
  sent_by text not null,
  tx_hash text,
  -- what our relayer paid; null when someone else submitted it
  fee_wei numeric(78, 0),
  last_words text,
  checks integer not null default 0,
  next_check_at timestamptz(3),
  lease_until timestamptz(3),
  lease_epoch bigint not null default 0,
  poll_again boolean not null default false,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  done_at timestamptz(3),
  primary key (company_id, id),
  unique (chain_id, address, number),
  check (status <> 'done' or tx_hash is not null)
);
create index sweeps__checks on sweeps (next_check_at) where next_check_at is not null;
create unique index sweeps__one_open on sweeps (chain_id, address) where status = 'sending';

-- wallets that pay are audited; a deposit address that is emptied is none
alter table chain_payouts add column kind text not null default 'payout' check (kind in ('payout', 'sweep'));

alter table ledger_entries drop constraint ledger_entries_account_check;
alter table ledger_entries add constraint ledger_entries_account_check check (account in
  ('payer_clearing', 'own_account', 'wallet', 'company_payable', 'fees', 'refunds', 'suspense', 'losses', 'rounding',
    'settlement_transit', 'network_fees', 'gas'));
