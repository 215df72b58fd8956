import { ON_CHAIN_CHANNELS } from '../channels/channel.ts'
import { costs, SERVER_CODE_PREFIX } from '../companies/button-queries.ts'
import { json, type Queryable, type Sql, sql, type Tx } from '../db/db.ts'
import { type Fiat, formatDecimal, parseDecimal, RATE_EXPONENT } from '../kernel/money.ts'
import type { Order } from './order.ts'
import type { OrderStatus } from './order-states.ts'

/** A row of `orders` as the driver returns it. */
export type Row = Omit<Order, 'from' | 'to' | 'rate' | 'paidUnits' | 'refundedUnits'> & {
  fromAsset: Fiat
  fromUnits: string
  toAsset: 'USDC'
  toUnits: string
  rate: string
  paidUnits: string
  refundedUnits: string
}

export const COLUMNS = sql`company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
  quote_id, payment_channel, payment_id, collector_id, merchant_identifier, website_url, button_session_id, webhook_url,
  cancel_url, return_url, goods, metadata, anonymous, created_by, request_id, created_at, updated_at, expires_at, paid_at,
  paid_units, refunded_units, version`

/** Field by field: spreading a wide row takes a twentieth of the time of a status read. */
export const toOrder = (row: Row): Order => ({
  companyId: row.companyId,
  id: row.id,
  code: row.code,
  shortCode: row.shortCode,
  status: row.status,
  alias: row.alias,
  from: { asset: row.fromAsset, units: BigInt(row.fromUnits) },
  to: { asset: row.toAsset, units: BigInt(row.toUnits) },
  rate: parseDecimal(row.rate, RATE_EXPONENT) ?? 0n,
  quoteId: row.quoteId,
  paymentChannel: row.paymentChannel,
  paymentId: row.paymentId,
  collectorId: row.collectorId,
  merchantIdentifier: row.merchantIdentifier,
  websiteUrl: row.websiteUrl,
  buttonSessionId: row.buttonSessionId,
  webhookUrl: row.webhookUrl,
  cancelUrl: row.cancelUrl,
  returnUrl: row.returnUrl,
  goods: row.goods,
  metadata: row.metadata,
  anonymous: row.anonymous,
  createdBy: row.createdBy,
  requestId: row.requestId,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  expiresAt: row.expiresAt,
  paidAt: row.paidAt,
  paidUnits: BigInt(row.paidUnits),
  refundedUnits: BigInt(row.refundedUnits),
  version: row.version,
})

export async function findOrderByCode(q: Queryable, code: string): Promise<Order | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from orders where code = ${code}`)
  return row && toOrder(row)
}

/** Unordered; unknown codes are left out. */
export async function listOrdersByCode(q: Queryable, codes: readonly string[]): Promise<Order[]> {
  const rows = await q.many<Row>(sql`select ${COLUMNS} from orders where code = any(${[...codes]}::text[])`)
  return rows.map(toOrder)
}

export async function findOrderById(q: Queryable, companyId: string, id: string): Promise<Order | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from orders where company_id = ${companyId} and id = ${id}`)
  return row && toOrder(row)
}

/** Locks the row until the transaction ends, so that two triggers cannot both see the old status. */
export async function lockOrderByCode(tx: Tx, code: string): Promise<Order | undefined> {
  const row = await tx.maybe<Row>(sql`select ${COLUMNS} from orders where code = ${code} for update`)
  return row && toOrder(row)
}

export async function lockOrderById(tx: Tx, companyId: string, id: string): Promise<Order | undefined> {
  const row = await tx.maybe<Row>(
    sql`select ${COLUMNS} from orders where company_id = ${companyId} and id = ${id} for update`,
  )
  return row && toOrder(row)
}

/** Which orders an actor may see. */
export type OrderScope = {
  /** Null: all companies. */
  companyIds: readonly string[] | null
  /** Null: all tills. */
  collectorIds: readonly string[] | null
  /** Null: any creator. */
  createdBy: string | null
}

const inScope = ({ companyIds, collectorIds, createdBy }: OrderScope): Sql => sql`
  ${companyIds === null ? sql`true` : sql`company_id = any(${companyIds})`}
  and ${collectorIds === null ? sql`true` : sql`collector_id = any(${collectorIds})`}
  and ${createdBy === null ? sql`true` : sql`created_by = ${createdBy}`}`

/** The newest order in scope with this reference, in each company that used it; two companies at most. */
export async function listOrdersByAlias(q: Queryable, alias: string, scope: OrderScope): Promise<Order[]> {
  const rows = await q.many<Row>(sql`
    select distinct on (company_id) ${COLUMNS} from orders
    where alias = ${alias} and ${inScope(scope)}
    order by company_id, id desc limit 2`)
  return rows.map(toOrder)
}

/**
 * An order of the same alias that was paid since this unpaid one was made, and not refunded in full: money that came
 * late for a purchase of which a newer order was made meanwhile.
 */
export async function findPaidSince(q: Queryable, order: Order, scope: OrderScope): Promise<Order | undefined> {
  const row = await q.maybe<Row>(sql`
    select ${COLUMNS} from orders
    where company_id = ${order.companyId} and alias = ${order.alias} and id < ${order.id}
      and paid_at is not null and updated_at > ${order.createdAt} and paid_at > ${order.createdAt}
      and status <> 'FULL_REFUNDED' and ${inScope(scope)}
    order by id desc limit 1`)
  return row && toOrder(row)
}

/**
 * The newest order in scope made through a session with this `orderRef`, in each company that used it; two companies at
 * most. While a session of the shop's server has the reference, a page's order from before does not speak for it, at
 * whatever price a visitor named it first: only one that sold it since, at the server's price.
 */
export async function listOrdersBySessionRef(q: Queryable, orderRef: string, scope: OrderScope): Promise<Order[]> {
  const rows = await q.many<Row>(sql`
    select distinct on (company_id) ${COLUMNS} from orders o
    where exists (select 1 from button_sessions s
        where s.order_ref = ${orderRef} and s.company_id = o.company_id and s.order_id = o.id
          and (starts_with(s.code, ${SERVER_CODE_PREFIX}) or not exists (select 1 from button_sessions live
            where live.company_id = s.company_id and live.order_ref = s.order_ref and live.ended_at is null
              and starts_with(live.code, ${SERVER_CODE_PREFIX})
              and not (o.paid_at > live.created_at and ${costs(sql`live.currency`, sql`live.price`)}) is true)))
      and ${inScope(scope)}
    order by company_id, id desc limit 2`)
  return rows.map(toOrder)
}

/** Fields that a transition may change besides the status. Undefined keeps the current value. */
export type OrderChange = {
  status: OrderStatus
  paymentChannel?: string
  paymentId?: string
  expiresAt?: Date
  /** A new price, with its rate and quote. */
  toUnits?: bigint
  rate?: bigint
  quoteId?: string
  paidAt?: Date
  paidUnits?: bigint
  refundedUnits?: bigint
}

/** Mutable fields that the API shows; each event keeps their values at that time. */
type ShownChange = Exclude<keyof OrderChange, 'status' | 'paymentId' | 'quoteId' | 'paidUnits'> | 'anonymous'

/** `updated_at` strictly grows: receivers sort by it. Only `transitionOrder` calls this. */
export async function updateOrderStatus(tx: Tx, order: Order, change: OrderChange, now: Date): Promise<Order> {
  const row = await tx.one<Row>(sql`
    update orders set
      status = ${change.status},
      payment_channel = coalesce(${change.paymentChannel ?? null}, payment_channel),
      payment_id = coalesce(${change.paymentId ?? null}, payment_id),
      expires_at = coalesce(${change.expiresAt ?? null}::timestamptz, expires_at),
      to_units = coalesce(${change.toUnits?.toString() ?? null}::numeric, to_units),
      rate = coalesce(${change.rate === undefined ? null : rateText(change.rate)}::numeric, rate),
      quote_id = coalesce(${change.quoteId ?? null}, quote_id),
      paid_at = coalesce(${change.paidAt ?? null}::timestamptz, paid_at),
      paid_units = coalesce(${change.paidUnits?.toString() ?? null}::numeric, paid_units),
      refunded_units = coalesce(${change.refundedUnits?.toString() ?? null}::numeric, refunded_units),
      updated_at = greatest(${now}::timestamptz, updated_at + interval '1 millisecond'),
      version = version + 1
    where company_id = ${order.companyId} and id = ${order.id}
    returning ${COLUMNS}`)
  return toOrder(row)
}

/** Its company waived the payer's identity for every attempt to pay it. No state change, so no event. */
export async function updateOrderAnonymous(tx: Tx, { companyId, id }: Order, now: Date): Promise<Order> {
  const row = await tx.one<Row>(sql`
    update orders set anonymous = true,
      updated_at = greatest(${now}::timestamptz, updated_at + interval '1 millisecond')
    where company_id = ${companyId} and id = ${id} returning ${COLUMNS}`)
  return toOrder(row)
}

/** More money arrived after the order was paid, and it can be refunded too. No state change, so no event. */
export async function updateOrderPaidUnits(tx: Tx, order: Order, paidUnits: bigint): Promise<void> {
  await tx.run(sql`
    update orders set paid_units = ${paidUnits} where company_id = ${order.companyId} and id = ${order.id}`)
}

export type NewOrderEvent = {
  trigger: string
  fromStatus: OrderStatus | null
  event: string | null
  actor: string
  requestId: string | null
}

/**
 * Appends to the order's history, numbered by the order's version. Its feed position is never before the order's
 * earlier events, even if this transaction is older and waited for the lock.
 */
export async function insertOrderEvent(tx: Tx, order: Order, event: NewOrderEvent): Promise<void> {
  const facts = {
    paymentChannel: order.paymentChannel,
    expiresAt: order.expiresAt,
    paidAt: order.paidAt,
    refundedUnits: order.refundedUnits.toString(),
    toUnits: order.to.units.toString(),
    rate: rateText(order.rate),
    anonymous: order.anonymous,
  } satisfies Record<ShownChange, unknown>
  await tx.run(sql`
    insert into order_events (company_id, order_id, seq, trigger, from_status, to_status, event, actor, request_id, facts, at,
      position)
    values (${order.companyId}, ${order.id}, ${order.version}, ${event.trigger}, ${event.fromStatus}, ${order.status},
      ${event.event}, ${event.actor}, ${event.requestId}, ${json(facts)}, ${order.updatedAt},
      greatest(event_position(), (select position from order_events
        where company_id = ${order.companyId} and order_id = ${order.id} order by seq desc limit 1)))`)
}

/** An order that is paid on one of these chains, which is not read up to its expiry: the money may be in between. */
const isUnreadOn = (chains: readonly number[]): Sql => sql`exists (
  select from payments as p left join chain_heads as h on h.chain_id = p.network
  where p.company_id = orders.company_id and p.id = orders.payment_id and p.deposit_address is not null
    and p.channel = any(${[...ON_CHAIN_CHANNELS]}::text[]) and p.network = any(${[...chains]}::integer[]) and coalesce(h.block_at, 'epoch') < orders.expires_at)`

/** @param chains of the order's payment */
export const isUnread = async (
  q: Queryable,
  { companyId, id }: Pick<Order, 'companyId' | 'id'>,
  chains: readonly number[],
): Promise<boolean> => {
  const row = await q.maybe<{ unread: boolean }>(sql`
    select ${isUnreadOn(chains)} as unread from orders where company_id = ${companyId} and id = ${id}`)
  return row?.unread === true
}

export type ExpiredOrder = { companyId: string; id: string; expiresAt: Date }

/**
 * Expired orders, oldest first. An order that is paid on chain waits until the chain is read up to its expiry.
 * @param chains the chains that this node reads; orders do not wait for other chains
 * @param after lists only later ones: the last one of the page before
 * @param heldUntil those made until then may not end yet; null: all may
 */
export async function listExpiredOrders(
  q: Queryable,
  now: Date,
  asked: { chains: readonly number[]; after: ExpiredOrder; limit: number; heldUntil: Date | null },
): Promise<ExpiredOrder[]> {
  const { chains, after, limit, heldUntil } = asked
  return q.many(sql`
    select company_id, id, expires_at from orders
    where status in ('INITIAL', 'PENDING', 'AWAITING') and expires_at <= ${now} and not ${isUnreadOn(chains)}
      and (expires_at, id) > (${after.expiresAt}, ${after.id})
      and (${heldUntil}::timestamptz is null or created_at > ${heldUntil}::timestamptz)
    order by expires_at, id limit ${limit}`)
}

/** Open orders of before a restore: after the backup they may have been paid in a way that it does not know. */
export type OpenOrders = { count: number; first: { code: string; company: string; expiresAt: Date }[] }

/** @param limit how many are named, those that end next first */
export async function readOpenOrders(q: Queryable, madeUntil: Date, limit: number): Promise<OpenOrders> {
  const found = await q.many<OpenOrders['first'][number] & { count: number }>(sql`
    select o.code, c.name as company, o.expires_at, (count(*) over ())::int as count
    from orders o join companies c on c.id = o.company_id
    where o.status in ('INITIAL', 'PENDING', 'AWAITING') and o.created_at <= ${madeUntil}
    order by o.expires_at, o.id limit ${limit}`)
  return {
    count: found[0]?.count ?? 0,
    first: found.map(({ code, company, expiresAt }) => ({ code, company, expiresAt })),
  }
}

export const rateText = (rate: bigint): string => formatDecimal(rate, RATE_EXPONENT)
