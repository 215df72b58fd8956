-- The chains on which money at the address counts for the payment: those that its company named when the payment got
-- the address; empty: all of them. Null: placed by a node that does not know the column, which counts what the wallet
-- names at the time; the next poll by one that does stores the same.
alter table deposit_reservations add column networks integer[];
