import { json, type Queryable, sql } from '../db/db.ts'
import type { Order } from './order.ts'
import { rateText } from './order-queries.ts'

export type NewOrder = {
  order: Order
  companyVersion: bigint
  actor: string
  /** The answer under an Idempotency-Key, written with the order or not at all. */
  idempotency: { companyId: string; scope: string; key: string; fingerprint: string; response: string } | null
}

/** What is absent is left out: the database reads a shorter text. */
const toRecord = ({ order, companyVersion, actor, idempotency }: NewOrder): Record<string, unknown> => ({
  company_id: order.companyId,
  company_version: companyVersion.toString(),
  id: order.id,
  code: order.code,
  short_code: order.shortCode,
  status: order.status,
  alias: order.alias ?? undefined,
  from_asset: order.from.asset,
  from_units: order.from.units.toString(),
  to_asset: order.to.asset,
  to_units: order.to.units.toString(),
  rate: rateText(order.rate),
  quote_id: order.quoteId,
  collector_id: order.collectorId ?? undefined,
  merchant_identifier: order.merchantIdentifier ?? undefined,
  website_url: order.websiteUrl ?? undefined,
  button_session_id: order.buttonSessionId ?? undefined,
  webhook_url: order.webhookUrl ?? undefined,
  cancel_url: order.cancelUrl ?? undefined,
  return_url: order.returnUrl ?? undefined,
  goods: order.goods ?? undefined,
  anonymous: order.anonymous,
  created_by: order.createdBy ?? undefined,
  request_id: order.requestId ?? undefined,
  created_at: order.createdAt,
  expires_at: order.expiresAt,
  actor,
  claim_company: idempotency?.companyId,
  scope: idempotency?.scope,
  key: idempotency?.key,
  fingerprint: idempotency?.fingerprint,
  response: idempotency?.response,
})

/**
 * Inserts orders with their first event and their idempotency keys in one statement. An order is left out when its
 * company changed since the copy that it was made from, when its till is not active, or when its key is taken.
 * @returns ids of the orders that were inserted
 */
export async function insertOrders(q: Queryable, orders: readonly NewOrder[]): Promise<Set<string>> {
  const rows = await q.many<{ id: string }>(sql`
    with input as materialized (
      select * from json_to_recordset(${json(orders.map(toRecord))}::json) as x(
        company_id text, company_version bigint, id text, code text, short_code text, status text, alias text,
        from_asset text, from_units numeric, to_asset text, to_units numeric, rate numeric, quote_id text,
        collector_id text, merchant_identifier text, website_url text, button_session_id text, webhook_url text,
        cancel_url text, return_url text, goods jsonb, anonymous boolean, created_by text, request_id text,
        created_at timestamptz, expires_at timestamptz, actor text,
        claim_company text, scope text, key text, fingerprint text, response text)
    ), allowed as materialized (
      select i.* from input i join companies c on c.id = i.company_id and c.version = i.company_version
      where i.collector_id is null or exists (select 1 from collectors k where k.id = i.collector_id and k.active)
    ), keys as (
      insert into idempotency_keys (company_id, scope, key, fingerprint, response, created_at)
      select claim_company, scope, key, fingerprint, response, created_at from allowed where key is not null
      on conflict do nothing returning company_id, scope, key, response
    ), good as materialized (
      select a.* from allowed a
        -- one key may come twice in a batch; its row holds the answer of the order that took it
        left join keys k on k.company_id = a.claim_company and k.scope = a.scope and k.key = a.key
          and k.response = a.response
      where a.key is null or k.key is not null
    ), history as (
      insert into order_events (company_id, order_id, seq, trigger, to_status, event, actor, request_id, facts, at)
      select company_id, id, 1, 'create', status, 'order.initial', actor, request_id,
        jsonb_build_object('expiresAt', expires_at, 'toUnits', to_units::text, 'rate', rate::text), created_at from good
    )
    insert into orders (company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
      quote_id, collector_id, merchant_identifier, website_url, button_session_id, webhook_url, cancel_url, return_url,
      goods, anonymous, created_by, request_id, created_at, updated_at, expires_at)
    select company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
      quote_id, collector_id, merchant_identifier, website_url, button_session_id, webhook_url, cancel_url, return_url,
      goods, anonymous, created_by, request_id, created_at, created_at, expires_at from good
    returning id`)
  return new Set(rows.map((row) => row.id))
}
