-- Every hour the final payouts of the last two days are rechecked, of all wallets there were.
create index chain_payouts__final on chain_payouts (chain_id, updated_at) where kind = 'payout' and status = 'final';
