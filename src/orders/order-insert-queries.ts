import { aliasLock } from '../companies/button-queries.ts'
import { openRows, type Queryable, sql } from '../db/db.ts'
import { toIsoText } from '../kernel/clock.ts'
import type { Order } from './order.ts'
import { rateText } from './order-queries.ts'

export type NewOrder = {
  order: Order
  companyVersion: bigint
  /** Of the copy of the till that it was made from. */
  tillWebhookUrl: string | null
  actor: string
  /** Whether a person made it at a till, or somewhere else; null: no person made it. */
  atTill: boolean | null
  /** The colleague from whom the actor took the sale over. */
  soldBy: string | null
  /** The response stored under an Idempotency-Key, in the same transaction as the order. */
  idempotency: { companyId: string; scope: string; key: string; fingerprint: string; response: string } | null
}

const inputOf = openRows<NewOrder>([
  ['company_id', 'text', ({ order }) => order.companyId],
  ['company_version', 'bigint', ({ companyVersion }) => companyVersion.toString()],
  ['id', 'text', ({ order }) => order.id],
  ['code', 'text', ({ order }) => order.code],
  ['short_code', 'text', ({ order }) => order.shortCode],
  ['status', 'text', ({ order }) => order.status],
  ['alias', 'text', ({ order }) => order.alias],
  ['from_asset', 'text', ({ order }) => order.from.asset],
  ['from_units', 'numeric', ({ order }) => order.from.units.toString()],
  ['to_asset', 'text', ({ order }) => order.to.asset],
  ['to_units', 'numeric', ({ order }) => order.to.units.toString()],
  ['rate', 'numeric', ({ order }) => rateText(order.rate)],
  ['quote_id', 'text', ({ order }) => order.quoteId],
  ['collector_id', 'text', ({ order }) => order.collectorId],
  ['merchant_identifier', 'text', ({ order }) => order.merchantIdentifier],
  ['website_url', 'text', ({ order }) => order.websiteUrl],
  ['button_session_id', 'text', ({ order }) => order.buttonSessionId],
  ['webhook_url', 'text', ({ order }) => order.webhookUrl],
  ['till_webhook_url', 'text', ({ tillWebhookUrl }) => tillWebhookUrl],
  ['cancel_url', 'text', ({ order }) => order.cancelUrl],
  ['return_url', 'text', ({ order }) => order.returnUrl],
  ['goods', 'jsonb', ({ order }) => order.goods && JSON.stringify(order.goods)],
  ['metadata', 'json', ({ order }) => order.metadata && JSON.stringify(order.metadata)],
  ['anonymous', 'boolean', ({ order }) => String(order.anonymous)],
  ['created_by', 'text', ({ order }) => order.createdBy],
  ['at_till', 'boolean', ({ atTill }) => (atTill === null ? null : String(atTill))],
  ['request_id', 'text', ({ order }) => order.requestId],
  ['created_at', 'timestamptz', ({ order }) => toIsoText(order.createdAt)],
  ['expires_at', 'timestamptz', ({ order }) => toIsoText(order.expiresAt)],
  ['actor', 'text', ({ actor }) => actor],
  ['sold_by', 'text', ({ soldBy }) => soldBy],
  ['claim_company', 'text', ({ idempotency }) => idempotency?.companyId],
  ['scope', 'text', ({ idempotency }) => idempotency?.scope],
  ['key', 'text', ({ idempotency }) => idempotency?.key],
  ['fingerprint', 'text', ({ idempotency }) => idempotency?.fingerprint],
  ['response', 'text', ({ idempotency }) => idempotency?.response],
])

const keyOf = ({ idempotency }: NewOrder): string | null =>
  idempotency && JSON.stringify(['key', idempotency.companyId, idempotency.scope, idempotency.key])
const aliasOf = ({ order }: NewOrder): string | null =>
  order.alias === null ? null : JSON.stringify(['alias', order.companyId, order.alias])

/**
 * Drops orders whose key or alias an earlier order of the batch takes: the database would report the key as taken for
 * both, and refuse the whole batch for the alias.
 */
function withoutRepeated(orders: readonly NewOrder[]): readonly NewOrder[] {
  if (orders.length === 1) return orders
  const taken = new Set<string>()
  return orders.filter((order) => {
    const names = [keyOf(order), aliasOf(order)].filter((name) => name !== null)
    if (names.some((name) => taken.has(name))) return false
    for (const name of names) taken.add(name)
    return true
  })
}

/**
 * Until the orders are there, nobody decides by their aliases alone which order late money pays. All of these locks are
 * taken before the first row is written; whoever decides takes only one.
 */
const waitForAliases = sql`(select count(pg_advisory_xact_lock_shared(${aliasLock(sql`company_id`, sql`alias`)}))
  from input where alias is not null) >= 0`

/**
 * The same without waiting, for a statement that others share: an order is left out where something is decided about
 * its alias, where another one is being created with it, or where an open order has it, which may just be ending. The
 * last two would wait for the other's transaction at the index of open aliases. A subquery with a limit is looked up in
 * that index, order by order.
 */
const takeFreeAliases = sql`(i.alias is null or (pg_try_advisory_xact_lock(${aliasLock(sql`i.company_id`, sql`i.alias`)})
  and (select o.id from orders o where o.company_id = i.company_id and o.alias = i.alias
    and o.status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION') limit 1) is null))`

/**
 * Inserts orders with their first event and their idempotency keys in one statement. An order is left out when its
 * company or the till's webhook address changed since the copy that it was made from, when its till is not active, or
 * when its key is taken.
 * @param options.wait for aliases; otherwise an order whose alias may not be free is left out, too
 * @returns ids of the orders that were inserted
 */
export async function insertOrders(
  q: Queryable,
  orders: readonly NewOrder[],
  { wait }: { wait: boolean },
): Promise<Set<string>> {
  const isNamed = orders.some(({ order }) => order.alias !== null)
  const aliases = wait ? waitForAliases : takeFreeAliases
  const rows = await q.many<{ id: string }>(sql`
    with input as (${inputOf(withoutRepeated(orders))}
    ), allowed as materialized (
      select i.* from input i join companies c on c.id = i.company_id and c.version = i.company_version
      where (i.collector_id is null or exists (select 1 from collectors k where k.id = i.collector_id and k.active
        and k.webhook_url is not distinct from i.till_webhook_url))
        ${isNamed ? sql`and ${aliases}` : sql``}
    ), keys as (
      insert into idempotency_keys (company_id, scope, key, fingerprint, response, created_at)
      select claim_company, scope, key, fingerprint, response, created_at from allowed where key is not null
      on conflict do nothing returning company_id, scope, key
    ), good as materialized (
      select * from allowed
      where key is null or (claim_company, scope, key) in (select company_id, scope, key from keys)
    ), history as (
      insert into order_events (company_id, order_id, seq, trigger, to_status, event, actor, request_id, facts, at)
      select company_id, id, 1, 'create', status, 'order.initial', actor, request_id,
        jsonb_build_object('expiresAt', expires_at, 'toUnits', to_units::text, 'rate', rate::text, 'anonymous', anonymous)
          || case when sold_by is null then '{}' else jsonb_build_object('soldBy', sold_by) end, created_at from good
    )
    insert into orders (company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
      quote_id, collector_id, merchant_identifier, website_url, button_session_id, webhook_url, cancel_url, return_url,
      goods, metadata, anonymous, created_by, at_till, request_id, created_at, updated_at, expires_at)
    select company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
      quote_id, collector_id, merchant_identifier, website_url, button_session_id, webhook_url, cancel_url, return_url,
      goods, metadata, anonymous, created_by, at_till, request_id, created_at, created_at, expires_at from good
    returning id`)
  return new Set(rows.map((row) => row.id))
}
