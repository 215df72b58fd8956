import { type Queryable, sql } from '../db/db.ts'

export type OpenOrders = { status: string; count: number; oldestSeconds: number }

/**
 * Counts every state that an order leaves without a person, using an index on orders in progress, never a scan of all.
 */
export const countOpenOrders = (q: Queryable): Promise<OpenOrders[]> =>
  q.many<OpenOrders>(sql`
    with states as (
      select unnest(array['INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION', 'REFUNDING']) as status
    ), open as (
      select status, updated_at from orders where status in ('INITIAL', 'PENDING', 'AWAITING')
      union all
      select o.status, o.updated_at from payments p join orders o on o.company_id = p.company_id and o.id = p.order_id
        where p.next_check_at is not null and o.status = 'WAITING_CHAIN_CONFIRMATION' and o.payment_id = p.id
      union all
      select distinct on (o.company_id, o.id) o.status, o.updated_at from refunds r
        join orders o on o.company_id = r.company_id and o.id = r.order_id
        where r.status in ('needs_approval', 'needs_address', 'ready', 'submitted') and o.status = 'REFUNDING'
    )
    select s.status, count(o.status)::int as count,
      coalesce(greatest(0, extract(epoch from now() - min(o.updated_at))), 0)::float8 as oldest_seconds
    from states s left join open o on o.status = s.status group by s.status`)
