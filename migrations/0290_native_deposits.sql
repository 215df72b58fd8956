-- A native coin (ether) that came to a deposit address by mistake. A transfer of it leaves no log: balances tell.
create table native_deposits (
  chain_id integer not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  -- counts what came to this address on this chain, from 1
  nth integer not null,
  units numeric(38, 0) not null check (units > 0),
  block_number bigint not null,
  noticed_at timestamptz(3) not null default now(),
  primary key (chain_id, address, nth)
);
create index native_deposits__address on native_deposits (address);
