-- The transaction that is to pay a payout: the one that was signed last. The clocks of the nodes that signed them do not
-- say which that is. Null where an earlier version signed all of them.
alter table chain_payouts add column present_tx_hash text;

-- a node of an earlier version, which may run beside this one, only stores the transaction
create function payout_present() returns trigger language plpgsql as $$
begin
  update chain_payouts set present_tx_hash = new.tx_hash
  where id = new.payout_id and present_tx_hash is distinct from new.tx_hash;
  return null;
end $$;
create trigger chain_payout_transactions__present after insert on chain_payout_transactions
  for each row when (new.payout_id is not null) execute function payout_present();
