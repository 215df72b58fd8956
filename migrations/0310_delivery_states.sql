-- A delivery that arrived is marked by nothing but the end of its row in delivery_due: changing the row with the body
-- would write all of it again, with an entry in each of its indices. So `deliveries.status` says only how a delivery
-- ended badly; this view says how each one stands. Rows that a node of the version before marks as delivered mean the
-- same in it. docs/decisions/0007-the-state-of-a-delivery.md
create view delivery_states as
  select d.company_id, d.order_id, d.id, d.event, d.refund_id, d.url, d.series, d.request_id, d.created_at, d.updated_at,
    case when d.status in ('failed', 'parked') then d.status when due.delivery_id is null then 'delivered' else 'pending' end
      as status,
    case when due.owner is null then due.next_at end as next_at
  from deliveries d
  left join delivery_due due on due.company_id = d.company_id and due.delivery_id = d.id;

-- Found by the unique index (company, order, event, refund), too, which begins with the same columns. Never waiting
-- while holding a lock: running nodes may take them in another order.
do $$
begin
  loop
    begin
      set local lock_timeout = '150ms';
      drop index deliveries__order;
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.05 + random() * 0.1);
    end;
  end loop;
  set local lock_timeout = 0;
end $$;
