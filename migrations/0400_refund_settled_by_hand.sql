-- Whether a person sent the money of a settled refund: so far the beginning of its last words said so, which a provider
-- may write, too. Null: not settled. The words are written as before, for nodes that do not know the column.
alter table refunds add column settled_by_hand boolean;

update refunds set settled_by_hand = by_hand or coalesce(last_words like 'sent by hand: %', false)
  where status = 'settled';

-- For nodes that do not know the column yet; goes with the next contraction.
create function refund_settled_by_hand() returns trigger language plpgsql as $$
begin
  new.settled_by_hand := new.by_hand or coalesce(new.last_words like 'sent by hand: %', false);
  return new;
end $$;
create trigger refund_settled_by_hand before update on refunds
  for each row when (new.status = 'settled' and new.settled_by_hand is null)
  execute function refund_settled_by_hand();
