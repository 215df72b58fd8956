-- What the wallets hold that pay on a chain, and whether the operator was warned.
create table wallet_levels (
  chain_id integer not null,
  -- payout: USDC units; relayer: wei of native coin
  wallet text not null check (wallet in ('payout', 'relayer')),
  address text not null,
  units numeric(78, 0) not null,
  -- how much leaves it on a day, by the last seven
  daily_units numeric(78, 0) not null,
  low boolean not null default false,
  checked_at timestamptz(3) not null,
  primary key (chain_id, wallet)
);

-- For a while more may be paid for gas than the settings allow; who said so stands in the audit log, too.
create table fee_overrides (
  chain_id integer primary key,
  max_fee_wei numeric(78, 0) not null check (max_fee_wei > 0),
  until timestamptz(3) not null,
  allowed_by text not null,
  reason text not null,
  created_at timestamptz(3) not null
);

-- Above a limit two persons approve a settlement.
alter table settlements
  add column first_approved_by text,
  add column approved_at timestamptz(3);
create index settlements__approved on settlements (network, released_at) where released_at is not null;

-- An operator compared the key's first addresses with the wallet; live mode gives out none before.
alter table deposit_keys
  add column confirmed_at timestamptz(3),
  add column confirmed_by text;
-- what is in use was compared by the money that arrived
update deposit_keys set confirmed_at = now(), confirmed_by = 'in use before' where next_index > 0;
