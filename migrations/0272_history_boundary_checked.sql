-- Reads the rows while they are being written, so that the next step need not.
do $$
declare
  part text;
begin
  foreach part in array array['order_events', 'deliveries'] loop
    if exists (select from pg_constraint where conname = part || '__before' and conrelid = part::regclass) then
      execute format('alter table %I validate constraint %I', part, part || '__before');
    end if;
  end loop;
end $$;
