-- A transaction that only uses up an account nonce which no payout keeps belongs to no payout.
alter table chain_payout_transactions alter column payout_id drop not null;
