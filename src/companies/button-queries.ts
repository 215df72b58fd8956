import { type Queryable, type Sql, sql, type Tx } from '../db/db.ts'
import type { Fiat } from '../kernel/money.ts'
import type { OwnOrder, ReferenceFacts } from './button-reference.ts'
import { hasMoney, hasOtherCoin, hasWhole, IS_BLOCKED, IS_DECIDED } from './order-money-queries.ts'

export type BuyButton = {
  id: string
  companyId: string
  name: string
  websiteUrl: string
  websiteOrigin: string
  price: string
  currency: string
  itemRef: string | null
  callbackUrl: string | null
  /** Whether the page that shows the button may name another price. */
  pagePrice: boolean
  createdAt: Date
  updatedAt: Date
}

const BUTTON = sql`id, company_id, name, website_url, website_origin, price, currency, item_ref, callback_url, page_price,
  created_at, updated_at`

export async function insertButton(tx: Tx, button: BuyButton): Promise<void> {
  await tx.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, item_ref, callback_url,
      page_price, created_at, updated_at)
    values (${button.id}, ${button.companyId}, ${button.name}, ${button.websiteUrl}, ${button.websiteOrigin},
      ${button.price}, ${button.currency}, ${button.itemRef}, ${button.callbackUrl}, ${button.pagePrice},
      ${button.createdAt}, ${button.updatedAt})`)
}

export async function updateButton(tx: Tx, button: BuyButton): Promise<void> {
  await tx.run(sql`
    update buy_buttons set name = ${button.name}, website_url = ${button.websiteUrl},
      website_origin = ${button.websiteOrigin}, price = ${button.price}, currency = ${button.currency},
      item_ref = ${button.itemRef}, callback_url = ${button.callbackUrl},
      page_price = ${button.pagePrice}, updated_at = ${button.updatedAt}
    where id = ${button.id}`)
}

export async function findButton(q: Queryable, id: string): Promise<BuyButton | undefined> {
  return q.maybe<BuyButton>(sql`select ${BUTTON} from buy_buttons where id = ${id} and deleted_at is null`)
}

export async function lockButton(tx: Tx, id: string): Promise<BuyButton | undefined> {
  return tx.maybe<BuyButton>(sql`select ${BUTTON} from buy_buttons where id = ${id} and deleted_at is null for update`)
}

export async function listButtons(
  q: Queryable,
  companyIds: readonly string[] | null,
  page: { limit: number; offset: number },
): Promise<BuyButton[]> {
  return q.many<BuyButton>(sql`
    select ${BUTTON} from buy_buttons
    where (${companyIds}::text[] is null or company_id = any(${companyIds})) and deleted_at is null
    order by id desc limit ${page.limit} offset ${page.offset}`)
}

export async function countButtons(q: Queryable, companyIds: readonly string[] | null): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select count(*)::int as count from buy_buttons
    where (${companyIds}::text[] is null or company_id = any(${companyIds})) and deleted_at is null`)
  return count
}

/** Deletes the button and ends its open sessions. */
export async function updateButtonDeleted(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update buy_buttons set deleted_at = ${at} where id = ${id}`)
  await tx.run(sql`update button_sessions set ended_at = ${at} where button_id = ${id} and ended_at is null`)
}

export type ButtonSession = {
  id: string
  companyId: string
  buttonId: string
  code: string
  orderRef: string
  price: string
  currency: string
  buttonName: string | null
  websiteUrl: string
  callbackUrl: string | null
  cancelUrl: string | null
  returnUrl: string | null
  orderId: string | null
  endedAt: Date | null
  createdAt: Date
}

const SESSION = sql`
  select s.id, s.company_id, s.button_id, s.code, s.order_ref, s.price, s.currency, s.button_name, b.website_url,
    s.callback_url, s.cancel_url, s.return_url, s.order_id, s.ended_at, s.created_at
  from button_sessions s join buy_buttons b on b.id = s.button_id`

export async function findButtonSession(q: Queryable, id: string): Promise<ButtonSession | undefined> {
  return q.maybe<ButtonSession>(sql`${SESSION} where s.id = ${id}`)
}

export async function findButtonSessionByCode(q: Queryable, code: string): Promise<ButtonSession | undefined> {
  return q.maybe<ButtonSession>(sql`${SESSION} where s.code = ${code}`)
}

/** Locks a session until the transaction ends. Sessions are not deleted. */
export async function lockButtonSession(tx: Tx, id: string): Promise<ButtonSession> {
  return tx.one<ButtonSession>(sql`${SESSION} where s.id = ${id} for update of s`)
}

/**
 * Begins the codes of sessions that a shop's server made, which pages may neither reprice nor end. Those of version
 * 0.1.0 have no prefix and count as a page's: nothing stored tells them apart.
 */
export const SERVER_CODE_PREFIX = 'shop_'

const IS_PAGE_MADE = sql`not starts_with(s.code, ${SERVER_CODE_PREFIX})`
/** Order `o` is unpaid, open or ended, and any of its payments has money, also frozen at its provider. */
const hasUnpaidMoney = (dustUnits: bigint): Sql =>
  sql`(o.paid_at is null and o.payment_id is not null and exists (select 1 from payments p
    where p.company_id = o.company_id and p.order_id = o.id
      and (${hasMoney(dustUnits)} or ${hasOtherCoin(dustUnits)} or ${IS_BLOCKED})))`

/** Order `o` is unpaid, and one of its payments has the whole price, or an amount that only its provider knows. */
const HAS_UNPAID_PRICE = sql`(o.paid_at is null and o.payment_id is not null and exists (select 1 from payments p
  where p.company_id = o.company_id and p.order_id = o.id and (${hasWhole(sql`o.to_units`)} or ${IS_BLOCKED})))`

/** Order `o` is being confirmed, or under review: until a person decided about its money, and none of it is left. */
const isHeld = (dustUnits: bigint): Sql =>
  sql`(o.status = 'WAITING_CHAIN_CONFIRMATION' or (o.status = 'KYT_FAILED' and (${hasUnpaidMoney(dustUnits)}
    or not (exists (select 1 from mispayments m
        where m.company_id = o.company_id and m.order_id = o.id and ${IS_DECIDED})
      or exists (select 1 from screenings s
        where s.company_id = o.company_id and s.order_id = o.id and s.status = 'returned')))))`

type Reference = Pick<ButtonSession, 'companyId' | 'orderRef'>

/** At which the shop's server sells a reference. Null: a page sells it, and an order counts at whatever price. */
export type SalePrice = { price: string; currency: string } | null

/** Order `o` costs this: decimal text with the currency's digits. */
export const costs = (currency: Sql, price: Sql): Sql =>
  sql`(o.from_asset = ${currency} and o.from_units = replace(${price}, '.', '')::numeric)`

/** Order `o` of session `s` speaks for this sale: a page may have named another price, and that sold something else. */
const isOfSale = (sale: SalePrice): Sql =>
  sale === null
    ? sql`true`
    : sql`(not (${IS_PAGE_MADE}) or ${costs(sql`${sale.currency}::text`, sql`${sale.price}::text`)})`

/**
 * Lets one decision at a time be taken about who may pay a reference, until the transaction ends. Locked after an
 * order or a session, and before a payer.
 */
export const lockReference = (tx: Tx, { companyId, orderRef }: Reference): Promise<number> =>
  tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`reference ${companyId} ${orderRef}`}, 0))`)

/** An order that may have an alias, which one order at a time may have open. */
export type AliasedOrder = {
  id: string
  companyId: string
  alias: string | null
  from: { asset: string; units: bigint }
  createdAt: Date
}

/** What the lock of an alias is called. */
export const aliasLock = (companyId: Sql, alias: Sql): Sql =>
  sql`hashtextextended('alias ' || ${companyId} || ' ' || ${alias}, 0)`

/**
 * The same for an alias. Locked after a reference, and before an order that has it open is changed: whoever creates
 * another one shares this lock, and then waits for that change.
 */
export const lockAlias = (tx: Tx, { companyId, alias }: Pick<AliasedOrder, 'companyId' | 'alias'>): Promise<number> =>
  tx.run(sql`select pg_advisory_xact_lock(${aliasLock(sql`${companyId}::text`, sql`${alias}::text`)})`)

/**
 * The code of another order of the alias that was paid since this one was made, and not refunded in full, or that is
 * held since. What ended before is another sale: the shop was free to use its alias again.
 */
export async function findPaidAlias(
  q: Queryable,
  { companyId, id, alias, createdAt }: AliasedOrder,
  dustUnits: bigint,
): Promise<string | undefined> {
  const rows = await q.many<{ id: string; code: string; isReviewed: boolean }>(sql`
    select o.id, o.code, o.status = 'KYT_FAILED' as is_reviewed from orders o
    where o.company_id = ${companyId} and o.alias = ${alias} and o.id <> ${id} and o.updated_at > ${createdAt}
      and (o.paid_at is not null or o.status in ('WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED'))
      and ((o.status <> 'FULL_REFUNDED' and o.paid_at > ${createdAt})
        or o.status in ('WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED'))
    order by is_reviewed, o.id desc limit 20`)
  const [first] = rows
  if (!first?.isReviewed) return first?.code
  // whether a review still holds money takes a larger statement, which a payment must not pay for
  const row = await q.maybe<{ code: string }>(sql`
    select o.code from orders o
    where o.company_id = ${companyId} and o.id = any(${rows.map((one) => one.id)}) and ${isHeld(dustUnits)} limit 1`)
  return row?.code
}

/** Some more than a reason has room for: with so many paid sales of one alias, nobody excuses all of them. */
const MOST_NAMED = 11

/**
 * All of those, for a person's decision: first the ones that nobody can excuse, and then the nearest to this order.
 */
export async function listPaidAliases(
  q: Queryable,
  { companyId, id, alias, createdAt }: AliasedOrder,
  dustUnits: bigint,
): Promise<{ code: string; isHeld: boolean }[]> {
  return q.many(sql`
    select o.code, f.is_held from orders o cross join lateral (select ${isHeld(dustUnits)} as is_held) as f
    where o.company_id = ${companyId} and o.alias = ${alias} and o.id <> ${id} and o.updated_at > ${createdAt}
      and (f.is_held or (o.status <> 'FULL_REFUNDED' and o.paid_at > ${createdAt}))
    order by f.is_held desc, o.id limit ${MOST_NAMED}`)
}

/**
 * Whether another order has the alias now: one for which a way to pay was chosen, or a newer one at another price, open
 * or not. One at the same price that nobody has chosen to pay is not paid any more once this one is.
 */
export async function isAliasReplaced(q: Queryable, { companyId, id, alias, from }: AliasedOrder): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from orders o where o.company_id = ${companyId} and o.id <> ${id} and o.alias = ${alias}
        and o.status in ('PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION'))
      or exists (select 1 from orders o where o.company_id = ${companyId} and o.id > ${id} and o.alias = ${alias}
        and (o.from_asset, o.from_units) is distinct from (${from.asset}::text, ${from.units}::numeric)) as found`)
  return found
}

/** Frees a reference for the shop's server: ends its live session if a page made it, or if an order of it is paid. */
export async function updateReferenceFreed(tx: Tx, { companyId, orderRef }: Reference, at: Date): Promise<void> {
  await tx.run(sql`
    update button_sessions s set ended_at = ${at}
    where s.company_id = ${companyId} and s.order_ref = ${orderRef} and s.ended_at is null and (${IS_PAGE_MADE}
      or exists (select 1 from orders o
        where o.company_id = s.company_id and o.button_session_id = s.id and o.paid_at is not null))`)
}

/** @param exceptOrderId of an order that is to be paid itself */
export async function findReferenceFacts(
  q: Queryable,
  { companyId, orderRef }: Reference,
  { dustUnits, sale, exceptOrderId = null }: { dustUnits: bigint; sale: SalePrice; exceptOrderId?: string | null },
): Promise<ReferenceFacts> {
  return q.one<ReferenceFacts>(sql`
    select max(o.paid_at) as paid_at, max(s.id) filter (where f.is_held or f.has_money) as busy_session,
      max(s.id) filter (where f.is_held or (f.has_money and (not (${IS_PAGE_MADE}) or ${HAS_UNPAID_PRICE})))
        as stopping_session
    from button_sessions s join orders o on o.company_id = s.company_id and o.button_session_id = s.id
      cross join lateral (
        select ${isHeld(dustUnits)} as is_held, ${hasUnpaidMoney(dustUnits)} as has_money) as f
    where s.company_id = ${companyId} and s.order_ref = ${orderRef} and o.id is distinct from ${exceptOrderId}
      and ${isOfSale(sale)}`)
}

/**
 * The code of an order of the reference that has its payment: paid since, and not refunded in full, or held.
 * @param since null: it counts whenever it was paid
 * @param exceptOrderId of the order that is to be paid itself
 */
export async function findPaidOrder(
  q: Queryable,
  { companyId, orderRef }: Reference,
  sold: { dustUnits: bigint; since: Date | null; sale: SalePrice; exceptOrderId: string },
): Promise<string | undefined> {
  const { dustUnits, since, sale, exceptOrderId } = sold
  const row = await q.maybe<{ code: string }>(sql`
    select o.code from button_sessions s join orders o on o.company_id = s.company_id and o.button_session_id = s.id
    where s.company_id = ${companyId} and s.order_ref = ${orderRef} and o.id <> ${exceptOrderId} and ${isOfSale(sale)}
      and ((o.status <> 'FULL_REFUNDED' and o.paid_at > coalesce(${since}::timestamptz, '-infinity'))
        or ${isHeld(dustUnits)})
    order by o.id desc limit 1`)
  return row?.code
}

export type NewButtonSession = Omit<ButtonSession, 'websiteUrl' | 'orderId' | 'endedAt'>

export async function insertButtonSession(tx: Tx, session: NewButtonSession): Promise<void> {
  await tx.run(sql`
    insert into button_sessions (id, company_id, button_id, code, order_ref, price, currency, button_name, callback_url,
      cancel_url, return_url, created_at)
    values (${session.id}, ${session.companyId}, ${session.buttonId}, ${session.code}, ${session.orderRef},
      ${session.price}, ${session.currency}, ${session.buttonName}, ${session.callbackUrl}, ${session.cancelUrl},
      ${session.returnUrl}, ${session.createdAt})`)
}

export async function updateButtonSessionEnded(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update button_sessions set ended_at = coalesce(ended_at, ${at}) where id = ${id}`)
}

/** Leaves a session that the shop's server made as it is. */
export async function updatePageSessionEnded(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`
    update button_sessions s set ended_at = coalesce(ended_at, ${at}) where s.id = ${id} and ${IS_PAGE_MADE}`)
}

/** What the page requests for the session's next order. */
export async function updateButtonSessionWish(tx: Tx, id: string, wish: NewButtonSession): Promise<void> {
  await tx.run(sql`
    update button_sessions set price = ${wish.price}, currency = ${wish.currency}, button_name = ${wish.buttonName},
      callback_url = ${wish.callbackUrl}
    where id = ${id}`)
}

export type LiveSession = Pick<
  ButtonSession,
  'id' | 'companyId' | 'buttonId' | 'code' | 'price' | 'currency' | 'callbackUrl' | 'createdAt'
>

/** The live session of a reference, locked until the transaction ends. */
export async function lockLiveSession(tx: Tx, { companyId, orderRef }: Reference): Promise<LiveSession | undefined> {
  return tx.maybe<LiveSession>(sql`
    select id, company_id, button_id, code, price, currency, callback_url, created_at from button_sessions
    where company_id = ${companyId} and order_ref = ${orderRef} and ended_at is null for update`)
}

/** The session of a button that an order was made for, live or ended. */
export async function findSessionOfOrder(
  q: Queryable,
  { companyId, id }: Pick<BuyButton, 'companyId' | 'id'>,
  code: string,
): Promise<ButtonSession | undefined> {
  return q.maybe<ButtonSession>(sql`${SESSION} join orders o on o.company_id = s.company_id and o.button_session_id = s.id
    where o.company_id = ${companyId} and o.code = ${code} and s.button_id = ${id}`)
}

export type SessionOrder = OwnOrder & {
  code: string
  fromAsset: Fiat
  fromUnits: string
  /** Open or paid, so that the session sells nothing more. */
  live: boolean
}

/**
 * The order that stands for a session; of a deleted button too. A paid one first, then one that has money, an open one,
 * one under review, and only then the newest: an earlier order can be reopened, or paid late, after the newest has
 * expired.
 */
export async function findSessionOrder(
  q: Queryable,
  { companyId, id }: Pick<ButtonSession, 'companyId' | 'id'>,
  dustUnits: bigint,
): Promise<SessionOrder | undefined> {
  return q.maybe<SessionOrder>(sql`
    select o.code, o.status, o.from_asset, o.from_units, o.paid_at is not null as is_paid, ${isHeld(dustUnits)} as is_held,
      ${hasUnpaidMoney(dustUnits)} as has_money,
      o.paid_at is not null or o.status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION') as live
    from orders o where o.company_id = ${companyId} and o.button_session_id = ${id}
    order by is_paid desc, has_money desc, live desc, o.status = 'KYT_FAILED' desc, o.id desc limit 1`)
}

/**
 * The ids of a session's orders that can be cancelled. Locks those that a fresh price may reopen too: what reopens one
 * at this moment is waited for, and seen.
 */
export async function lockOpenOrders(
  tx: Tx,
  { companyId, id }: Pick<ButtonSession, 'companyId' | 'id'>,
): Promise<string[]> {
  const rows = await tx.many<{ id: string; isOpen: boolean }>(sql`
    select id, status in ('INITIAL', 'PENDING', 'AWAITING') as is_open from orders
    where company_id = ${companyId} and button_session_id = ${id}
      and status in ('INITIAL', 'PENDING', 'AWAITING', 'EXPIRED', 'CANCELLED', 'ERROR') order by id for update`)
  return rows.filter(({ isOpen }) => isOpen).map((row) => row.id)
}

/** Locks the orders of a reference that pages made and for which no buyer has chosen a way to pay yet. */
export async function lockUnchosenOrders(tx: Tx, { companyId, orderRef }: Reference): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(sql`
    select o.id from orders o join button_sessions s on s.company_id = o.company_id and s.id = o.button_session_id
    where s.company_id = ${companyId} and s.order_ref = ${orderRef} and ${IS_PAGE_MADE}
      and o.status = 'INITIAL' order by o.id for update of o`)
  return rows.map(({ id }) => id)
}

/** Whether the shop's server took the reference of a page's session over since. */
export async function isTakenOver(
  q: Queryable,
  { companyId, orderRef, createdAt }: Reference & { createdAt: Date },
): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from button_sessions s where s.company_id = ${companyId} and s.order_ref = ${orderRef}
      and s.created_at >= ${createdAt} and not ${IS_PAGE_MADE}) as found`)
  return found
}

/** Whether any button is registered for this website. */
export async function hasButtonOrigin(q: Queryable, origin: string): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from buy_buttons where website_origin = ${origin} and deleted_at is null) as found`)
  return found
}
