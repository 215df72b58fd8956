-- Our own payout settled it, or another transaction than the one whose naming was cut short: that one can be named for
-- another. The trigger gives it to one that has a part of it.
delete from claimed_transfers c using refunds r
  where r.id = c.cause_id and r.status = 'settled' and r.tx_hash is distinct from c.tx_hash;
delete from claimed_transfers c using settlements s
  where s.id = c.cause_id and s.status = 'paid' and s.tx_hash is distinct from c.tx_hash;
delete from claimed_transactions c using refunds r
  where r.id = c.cause_id and r.status = 'settled' and r.tx_hash is distinct from c.tx_hash;
delete from claimed_transactions c using settlements s
  where s.id = c.cause_id and s.status = 'paid' and s.tx_hash is distinct from c.tx_hash;
