-- Events and deliveries of orders become partitions by the month in which the order was made; an order's id begins with
-- that time (48 bits of milliseconds in hex). This step only says that all rows so far are of orders before a boundary:
-- without reading them, so that it takes a moment only. It is at least two days away: until the third step, every row
-- must fit.
do $$
declare
  turn timestamptz := (date_trunc('month', (now() + interval '2 days') at time zone 'UTC') + interval '1 month')
    at time zone 'UTC';
  boundary text := lpad(to_hex((extract(epoch from turn) * 1000)::bigint), 12, '0');
  part text;
  fits boolean;
begin
  foreach part in array array['order_events', 'deliveries'] loop
    -- an id from elsewhere, or of a clock far ahead: then all rows so far stay one partition for good
    execute format('select not exists (select from %I where order_id >= %L)', part, boundary) into fits;
    if fits then
      execute format('alter table %I add constraint %I check (order_id < %L) not valid', part, part || '__before', boundary);
    end if;
  end loop;
end $$;
