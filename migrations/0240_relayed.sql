-- Payers' own authorizations that our relayer submits (x402): followed like payouts, from their wallet to a deposit.
alter table chain_payouts drop constraint chain_payouts_kind_check;
alter table chain_payouts
  add constraint chain_payouts_kind_check check (kind in ('payout', 'sweep', 'payment')),
  -- the chain's seconds; our own authorizations are good at once
  add column valid_after bigint not null default 0;
create index chain_payouts__relayed on chain_payouts (chain_id, updated_at)
  where kind = 'payment' and status not in ('final', 'failed');
