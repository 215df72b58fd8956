-- How a delivery ended badly, as the row has it: `status` of this view is computed from two tables, so that no index
-- finds by it the few that failed.
create or replace view delivery_states as
  select d.company_id, d.order_id, d.id, d.event, d.refund_id, d.url, d.series, d.request_id, d.created_at, d.updated_at,
    case when d.status in ('failed', 'parked') then d.status when due.delivery_id is null then 'delivered' else 'pending' end
      as status,
    case when due.owner is null then due.next_at end as next_at,
    d.status as stored_status
  from deliveries d
  left join delivery_due due on due.company_id = d.company_id and due.delivery_id = d.id;
