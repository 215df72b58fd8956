import { type Queryable, sql } from '../../db/db.ts'
import type { Order } from '../../orders/order.ts'

export type QuotePolicy = { requoteHours: number; linkQuoteMinutes: number | null }

export const findQuotePolicy = (q: Queryable, companyId: string): Promise<QuotePolicy> =>
  q.one(sql`select requote_hours, link_quote_minutes from companies where id = ${companyId}`)

/** When the order's quote was fetched. */
export async function findQuotedAt(q: Queryable, quoteId: string): Promise<Date | undefined> {
  const row = await q.maybe<{ createdAt: Date }>(sql`select created_at from rate_quotes where id = ${quoteId}`)
  return row?.createdAt
}

/** When the order first ended. A requote does not extend that. */
export async function findFirstEnd(
  q: Queryable,
  { companyId, id }: Pick<Order, 'companyId' | 'id'>,
): Promise<Date | null> {
  const row = await q.one<{ at: Date | null }>(sql`
    select min(at) as at from order_events
    where company_id = ${companyId} and order_id = ${id} and to_status in ('EXPIRED', 'ERROR')`)
  return row.at
}

/** Whether any payment of the order received money, or has money on its way. Dust on a chain does not count. */
export async function existsMoney(
  q: Queryable,
  order: Pick<Order, 'companyId' | 'id'>,
  dustUnits: bigint,
): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from payments
      where company_id = ${order.companyId} and order_id = ${order.id} and (status in ('confirming', 'paid')
        or received_units >= case when channel = 'crypto' then greatest(${dustUnits}::numeric, 1) else 1 end)) as found`)
  return found
}

/** A newer order for the same thing, by reference or buy-button session, that is open or paid. */
export async function existsSuccessor(q: Queryable, order: Order): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from orders
      where company_id = ${order.companyId} and id > ${order.id}
        and (alias = ${order.alias} or button_session_id = ${order.buttonSessionId})
        and (paid_at is not null or status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION'))) as found`)
  return found
}
