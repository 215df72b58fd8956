import { type Queryable, sql, type Tx } from '../db/db.ts'
import { lockReference } from './button-queries.ts'

/** The company's settings that decide whether and how an order is created. */
export type SaleCompany = { id: string; version: bigint; maxOrderAmount: string; optionalEvents: string[] }

export async function findSaleCompany(q: Queryable, id: string): Promise<SaleCompany | undefined> {
  return q.maybe<SaleCompany>(
    sql`select id, version, max_order_amount, optional_events from companies where id = ${id}`,
  )
}

export type SaleCollector = { id: string; companyId: string; identifier: string; webhookUrl: string | null }

/** An active till by its identifier within the company, or by its id. */
export async function findSaleCollector(
  q: Queryable,
  companyId: string | null,
  identifier: string,
): Promise<SaleCollector | undefined> {
  const inCompany =
    companyId === null
      ? sql`id = ${identifier}`
      : sql`company_id = ${companyId} and (identifier = ${identifier} or id = ${identifier})`
  return q.maybe<SaleCollector>(
    sql`select id, company_id, identifier, webhook_url from collectors where ${inCompany} and active limit 1`,
  )
}

export type SaleSession = {
  id: string
  companyId: string
  orderRef: string
  websiteUrl: string
  websiteOrigin: string
  /** Decimal text with the currency's digits. */
  price: string
  currency: string
  ended: boolean
  callbackUrl: string | null
  cancelUrl: string | null
  returnUrl: string | null
}

/** Locks a buy-button session, and then its reference, while its order is created. */
export async function lockSaleSession(tx: Tx, idOrCode: string): Promise<SaleSession | undefined> {
  const session = await tx.maybe<SaleSession>(sql`
    select s.id, s.company_id, s.order_ref, b.website_url, b.website_origin, s.price, s.currency,
      s.ended_at is not null as ended, coalesce(s.callback_url, b.callback_url) as callback_url, s.cancel_url, s.return_url
    from button_sessions s join buy_buttons b on b.id = s.button_id and b.deleted_at is null
    where s.id = ${idOrCode} or s.code = ${idOrCode} for update of s`)
  if (session) await lockReference(tx, session)
  return session
}

export async function updateSaleSessionOrder(q: Queryable, sessionId: string, orderId: string): Promise<void> {
  await q.run(sql`update button_sessions set order_id = ${orderId} where id = ${sessionId}`)
}
