-- Every hour the final payouts of the last two days are rechecked, of all wallets there were.
create index chain_payouts__final on chain_payouts (chain_id, updated_at) where kind = 'payout' and status = 'final';
-- Those that a reorganisation undid and that are never sent again: the books of each company ask for them.
create index chain_payouts__undone on chain_payouts (id) where reopened_at is not null and status = 'failed';
