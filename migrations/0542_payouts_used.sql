-- Since when the token says that a payout's authorization was used, although no transaction that we know pays it.
alter table chain_payouts add column used_at timestamptz(3);
