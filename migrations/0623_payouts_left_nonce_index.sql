create index chain_payouts__left_nonce on chain_payouts (left_nonce) where left_nonce is not null;
