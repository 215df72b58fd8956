-- What the authorization of a payout moved instead of paying it, finally, as all nodes of its chain say; 0: it was
-- cancelled. Null: nothing, or it is not certain yet.
alter table chain_payouts add column spent_units numeric(78, 0);
