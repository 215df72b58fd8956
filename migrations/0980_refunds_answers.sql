-- The first word of a person of the shop for the proposed address, apart from who proposed it: a second word is needed
-- when the payer named the address through a link that anyone may hold.
alter table refunds add column confirmed_by text;

-- What the payer named through such a link before other addresses took its place: the newest 20, the newest last. With
-- one alone, whoever holds the link could name another address on top of it, and the payer's would be forgotten.
alter table refunds add column replaced_addresses text[] not null default '{}';

-- A word is for one address only, whichever version of the service changes it.
create function refund_address_changed() returns trigger language plpgsql as $$
declare
  named text[] := array_append(array_remove(old.replaced_addresses, old.proposed_address), old.proposed_address);
begin
  new.confirmed_by := null;
  if old.proposed_by = 'payer' then
    new.replaced_addresses := named[cardinality(named) - 19:];
  end if;
  return new;
end $$;
create trigger refunds__address_changed before update of proposed_address on refunds for each row
  when (lower(new.proposed_address) <> lower(old.proposed_address))
  execute function refund_address_changed();
