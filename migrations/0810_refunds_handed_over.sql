-- Since when a person is asked to send a refund: from then on the service does not, also once it has the keys. Nodes of
-- earlier versions say so only by `ready` without a next poll, which naming a transaction then sets.
alter table refunds add column handed_over_at timestamptz(3);

update refunds set handed_over_at = updated_at
  where status = 'ready' and (next_check_at is null or last_words like 'send it by hand on %');

create function refund_handed_over() returns trigger language plpgsql as $$
begin
  new.handed_over_at := now();
  return new;
end $$;
create trigger refunds__handed_over before update of next_check_at on refunds for each row
  when (new.status = 'ready' and new.next_check_at is null and new.handed_over_at is null)
  execute function refund_handed_over();
