-- What left before a restore was named for its own settlement: its transaction pays nothing else, and the token's word that
-- its authorization was used holds no other settlement.
update chain_payouts p set tx_hash = s.tx_hash from settlements s
where s.id = p.id and s.status = 'paid' and s.by_hand and s.tx_hash is not null
  and (s.left_units is not null or s.left_to is not null) and p.status = 'failed' and p.tx_hash is null;
