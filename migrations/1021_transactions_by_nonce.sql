-- What was signed with an account nonce, for whichever payout: a replacement pays more than all of it.
create index chain_payout_transactions__nonce on chain_payout_transactions (chain_id, relayer_nonce);
