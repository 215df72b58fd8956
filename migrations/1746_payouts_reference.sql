-- What a payer's authorization pays, by the caller's name for it: until it has ended, no other one is taken for the same.
-- An older node leaves it null; what it stored is known by its address and amount.
alter table chain_payouts add column reference text;
