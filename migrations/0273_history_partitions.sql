-- Events and deliveries in partitions by the month of their order. Rows stay where they are: the tables so far become
-- the first partition, and the names now mean all of them, for old nodes, too.
--
-- An event's key holds the order's id, so it is unique over all partitions. A delivery's id follows from company, order,
-- event and refund, which are unique over all partitions; each partition has a primary key on the id, too.
do $$
declare
  part text;
  bound text;
begin
  -- All at once, and never waiting while holding one: running nodes take them in other orders, and a deadlock would end
  -- somebody's payment. What was taken is given back before the next try.
  loop
    begin
      set local lock_timeout = '150ms';
      lock table delivery_due, order_events, deliveries in access exclusive mode;
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.05 + random() * 0.1);
    end;
  end loop;
  set local lock_timeout = 0;

  foreach part in array array['order_events', 'deliveries'] loop
    select 'to (' || coalesce((regexp_match(pg_get_constraintdef(oid), '''[^'']*'''))[1], 'maxvalue') || ')' into bound
      from pg_constraint where conname = part || '__before' and conrelid = part::regclass;
    execute format('alter table %I rename to %I', part, part || '_before');
    execute format('create table %I (like %I including defaults including constraints) partition by range (order_id)',
      part, part || '_before');
    if bound is not null then
      execute format('alter table %I drop constraint %I', part, part || '__before');
    end if;
    if part = 'order_events' then
      alter table order_events_before rename constraint order_events_pkey to order_events_before_pkey;
      alter index order_events__feed rename to order_events_before__feed;
      alter index order_events__kept rename to order_events_before__kept;
      alter table order_events add primary key (company_id, order_id, seq);
      create index order_events__feed on order_events (company_id, position, order_id, seq)
        where event is not null and position is not null;
      create index order_events__kept on order_events (at) where event is not null and position is not null;
      create table order_events_default partition of order_events default;
    else
      alter table deliveries_before rename constraint deliveries_company_id_order_id_event_refund_id_key
        to deliveries_before_once;
      alter index deliveries__list rename to deliveries_before__list;
      alter index deliveries__order rename to deliveries_before__order;
      alter index deliveries__failed rename to deliveries_before__failed;
      alter table deliveries add constraint deliveries__once unique (company_id, order_id, event, refund_id);
      create index deliveries__list on deliveries (company_id, created_at desc, id);
      create index deliveries__order on deliveries (company_id, order_id);
      create index deliveries__failed on deliveries (company_id, updated_at desc) where status in ('failed', 'parked');
      create table deliveries_default partition of deliveries (primary key (company_id, id)) default
        with (fillfactor = 90);
    end if;
    execute format('alter table %I attach partition %I for values from (minvalue) %s',
      part, part || '_before', coalesce(bound, 'to (maxvalue)'));
    if bound is not null then
      execute format('alter table %I drop constraint %I', part || '_before', part || '__before');
    end if;
  end loop;
end $$;

create or replace view event_feed as
  select company_id, position, order_id, seq, event, at, to_status, facts
  from order_events where event is not null;

-- Which partition a due delivery is in: the sender looks in no other.
alter table delivery_due add column order_id text;
update delivery_due due set order_id = d.order_id
  from deliveries d where d.company_id = due.company_id and d.id = due.delivery_id;

-- For nodes that do not know the column yet; goes with the next contraction.
create function delivery_due_order() returns trigger language plpgsql as $$
begin
  new.order_id := (select order_id from deliveries where company_id = new.company_id and id = new.delivery_id);
  return new;
end $$;
create trigger delivery_due__order before insert on delivery_due
  for each row when (new.order_id is null) execute function delivery_due_order();
