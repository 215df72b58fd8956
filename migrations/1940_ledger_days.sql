-- Sums of a company's bookings by day, so that the balances of a period are read from a row a day and the bookings of
-- its edges. Days are those of UTC. `ledger_closed` says for which days the sums are whole: from `since`, and before
-- `before`. Whatever lies outside is added up from the bookings.
create table ledger_days (
  company_id text not null,
  day date not null,
  kind text not null,
  account text not null,
  asset text not null,
  bookings bigint not null,
  debit_units numeric(38, 0) not null,
  credit_units numeric(38, 0) not null,
  -- of refunds whose money left: what they had reserved of the company's balance, maybe on another day
  reserved_units numeric(38, 0) not null,
  primary key (company_id, day, kind, account, asset)
);
create table ledger_closed (
  company_id text primary key,
  since date not null,
  before date not null,
  constraint ledger_closed__order check (since <= before)
);

-- Whoever books holds its day until the commit, shared with others who book; who closes a day holds it alone. So a
-- booking is committed before its day is added up, or finds the day closed.
create function ledger_day_lock(company text, day date) returns bigint language sql immutable as $$
  select hashtextextended(format('ledger day %s %s', company, day - date '2000-01-01'), 0)
$$;

create function ledger_reopen_day(company text, booked_at timestamptz) returns void language plpgsql as $$
declare
  booked date := (booked_at at time zone 'UTC')::date;
begin
  perform pg_advisory_xact_lock_shared(ledger_day_lock(company, booked));
  update ledger_closed set before = booked where company_id = company and since <= booked and before > booked;
end $$;

-- In the database, so that no writer can leave it out: a node of the earlier version knows nothing of closed days.
-- An ordinary trigger: a subscriber of logical replication gets the sums and what is closed with the bookings.
create function ledger_reopen() returns trigger language plpgsql as $$
begin
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    raise exception 'bookings need the isolation level “read committed”: an older snapshot does not show which days are closed';
  end if;
  if tg_op <> 'INSERT' then perform ledger_reopen_day(old.company_id, old.at); end if;
  if tg_op <> 'DELETE' then perform ledger_reopen_day(new.company_id, new.at); end if;
  return null;
end $$;
-- A load of data alone has no search path.
do $$ begin
  execute format('alter function ledger_reopen() set search_path = %I', current_schema());
end $$;
create trigger ledger_journals__reopen after insert or update or delete on ledger_journals
  for each row execute function ledger_reopen();
