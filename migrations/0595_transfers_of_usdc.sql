-- Whether the token was USDC by the settings of the time when the transfer was recorded. Null: an earlier version did,
-- under a name that proves nothing.
alter table chain_transfers add column is_usdc boolean;
