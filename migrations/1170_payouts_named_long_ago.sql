-- Whether a transaction that an earlier version took was final is only unknown for a while: what was named two days ago
-- is, and many nodes do not keep its receipt. 1130 cleared that as well.
update chain_payouts set used_at = updated_at
where left_nonce is not null and status = 'failed' and tx_hash is not null and used_at is null
  and updated_at < now() - interval '2 days';
