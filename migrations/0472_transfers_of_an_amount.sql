-- A shared address may get one amount thousands of times: each order finds its own by the time, too.
create index chain_transfers__to_units_at on chain_transfers (to_address, units, block_at);
drop index chain_transfers__to_units;
