-- The wallets that pay refunds and settlements on each chain, or did. Those of restored backups too: after a change of keys
-- the token is asked about what left the earlier ones.
create table paying_wallets (
  chain_id integer not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  primary key (chain_id, address)
);
insert into paying_wallets (chain_id, address)
  select chain_id, lower(address) from wallet_levels where wallet = 'payout'
  union select chain_id, from_address from chain_payouts where kind = 'payout';
