-- How many orders a company has in each state, so that the total of a list is read from a few rows instead of counting
-- every order. A change adds a row, which nothing else waits for; a job folds these rows into `order_counts`. Whoever
-- reads both in one statement sees the exact number at any moment.
create table order_counts (
  company_id text not null,
  status text not null,
  orders bigint not null,
  primary key (company_id, status)
);
-- Filled and emptied all the time; dead rows are in the way of the next reader.
create table order_count_changes (
  company_id text not null,
  id bigint generated always as identity,
  status text not null,
  orders integer not null,
  primary key (company_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 10000);
-- Its row says that the orders of before are counted, too. Without it, lists count.
create table order_count_state (
  only_row boolean primary key default true check (only_row),
  counted_at timestamptz(3) not null default now()
);

create function order_count_created() returns trigger language plpgsql as $$
begin
  insert into order_count_changes (company_id, status, orders)
    select company_id, status, count(*) from created group by company_id, status;
  return null;
end $$;
-- Once a statement: creations that arrive together share one.
create trigger orders__count_created after insert on orders
  referencing new table as created for each statement execute function order_count_created();

create function order_count_moved() returns trigger language plpgsql as $$
begin
  insert into order_count_changes (company_id, status, orders) values (old.company_id, old.status, -1);
  if tg_op = 'UPDATE' then
    insert into order_count_changes (company_id, status, orders) values (new.company_id, new.status, 1);
  end if;
  return null;
end $$;
create trigger orders__count_moved after update of status on orders
  for each row when (old.status is distinct from new.status) execute function order_count_moved();
create trigger orders__count_deleted after delete on orders for each row execute function order_count_moved();

-- The triggers hold off writers until this commits, so an empty table is counted. Others are counted by the job.
insert into order_count_state (only_row) select true where not exists (select from orders);
