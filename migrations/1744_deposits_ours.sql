-- The deposit address of a payment is one that we watch. The address that Whitepay shows is its own: what comes there
-- is in no chain's transfers, so the books seemed to lack it. An older node may still write it; no reader believes it.
update payments set deposit_address = null where channel = 'whitepay-non-custody' and deposit_address is not null;
