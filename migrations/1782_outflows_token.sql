-- The contract in which an outflow was counted: after CHAIN_<id>_USDC changes, what left in the earlier one explains
-- nothing in the present one. Null: an earlier version counted it, in the contract of its settings.
alter table deposit_differences add column token text;
