-- The authorization by which a payout left, if it is the one of another number, which was dropped. Means nothing without
-- tx_hash.
alter table chain_payouts add column left_nonce text;
