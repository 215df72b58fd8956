-- Nodes of earlier versions release a transaction in claimed_transactions only. What the same refund or settlement has of
-- it in claimed_transfers is released with it; if others have a part of it, one of them takes its place. Goes with
-- claimed_transactions.
create function release_claimed_transfers() returns trigger language plpgsql as $$
begin
  delete from claimed_transfers
    where network = old.network and tx_hash = old.tx_hash and cause_id = old.cause_id;
  insert into claimed_transactions (network, tx_hash, cause_id)
    select network, tx_hash, min(cause_id) from claimed_transfers
    where network = old.network and tx_hash = old.tx_hash group by network, tx_hash
    on conflict do nothing;
  return null;
end $$;
create trigger claimed_transactions__released after delete on claimed_transactions
  for each row execute function release_claimed_transfers();
