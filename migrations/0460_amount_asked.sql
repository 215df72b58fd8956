-- The amount that a payment of a shared address asked for, also where its address serves one payment at a time: while
-- such a payment is open, its company may let the address serve many, and each is then told apart by its amount.
alter table deposit_reservations add column asked_units numeric(30, 0);

update deposit_reservations set asked_units = units where units is not null;
update deposit_reservations r set asked_units = p.due_units from payments p
  where r.units is null and p.company_id = r.company_id and p.merchant_reference = r.reference;

-- For nodes that do not know the column yet; goes with the next contraction.
create function reservation_asked_units() returns trigger language plpgsql as $$
begin
  new.asked_units := new.units;
  return new;
end $$;
create trigger reservation_asked_units before insert on deposit_reservations
  for each row when (new.asked_units is null)
  execute function reservation_asked_units();

create index deposit_reservations__asked on deposit_reservations (address, asked_units, from_at);
