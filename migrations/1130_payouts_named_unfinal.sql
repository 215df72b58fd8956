-- From now on, used_at of a payout that ended says that the transaction named for it is final. Earlier versions took one
-- before that, too: whether it is final is asked of the chain again.
update chain_payouts set used_at = null
where left_nonce is not null and status = 'failed' and tx_hash is not null and used_at is not null;
