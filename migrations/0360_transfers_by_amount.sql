-- A shared address may hold a hundred thousand transfers: those of one amount are found by it.
create index chain_transfers__to_units on chain_transfers (to_address, units);
drop index chain_transfers__to;
