-- What named senders sent to an address of many thousand orders is found by the sender, each by its own, up to the next
-- order that named the same one.
create index chain_transfers__to_from on chain_transfers (to_address, from_address, block_at);
create index deposit_reservations__sender_from on deposit_reservations (address, sender, from_at) where sender is not null;
