-- Whose account nonce a transaction uses: to recover that from its bytes takes milliseconds, for each one at each choice of
-- fees. Null where an earlier version stored it.
alter table chain_payout_transactions add column signer_address text;
