-- Anyone can type anyone's address as the sender of an order, so it no longer makes money of another amount pay that
-- order. Until this time it still does, so that nodes of both versions judge the same while one replaces the other, and
-- what it made pay stays paid. A day after the upgrade no claim counts: the default is a fixed time, for every row.
-- Null, where there was nothing to upgrade: a claim, for a person who decides.
do $$
begin
  if exists (select from deposit_reservations) then
    execute format('alter table deposit_reservations add column sender_until timestamptz(3) default %L',
      now() + interval '1 day');
  else
    alter table deposit_reservations add column sender_until timestamptz(3);
  end if;
end $$;
