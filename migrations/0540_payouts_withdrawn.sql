-- A payout that was withdrawn before it began left no wallet: any node withdraws it, with or without the chain's keys.
alter table chain_payouts drop constraint chain_payouts_kind_check;
alter table chain_payouts
  add constraint chain_payouts_kind_check check (kind in ('payout', 'sweep', 'payment', 'withdrawn'));
