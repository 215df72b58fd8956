-- The contract in which a payout was signed or is to be. CHAIN_<id>_USDC may name another one later: what left in the first
-- is looked up there, and not paid again. Of earlier payouts, the signed transaction says it: it is before the call of
-- transferWithAuthorization, which carries no native coin. Null: nothing says it, and the payout takes the token of the
-- settings when it is continued.
alter table chain_payouts add column token_address text check (token_address ~ '^0x[0-9a-f]{40}$');
update chain_payouts p set token_address = '0x' || sent.token
from (
  select payout_id, min(substring(lower(raw) from '94([0-9a-f]{40})80b90124e3ee160e')) as token
  from chain_payout_transactions group by payout_id
) sent
where p.id = sent.payout_id and sent.token is not null;

-- The contracts in which a chain's wallets pay, or paid. Those of restored backups too: after a change, the earlier ones are
-- asked about what left in them. Payers were asked for the same ones.
create table paying_tokens (
  chain_id integer not null,
  token_address text not null check (token_address ~ '^0x[0-9a-f]{40}$'),
  primary key (chain_id, token_address)
);
insert into paying_tokens (chain_id, token_address)
  select chain_id, token_address from chain_payouts where kind = 'payout' and token_address is not null
  union select network, lower(token_address) from payments where network is not null and token_address ~* '^0x[0-9a-f]{40}$';
