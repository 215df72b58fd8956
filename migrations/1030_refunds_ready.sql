-- Since when a refund is under way: it waits for no approval and no address, only for the service, a provider or a chain.
-- A trigger sets it, because nodes of earlier versions do not. Null while a person decides.
alter table refunds add column ready_at timestamptz(3);

-- no more than is certain of those that are under way now
update refunds set ready_at = updated_at where status in ('ready', 'submitted');

create function refund_ready() returns trigger language plpgsql as $$
begin
  new.ready_at := case
    when new.status in ('needs_approval', 'needs_address') then null
    when new.status in ('ready', 'submitted') then coalesce(new.ready_at, now())
    else new.ready_at
  end;
  return new;
end $$;
create trigger refunds__ready before insert or update of status on refunds for each row execute function refund_ready();
