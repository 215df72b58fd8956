import { CREDITABLE, ON_CHAIN_CHANNELS } from '../../channels/channel.ts'
import { costs, SERVER_CODE_PREFIX } from '../../companies/button-queries.ts'
import { hasMoney, hasReceived, IS_BLOCKED, waitsBeside } from '../../companies/order-money-queries.ts'
import { type Queryable, type Sql, sql } from '../../db/db.ts'
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

/** Since the order was made, or reopened at a fresh rate: when a way to pay was first chosen, and its own end. */
export const findHold = (
  q: Queryable,
  { companyId, id }: Pick<Order, 'companyId' | 'id'>,
): Promise<{ chosenAt: Date | null; endsAt: Date | null }> =>
  q.one(sql`
    select min(at) filter (where trigger in ('accept', 'requote')) as chosen_at,
      (array_agg((facts->>'expiresAt')::timestamptz order by seq))[1] as ends_at
    from order_events e
    where company_id = ${companyId} and order_id = ${id}
      and seq >= coalesce((select max(seq) from order_events
        where company_id = e.company_id and order_id = e.order_id and trigger = 'requote'), 0)`)

/**
 * Whether a payer was shown an address of this order on a chain that is not set up, and that was not read up to the
 * order's end: what was sent there in time is not known.
 * @param chains those that are set up
 */
export async function isShownUnread(
  q: Queryable,
  { companyId, id, expiresAt }: Pick<Order, 'companyId' | 'id' | 'expiresAt'>,
  chains: readonly number[],
): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select from payments p left join chain_heads h on h.chain_id = p.network
      where p.company_id = ${companyId} and p.order_id = ${id} and p.deposit_address is not null
        and p.channel = any(${[...ON_CHAIN_CHANNELS]}::text[]) and p.network <> all(${[...chains]}::integer[])
        and coalesce(h.block_at, 'epoch') < ${expiresAt}::timestamptz) as found`)
  return found
}

/** Why an order takes a fresh rate: it has ended, or it is an open payment link whose rate is old. */
export type RequoteReason = 'ended' | 'link'

/** Whether money beside payment `p` may still be its order's: whoever paid it must not pay again. */
const hasOwnBeside = (dustUnits: bigint): Sql => sql`exists (${waitsBeside(dustUnits)}
  and (m.asset = 'USDC' or m.source_reference like '%:frozen:%' or m.source_reference ~ ${CREDITABLE}))`

/**
 * Whether any payment of the order has money, or money beside it that may still be the order's. An order that ended is
 * not reopened either if it ever received money, even if that was sent back or ignored. A coin that pays no order stops
 * nobody from paying.
 */
export async function existsMoney(
  q: Queryable,
  order: Pick<Order, 'companyId' | 'id'>,
  dustUnits: bigint,
  reason: RequoteReason,
): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from payments p
      where p.company_id = ${order.companyId} and p.order_id = ${order.id}
        and (p.status = 'paid' or (${reason === 'ended'} and ${hasReceived(dustUnits)}) or ${hasMoney(dustUnits)}
          or ${IS_BLOCKED} or ${hasOwnBeside(dustUnits)})) as found`)
  return found
}

/**
 * Another order for the same thing: one of the same reference, in any session of a buy button, that is open, or one of
 * the same alias that is open or was paid since. One that was paid before this order was made had been free to use
 * again. Which orders of a button's reference are paid, `isSoldAlready` says. As there, a page's order at another price
 * does not stand against one of the shop's server.
 */
export async function existsRival(q: Queryable, order: Order): Promise<boolean> {
  const { companyId, id, alias, buttonSessionId, createdAt } = order
  const isOpen = sql`o.status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION')`
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from orders o where o.company_id = ${companyId} and o.id <> ${id} and o.alias = ${alias}
        and (${isOpen} or o.paid_at > ${createdAt}))
      or exists (select 1 from button_sessions own
        join button_sessions s on s.company_id = own.company_id and s.order_ref = own.order_ref
        join orders o on o.company_id = s.company_id and o.button_session_id = s.id
        where own.company_id = ${companyId} and own.id = ${buttonSessionId} and o.id <> ${id} and ${isOpen}
          and (not starts_with(own.code, ${SERVER_CODE_PREFIX}) or starts_with(s.code, ${SERVER_CODE_PREFIX})
            or ${costs(sql`own.currency`, sql`own.price`)})) as found`)
  return found
}
