import { TRANSFERS } from '../../chain/deposits/reservation-queries.ts'
import { refundStatusOf } from '../../companies/order-money-queries.ts'
import { type Queryable, sql } from '../../db/db.ts'
import type { Sql } from '../../db/sql.ts'
import { toSendByHand } from '../summary/summary-queries.ts'

export type StoryRow = { at: Date; kind: string; facts: Record<string, string | number | null>; ofKind: number }

/**
 * The newest of each kind, and how many there are of that kind: a payment that waits for days is polled so often that
 * its calls alone would fill any list.
 */
const newestOfEachKind = (rows: Sql, limit: number): Sql => sql`
  select at, kind, facts, of_kind from (
    select n.*, count(*) over (partition by kind)::integer as of_kind,
      row_number() over (partition by kind order by at desc, number desc) as place
    from (select r.*, row_number() over () as number from (${rows}) as r) as n
  ) as ranked where place <= ${limit} order by number`

/** Events of the order itself, its payments, refunds and mispayments, and the bookings. */
const ownRows = (companyId: string, orderId: string): Sql => sql`
    select s.at, 'state' as kind, jsonb_build_object('trigger', s.trigger, 'from', s.from_status, 'to', s.to_status,
        'event', s.event, 'actor', s.actor, 'requestId', s.request_id, 'name',
        case when person.id is not null then person.first_name || ' ' || person.last_name else key.name end,
        'soldBy', seller.first_name || ' ' || seller.last_name) as facts
      from order_events s
      left join users person on s.actor = 'user:' || person.id
      left join api_keys key on s.actor = 'apiKey:' || key.id
      left join users seller on seller.id = s.facts ->> 'soldBy' and seller.company_id = s.company_id
      where s.company_id = ${companyId} and s.order_id = ${orderId}
    union all
    select opened_at, 'payment', jsonb_build_object('number', number, 'channel', channel, 'status', status,
        'providerReference', provider_reference, 'network', network, 'toAddress',
        coalesce(deposit_address, lower(instructions ->> 'toAddress')), 'dueAsset', due_asset, 'dueUnits', due_units::text, 'receivedUnits', received_units::text, 'message', last_words, 'pos', pos, 'pastOrders',
        (select string_agg(code, ', ') from jsonb_array_elements_text(nullif(past_orders, 'null')) as code))
      from payments where company_id = ${companyId} and order_id = ${orderId}
    union all
    select created_at, 'mispayment', jsonb_build_object('kind', kind, 'asset', asset, 'units', units::text, 'status', status,
        'reference', source_reference, 'decidedBy', decided_by, 'reason', reason, 'refundStatus', ${refundStatusOf(sql`mispayments`)})
      from mispayments where company_id = ${companyId} and order_id = ${orderId}
    union all
    select created_at, 'refund', jsonb_build_object('id', id, 'number', number, 'status', status, 'units', units::text, 'channel',
        channel, 'network', network, 'txHash', tx_hash, 'requestedBy', requested_by, 'decidedBy', decided_by, 'reason', reason, 'message',
        last_words, 'settledAt', settled_at,
        'waitsFor', case when ${toSendByHand(sql`refunds`)} then 'person' end)
      from refunds where company_id = ${companyId} and order_id = ${orderId}
    union all
    select j.at, 'booking', jsonb_build_object('what', j.kind, 'account', e.account, 'asset', e.asset, 'units', e.units::text)
      from ledger_journals j join ledger_entries e on e.company_id = j.company_id and e.journal_id = j.id
      where j.company_id = ${companyId} and j.order_id = ${orderId}
    union all
    select h.at, 'identity', jsonb_build_object('kycId', h.kyc_id, 'trigger', h.trigger, 'status', h.status, 'eddStatus',
        h.edd_status, 'eddOutcome', h.edd_outcome)
      from kyc_orders o join kyc_history h on h.company_id = o.company_id and h.kyc_id = o.kyc_id
      where o.company_id = ${companyId} and o.order_id = ${orderId}`

/** Which addresses were screened, and the latest answer of each source. */
const screenedRows = (companyId: string, orderId: string): Sql => sql`
    select s.opened_at as at, 'screening' as kind, jsonb_build_object('purpose', s.purpose, 'address', s.address,
        'network', s.network, 'status', s.status, 'decidedBy', s.decided_by, 'reason', s.reason,
        'said', (select string_agg(a.source || ': ' || a.verdict
            || case when a.reasons = '{}' then '' else ' (' || array_to_string(a.reasons, ', ') || ')' end, '; ' order by a.source)
          from (select distinct on (source) source, verdict, reasons from screening_answers
            where company_id = s.company_id and screening_id = s.id order by source, id desc) a)) as facts
      from screenings s where s.company_id = ${companyId} and s.order_id = ${orderId}`

/** What we sent to others, and what we saw on the chain. */
const aroundRows = (companyId: string, orderId: string): Sql => sql`
    select x.at, 'provider' as kind, jsonb_build_object('channel', x.channel, 'step', x.step, 'status', x.status,
        'durationMs', x.duration_ms) as facts
      from payments p join channel_exchanges x
        on x.company_id = p.company_id and x.merchant_reference = p.merchant_reference
      where p.company_id = ${companyId} and p.order_id = ${orderId}
    union all
    select t.first_seen_at, 'transfer', jsonb_build_object('txHash', t.tx_hash, 'network', t.chain_id, 'symbol', t.symbol, 'units', t.units::text,
        'fromAddress', t.from_address, 'status', t.status, 'block', t.block_number::text, 'finalAt', t.final_at)
      from payments p join lateral (${TRANSFERS}) as t on t.chain_id = p.network
      where p.company_id = ${companyId} and p.order_id = ${orderId}
    union all
    select created_at, 'webhook', jsonb_build_object('id', id, 'event', event, 'status', status, 'url', url)
      from delivery_states where company_id = ${companyId} and order_id = ${orderId}
    union all
    select a.started_at, 'attempt', jsonb_build_object('delivery', d.id, 'event', d.event, 'number', a.number, 'series', a.series, 'statusCode',
        a.status_code, 'errorCode', a.error_code, 'durationMs', a.duration_ms)
      from deliveries d join delivery_attempts a on a.company_id = d.company_id and a.delivery_id = d.id
      where d.company_id = ${companyId} and d.order_id = ${orderId} and a.started_at >= d.created_at`

export type QuoteRow = { rate: string; evidence: unknown; createdAt: Date }

/** The order's rate with its proof. */
export const findQuote = (q: Queryable, id: string): Promise<QuoteRow | undefined> =>
  q.maybe(sql`select rate, evidence, created_at from rate_quotes where id = ${id}`)

/** Everything known about an order, oldest first; of each kind the newest. */
export async function listStory(q: Queryable, companyId: string, orderId: string, limit: number): Promise<StoryRow[]> {
  const found: StoryRow[] = []
  for (const rows of [ownRows, aroundRows, screenedRows])
    found.push(...(await q.many<StoryRow>(newestOfEachKind(rows(companyId, orderId), limit))))
  return found.sort((left, right) => left.at.getTime() - right.at.getTime())
}
