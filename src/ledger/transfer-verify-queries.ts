import { IS_SHARED, SHARED_TRANSFERS } from '../chain/deposits/reservation-queries.ts'
import { IS_EARLIER, isUsdcOf, type UsdcContracts } from '../chain/transfer-queries.ts'
import { ON_CHAIN_CHANNELS } from '../channels/channel.ts'
import { type Queryable, type Sql, sql } from '../db/db.ts'
import type { Difference } from './difference-queries.ts'
import { listUnexplained } from './unexplained-queries.ts'

const compared = (companyId: string, usdc: UsdcContracts): Sql => sql`
  with counted as (
    select p.company_id, p.id, p.order_id, p.deposit_address, p.own_account, p.merchant_reference,
      p.network, p.token_address,
      ${IS_SHARED} as is_shared, p.received_units - coalesce((select sum(m.units)
      from mispayments m where m.company_id = p.company_id and m.payment_id = p.id and m.kind = 'orphaned'
        and m.status in ('open', 'borne')), 0) as units
    from payments p where p.company_id = ${companyId} and p.deposit_address is not null
      and p.channel = any(${[...ON_CHAIN_CHANNELS]}::text[])
  ), compared as (
    select p.company_id, p.order_id, p.deposit_address, p.units,
      coalesce(sum(t.units) filter (where t.status = 'seen' and t.counts), 0) as seen,
      coalesce(sum(t.units) filter (where t.final_at is not null and t.counts
        and (not p.is_shared or t.chain_id = p.network)), 0) as settled,
      coalesce(bool_or(t.change > coalesce(f.after_change, 0)), false) as has_news
    from counted p
    -- looked up payment by payment: joined as one list, each payment would be compared with the transfers of all
    left join lateral (
      select t.*, ${isUsdcOf(usdc)} as counts from chain_transfers t
      where not p.is_shared and t.to_address = p.deposit_address and not ${IS_EARLIER}
      union all
      select t.*, ${isUsdcOf(usdc)} from (${SHARED_TRANSFERS}) as t where p.is_shared
    ) as t on true
    left join payment_chain_cursors f on f.chain_id = t.chain_id
    where p.units > 0 or t.id is not null
    group by p.company_id, p.id, p.order_id, p.deposit_address, p.units
  )
  select c.company_id, 'order ' || o.code as subject, 'money at ' || c.deposit_address || ' by the transfers seen' as what,
    c.units::text as booked, (case when c.units > c.seen then c.seen else c.settled end)::text as expected
  from compared c join orders o on o.company_id = c.company_id and o.id = c.order_id
  where not c.has_news and (c.units > c.seen or c.units < c.settled)
  order by o.id`

/**
 * Payments at deposit addresses of ours whose books do not match the transfers that the chain's scanner recorded: what
 * counts as final must have been seen, and what can no longer change must count. Addresses with changes that have not
 * reached their payments yet are left out. At an address shared by several payments, each payment is compared with its
 * own transfers, and none is missed that came on another chain than its own: earlier versions counted those or not, as
 * the company's settings said at the time. What a person has explained is left out.
 * @param limit of those that are not stored as open
 * @param usdc on the chains that are set up
 */
export const listTransferDifferences = (
  q: Queryable,
  companyId: string,
  limit: number,
  usdc: UsdcContracts,
): Promise<Difference[]> => listUnexplained(q, { source: 'transfers', companyId }, compared(companyId, usdc), limit)
