-- The newest block of each chain that was read when a payment got the address: what came to it before is another sale's. Null: an
-- earlier version gave it out, and all that came counts.
alter table deposit_addresses add column read_until jsonb;
