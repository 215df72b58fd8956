-- Which transfer belongs to which payment of a shared address is asked for whole companies: by time, not row by row.
create index chain_transfers__to_at on chain_transfers (to_address, block_at);
create index deposit_reservations__from on deposit_reservations (address, from_at);
