-- The first word of a person of the shop for the proposed address, apart from who proposed it: a second word is needed
-- when the payer named the address through a link that anyone may hold.
alter table refunds add column confirmed_by text;

-- What the payer named through such a link before another address took its place.
alter table refunds add column replaced_address text;

-- A word is for one address only, whichever version of the service changes it.
create function refund_address_changed() returns trigger language plpgsql as $$
begin
  new.confirmed_by := null;
  if old.proposed_by = 'payer' then
    new.replaced_address := old.proposed_address;
  end if;
  return new;
end $$;
create trigger refunds__address_changed before update of proposed_address on refunds for each row
  when (lower(new.proposed_address) <> lower(old.proposed_address))
  execute function refund_address_changed();
