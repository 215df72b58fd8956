-- A number is found by its authorization, whatever chain and wallet it was meant for.
create index chain_payouts__nonce on chain_payouts (authorization_nonce) where kind in ('payout', 'withdrawn');
