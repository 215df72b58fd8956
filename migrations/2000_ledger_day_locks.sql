-- A load of bookings took a lock for each company and day, and the server has room for a few thousand: bookings alone,
-- without the rest of a dump, did not load. A transaction that has locked many days holds the companies of all further
-- bookings by their row of `ledger_closed` instead. Rows take no room in that table, and whoever closes days locks the
-- same row first, in the earlier version too.
create or replace function ledger_reopen_day(company text, booked_at timestamptz) returns void language plpgsql as $$
declare
  -- more than any sale, refund or settlement books
  most constant integer := 100;
  booked date := (booked_at at time zone 'UTC')::date;
  -- empty in a session that had it in an earlier transaction
  locked integer := coalesce(nullif(current_setting('ledger.days_locked', true), ''), '0');
begin
  if locked < most then
    perform pg_advisory_xact_lock_shared(ledger_day_lock(company, booked));
    perform set_config('ledger.days_locked', (locked + 1)::text, true);
  else
    perform from ledger_closed where company_id = company for update;
    if not found then
      insert into ledger_closed (company_id, since, before)
      select company, day, day
      from (select (min(at) at time zone 'UTC')::date as day from ledger_journals where company_id = company) first
      where day is not null on conflict do nothing;
      perform from ledger_closed where company_id = company for update;
    end if;
    -- of an earlier day than all before, while none is closed
    update ledger_closed set since = booked, before = booked
    where company_id = company and since = before and booked < since;
  end if;
  update ledger_closed set before = booked where company_id = company and since <= booked and before > booked;
end $$;
