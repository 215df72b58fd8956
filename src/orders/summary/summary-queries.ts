import { joinSql, type Queryable, type Sql, sql, type Tx, unnamed } from '../../db/db.ts'
import { MINUTE } from '../../kernel/clock.ts'
import { firstIdAt } from '../../kernel/ids.ts'
import type { Fiat } from '../../kernel/money.ts'
import { HOLDERS, heldBy, paidOfPrice } from '../../ledger/payable-queries.ts'
import { IS_WAITING } from '../../ledger/settlements/settlement-queries.ts'
import type { OrderScope } from '../order-list-queries.ts'

/**
 * Orders in one currency that were created and paid on the same days through one channel. Days are indexes into a list,
 * from 1; 0 is before the first.
 */
export type SalesRow = {
  createdDay: number
  paidDay: number | null
  channel: string | null
  orders: bigint
  /** Without money above the prices: it waits for a decision, and returning it is no refund of a sale. */
  paidUnits: string
  fromAsset: Fiat
  /** What was paid of their prices, in the currency; for an accepted underpayment, the proportional share. */
  fromUnits: string | null
}
/** Refunds of one day. */
export type RefundsRow = { day: number; units: string }
export type Needs = {
  mispayments: bigint
  unmatched: bigint
  refunds: bigint
  deliveries: bigint
  identity: bigint
  screenings: bigint
  settlements: bigint
}

const ofCompanies = ({ companyIds }: OrderScope): Sql =>
  companyIds === null ? sql`true` : sql`company_id = any(${companyIds})`

function scopeSql(scope: OrderScope): Sql {
  const { collectorIds } = scope
  const parts = [ofCompanies(scope)]
  if (collectorIds !== null) parts.push(sql`collector_id = any(${collectorIds})`)
  return joinSql(parts, ' and ')
}

/** Index of the day that a time falls into: the number of days that had begun by then. */
const dayOf = (column: Sql, starts: readonly Date[]): Sql =>
  sql`width_bucket(${column}, ${starts.map((start) => start.toISOString())}::timestamptz[])`

const SALE_COLUMNS = sql`company_id, payment_id, created_at, paid_at, payment_channel, paid_units, to_units, from_units, from_asset`

/** Ids of bookings sort by time too. One company after another, so that each is one range of the primary key. */
const paidSince = (companyIds: OrderScope['companyIds'], firstBookingId: string): Sql => sql`
  select j.company_id, j.order_id
  from companies c join ledger_journals j on j.company_id = c.id and j.id >= ${firstBookingId}
  where (${companyIds === null} or c.id = any(${companyIds ?? []}::text[])) and j.kind = 'payment'`

/**
 * All sales since then, read once for every figure: 100 000 orders make a few hundred rows. `firstId` limits the scan
 * by the primary key, because ids sort by time. Of older orders it reads only those that the books show as paid since
 * then: a person decided late, or the company accepts late money for a year.
 */
export const listSales = (
  q: Queryable,
  scope: OrderScope,
  { firstId, starts }: { firstId: string; starts: readonly Date[] },
): Promise<SalesRow[]> =>
  q.many(
    unnamed(sql`
    with above as (
      select company_id, payment_id, sum(units) as units from mispayments
      where ${ofCompanies(scope)} and kind = 'over' and status <> 'resolved' group by 1, 2
    ), counted as (
      select ${SALE_COLUMNS} from orders where ${scopeSql(scope)} and id >= ${firstId}
      union all
      select ${SALE_COLUMNS} from orders where ${scopeSql(scope)} and id < ${firstId} and (company_id, id) in (
        ${paidSince(scope.companyIds, firstIdAt(starts[0]?.getTime() ?? 0))} and j.order_id < ${firstId})
    ), sales as (
      select counted.*, paid_units - coalesce(above.units, 0) as sold_units
      from counted left join above using (company_id, payment_id)
    )
    select ${dayOf(sql`created_at`, starts)} as created_day, ${dayOf(sql`paid_at`, starts)} as paid_day, payment_channel as channel,
      count(*) as orders, sum(sold_units)::text as paid_units, from_asset,
      sum(${paidOfPrice({ fromUnits: sql`from_units`, toUnits: sql`to_units`, paid: sql`sold_units` })})
        filter (where paid_at is not null)::text as from_units
    from sales group by 1, 2, 3, from_asset`),
  )

/**
 * Each refund on the day it was settled, however old its order is. Returned money that never paid an order does not
 * count, nor does the part of a refund that was above the price, because sales leave it out too.
 */
export const listRefunded = (q: Queryable, { companyIds, collectorIds }: OrderScope, starts: readonly Date[]) => {
  const ours = companyIds === null ? sql`true` : sql`r.company_id = any(${companyIds})`
  const tills =
    collectorIds === null
      ? sql`true`
      : sql`exists (select 1 from orders o
          where o.company_id = r.company_id and o.id = r.order_id and o.collector_id = any(${collectorIds}))`
  return q.many<RefundsRow>(
    unnamed(sql`
    select ${dayOf(sql`r.settled_at`, starts)} as day, sum(r.units - r.excess_units)::text as units
    from refunds r
    where ${ours} and ${tills} and r.settled_at >= ${starts[0]} and r.status = 'settled' and r.mispayment_id is null
    group by 1`),
  )
}

/**
 * Whether a refund, named like its table, waits until a person sends it: its channel cannot. One that a check holds
 * waits for the check, and one that its provider has for its provider.
 */
export const toSendByHand = (
  refund: Sql,
): Sql => sql`(${refund}.status = 'ready' and ${refund}.handed_over_at is not null
  and ${refund}.next_check_at is null and ${refund}.provider_reference is null)`

/**
 * Whether it waits for an account, a channel or a chain that is not set up: a person sets it up again, or settles the
 * refund otherwise. Its provider may have it, so nobody is told to send it.
 */
const waitsForAccount = (refund: Sql): Sql => sql`(${refund}.account_gone_at is not null
  and ${refund}.status in ('ready', 'submitted'))`
const waitsForPerson = (refund: Sql): Sql => sql`(${toSendByHand(refund)} or ${waitsForAccount(refund)})`

/** Another node may have that account: within this time it has polled the refund, too, which ends the wait. */
export const GONE_FOR_ALL_MS = 15 * MINUTE
const isGoneForAll = (now: Date): Sql =>
  sql`coalesce(account_gone_at <= ${new Date(now.getTime() - GONE_FOR_ALL_MS)}::timestamptz, true)`

/** The states in which a refund may wait for a person, word for word as in the index `refunds__waiting`. */
const mayWait = (refund: Sql): Sql => sql`${refund}.status in ('needs_approval', 'needs_address', 'ready', 'submitted')`

/**
 * Who has to act on a refund, named like its table; null: no person. Only the operator approves, the shop finds out
 * where the payer wants the money, and whoever holds the money sends what nothing sends by itself. The figure on Home,
 * the daily mail and the operator's alarm all ask here.
 * @param byHand whether a person has to send it, or to set up what it waits for
 */
const whoActs = (refund: Sql, byHand = waitsForPerson(refund)): Sql => sql`(case
  when ${refund}.status = 'needs_approval' then 'operator'
  when ${refund}.status = 'needs_address' then 'company'
  when ${byHand} then ${heldBy(refund)} end)`

/**
 * Whether a refund, named like its table, waits for a person of the company or of the operator.
 * @param isOperator the operator may act for a company, too, and no one else for the operator
 */
export const waitsForOne = (refund: Sql, isOperator: boolean): Sql =>
  sql`(${mayWait(refund)} and ${whoActs(refund)} = any(${isOperator ? HOLDERS : (['company'] as const)}))`

/**
 * Whether an identity check, or its enhanced one, is not decided. Where no provider checks, a person does from the
 * request on.
 */
export const IS_CHECK_OPEN = sql`(status = 'pending' or edd_status = 'pending'
  or provider = 'manual' and status = 'approved' and edd_status = 'requested')`

/** Since when that person is asked, which is noted once for each question. */
const askedAt = (refund: Sql): Sql => sql`(case ${refund}.status
  when 'needs_approval' then ${refund}.approval_asked_at
  when 'needs_address' then ${refund}.address_asked_at
  else ${refund}.by_hand_since end)`

/**
 * What waits for a person. Failed deliveries count for a week; older ones stay in their list. Each list has
 * a filter by the same condition.
 */
export const countNeeds = (
  q: Queryable,
  companyIds: readonly string[] | null,
  { now, isOperator }: { now: Date; isOperator: boolean },
): Promise<Needs> => {
  const mine = companyIds === null ? sql`true` : sql`company_id = any(${companyIds})`
  return q.one(
    unnamed(sql`
    select
      (select count(*) from mispayments where ${mine} and status = 'open') as mispayments,
      (select count(*) from unmatched_transfers u where ${mine} and u.status = 'open' and not is_dust
        and exists (select 1 from chain_transfers t where t.id = u.transfer_id and t.status = 'seen')) as unmatched,
      (select count(*) from refunds where ${mine} and ${waitsForOne(sql`refunds`, isOperator)}) as refunds,
      (select count(*) from deliveries where ${mine} and status in ('failed', 'parked')
        and updated_at >= ${now}::timestamptz - interval '7 days') as deliveries,
      (select count(*) from kyc_records where ${mine} and ${IS_CHECK_OPEN}) as identity,
      (select count(*) from screenings where ${mine}
        and (status = 'held' and next_check_at is not null or status = 'blocked' and purpose = 'payment')) as screenings,
      (select count(*) from settlements where ${mine} and ${IS_WAITING}) as settlements`),
  )
}

/** Number of items that wait for a manager; `refunds` of those that need an address. */
export type Waiting = { mispayments: number; unmatched: number; refunds: number; byHand: number }
/** When a mispayment began to wait: it was made or grew, or its order stopped waiting for the rest. */
const waitsSince = sql`greatest(m.created_at, m.grown_at,
  case when m.kind = 'under' then (
    select max(e.at) from order_events e where e.company_id = m.company_id and e.order_id = m.order_id
      and e.from_status in ('AWAITING', 'WAITING_CHAIN_CONFIRMATION')
      and e.to_status not in ('AWAITING', 'WAITING_CHAIN_CONFIRMATION')) end)`

/** A check that holds it at the hour of the mail makes it no news of another day. */
const WAS_TO_SEND = sql`(status = 'ready' and handed_over_at is not null or ${waitsForAccount(sql`refunds`)})`

/**
 * Per company, items that began to wait within a period and still do. A part payment of an open order may yet be
 * completed.
 */
export const listWaiting = (q: Queryable, from: Date, to: Date): Promise<(Waiting & { companyId: string })[]> =>
  q.many(sql`
    select company_id, sum(mispayments)::integer as mispayments, sum(unmatched)::integer as unmatched,
      sum(refunds)::integer as refunds, sum(by_hand)::integer as by_hand
    from (
      select m.company_id, 1 as mispayments, 0 as unmatched, 0 as refunds, 0 as by_hand
      from mispayments m join orders o on o.company_id = m.company_id and o.id = m.order_id
      where m.status = 'open' and ${waitsSince} >= ${from} and ${waitsSince} < ${to}
        and not (m.kind = 'under' and o.status in ('AWAITING', 'WAITING_CHAIN_CONFIRMATION'))
      union all
      select u.company_id, 0, 1, 0, 0 from unmatched_transfers u join chain_transfers t on t.id = u.transfer_id
      where u.status = 'open' and not u.is_dust and t.status = 'seen'
        and u.noticed_at >= ${from} and u.noticed_at < ${to}
      union all
      select company_id, 0, 0, (status = 'needs_address')::integer, (status in ('ready', 'submitted'))::integer from refunds
      where ${mayWait(sql`refunds`)} and ${askedAt(sql`refunds`)} >= ${from} and ${askedAt(sql`refunds`)} < ${to}
        and ${whoActs(sql`refunds`, WAS_TO_SEND)} = 'company') as waiting
    group by company_id`)

export type AskedRefund = { companyId: string; acts: (typeof HOLDERS)[number]; asks: 'approve' | 'address' | 'send' }

/**
 * Notes which refunds wait for a person from now on. One that a check holds at this moment is noted once that has
 * passed, and one that another transaction has locked next time.
 * @returns who acts on them
 */
export const noteAsked = (tx: Tx, now: Date): Promise<AskedRefund[]> =>
  tx.many(sql`
    update refunds set
      approval_asked_at = case when status = 'needs_approval' then ${now}::timestamptz else approval_asked_at end,
      address_asked_at = case when status = 'needs_address' then ${now}::timestamptz else address_asked_at end,
      by_hand_since = case when status in ('ready', 'submitted') then ${now}::timestamptz else by_hand_since end
    where (company_id, id) in (
      select company_id, id from refunds
      where ${mayWait(sql`refunds`)} and ${askedAt(sql`refunds`)} is null and ${whoActs(sql`refunds`)} is not null
        and ${isGoneForAll(now)}
      for update skip locked)
    returning company_id, ${whoActs(sql`refunds`)} as acts,
      case status when 'needs_approval' then 'approve' when 'needs_address' then 'address' else 'send' end as asks`)
