-- The contracts in which a chain's wallets pay, or paid. Those of restored backups too: after a change, the earlier ones are
-- asked about what left in them. Payers were asked for the same ones. A signed transaction says its contract before the call of
-- transferWithAuthorization, which carries no native coin.
create table paying_tokens (
  chain_id integer not null,
  token_address text not null check (token_address ~ '^0x[0-9a-f]{40}$'),
  primary key (chain_id, token_address)
);
insert into paying_tokens (chain_id, token_address)
  select chain_id, '0x' || token from (
    select distinct chain_id, substring(lower(raw) from '94([0-9a-f]{40})80b90124e3ee160e') as token
    from chain_payout_transactions
  ) sent where token is not null
  union select network, lower(token_address) from payments where network is not null and token_address ~* '^0x[0-9a-f]{40}$';

-- The contract in which a payout was signed or is to be. CHAIN_<id>_USDC may name another one later: what left in the first
-- is looked up there, and not paid again. Null: an earlier version stored it, and whoever continues or rechecks it reads the
-- contract from its transaction. This comes last and reads nothing: until the end of the transaction all payouts wait for it.
alter table chain_payouts add column token_address text;
alter table chain_payouts add constraint chain_payouts_token_address_check check (token_address ~ '^0x[0-9a-f]{40}$') not valid;
