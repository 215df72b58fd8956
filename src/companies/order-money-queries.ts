import { TRANSFERS } from '../chain/deposits/reservation-queries.ts'
import { isUsdcOf } from '../chain/transfer-queries.ts'
import { type Sql, sql } from '../db/db.ts'
import { MOST_REAL_UNITS } from '../kernel/money.ts'

/*
 * The money of an unpaid order: received, or on its way, and neither sent back nor ignored. Dust on a chain, which
 * anyone can send, does not count.
 */

const leastUnits = (dustUnits: bigint): Sql =>
  sql`case when p.channel = 'crypto' then greatest(${dustUnits}::numeric, 1) else 1 end`

/** How the refund stands that takes the money of record `m` back; null: none does. */
export const refundStatusOf = (m: Sql): Sql => sql`case when ${m}.status = 'refunded' then (
  select r.status from refunds r
  where r.company_id = ${m}.company_id and r.order_id = ${m}.order_id and r.status not in ('rejected', 'refused')
    and (r.mispayment_id = ${m}.id or ${m}.decided_by = 'refund:' || r.id)
  order by r.number desc limit 1) end`

/** A person sent the money of record `m` back, or ignored it. A refund that is not settled can still be rejected. */
export const IS_DECIDED = sql`(m.status = 'ignored' or (m.status = 'refunded' and exists (select 1 from refunds r
  where r.company_id = m.company_id and r.order_id = m.order_id and r.mispayment_id = m.id and r.status = 'settled')))`

/** What a person sent back or ignored before it paid anything. */
const DECIDED_UNITS = sql`coalesce((select sum(m.units) from mispayments m
  where m.company_id = p.company_id and m.payment_id = p.id and m.kind in ('under', 'late', 'duplicate', 'held')
    and ${IS_DECIDED}), 0)`

/**
 * What is recorded beside a payment, in USDC units, decided about or not. A coin of unknown value counts nothing, but a
 * sum that had a dollar coin keeps its value when it is renamed to one. An amount that cannot be right, as older
 * versions recorded it, is cut off, so that no sum is too large to store.
 */
const besideUnits = (payment: Sql, isMeant: Sql): Sql => sql`coalesce((
  select sum(least(case m.asset when 'USDC' then m.units else div(m.units, ${10n ** 12n}::numeric) end,
    ${MOST_REAL_UNITS}::numeric)) from mispayments m
  where m.company_id = ${payment}.company_id and m.order_id = ${payment}.order_id and m.payment_id = ${payment}.id
    and m.kind = 'wrong_token' and ${isMeant} and m.asset in ('USDC', 'USDT')
    and (m.status in ('open', 'ignored', 'refunded') or (m.is_renamed and m.renamed_to not in ('USDC', 'USDT')))), 0)`

/** What the provider of a payment froze of what is on its way. */
export const frozenUnits = (payment: Sql): Sql => besideUnits(payment, sql`m.source_reference like '%:frozen:%'`)

/**
 * What came that was on its way: received, frozen or recorded under one of these references, whose money the amounts of
 * the report contain. What a provider keeps apart from its payment is in none of them.
 */
export const arrivedUnits = (payment: Sql, references: readonly string[]): Sql =>
  sql`(${payment}.received_units + ${besideUnits(
    payment,
    sql`(m.source_reference like '%:frozen:%' or regexp_replace(m.source_reference, '[.][0-9]+$', '') = any(
      ${[...references]}::text[]))`,
  )})`

/** All that came to a payment, whatever names it. */
export const allArrivedUnits = (payment: Sql): Sql =>
  sql`(${payment}.received_units + ${besideUnits(payment, sql`true`)})`

/** How much of the amount that was last told is frozen or was returned (`on-its-way.ts`). */
const takenOfTold = (payment: Sql): Sql =>
  sql`greatest(${frozenUnits(payment)} - coalesce(${payment}.frozen_gone_units, 0), 0)`

/** What a payment was last told to have on its way. A node before `told_units` took off already what was frozen. */
export const toldUnits = (payment: Sql): Sql => sql`case
  when ${payment}.pending_units = 0 or ${payment}.pending_units = ${payment}.told_units then ${payment}.pending_units
  else greatest(${payment}.pending_units + ${takenOfTold(payment)}, 0) end`

/** What is on its way to a payment. Whoever asks that asks this. */
export const pendingUnits = (payment: Sql): Sql => sql`case when ${payment}.pending_units = 0 then 0
  else greatest(${toldUnits(payment)} - ${takenOfTold(payment)}, 0) end`

/** A transfer that the last report of payment `p` could not book yet: it is recent, so this version noted its token. */
const isOnChain = (leastUnits: bigint | Sql): Sql => sql`exists (select 1 from (${TRANSFERS}) as t
  where t.status = 'seen' and (t.final_at is null or t.final_at > p.updated_at) and t.units >= ${leastUnits}::numeric
    and ${isUsdcOf({})})`

/**
 * Whether payment `p` received money, or has money on its way. What is on its way counts only while the payment
 * is polled: once polling is given up, nobody could decide about it.
 */
export const hasMoney = (dustUnits: bigint): Sql => sql`(p.status = 'confirming'
  or p.received_units - ${DECIDED_UNITS} >= ${leastUnits(dustUnits)}
  or (${pendingUnits(sql`p`)} >= ${leastUnits(dustUnits)} and p.next_check_at is not null)
  or ${isOnChain(dustUnits)})`

/** Whether payment `p` ever received money, whatever a person decided about it since. */
export const hasReceived = (dustUnits: bigint): Sql => sql`p.received_units >= ${leastUnits(dustUnits)}`

/** The least of a chain's native coin that counts: 0.00001, in 18 digits. */
const NATIVE_DUST_UNITS = 10n ** 13n

/** A provider keeps the money of record `m`: `amountText` knows its digits, and 0 is an amount that cannot be read. */
const IS_AT_PROVIDER = sql`m.source_reference ~ '^(gatepay|whitepay):'`

/**
 * The same for record `m`. On a chain, also at a provider's deposit address, coins of `networks.ts` have 6 digits,
 * DAI 18, and tokens of the operator no limit. At a provider USDC has 6 and USDT 18, and a coin of unknown value has no
 * limit.
 */
const leastCoinUnits = (dustUnits: bigint): Sql => sql`greatest(1, case
  when m.source_reference like 'native:%' then ${NATIVE_DUST_UNITS}::numeric
  when m.asset = 'USDC' or m.asset ~ '^(USD[CTt]|USDbC|EURC)' and not ${IS_AT_PROVIDER} then ${dustUnits}::numeric
  when m.asset = case when ${IS_AT_PROVIDER} then 'USDT' else 'DAI' end then ${dustUnits * 10n ** 12n}::numeric
  else 1 end)`

/** Money beside payment `p`, record `m`, that waits for a person and is no dust. */
export const waitsBeside = (dustUnits: bigint): Sql => sql`select 1 from mispayments m
  where m.company_id = p.company_id and m.payment_id = p.id and m.kind = 'wrong_token' and m.status = 'open'
    and (m.units >= ${leastCoinUnits(dustUnits)} or (m.units = 0 and ${IS_AT_PROVIDER}))`

/**
 * Whether a coin that pays no order waits for a person, or what a provider froze. Tokens named with their contract are
 * on no list, and free.
 */
export const hasOtherCoin = (dustUnits: bigint): Sql =>
  sql`exists (${waitsBeside(dustUnits)} and m.asset not like '%…%')`

/** USDC and USDT beside payment `p` that wait for a person, in USDC units. */
const DOLLARS_BESIDE = sql`coalesce((
  select sum(least(case when m.asset = 'USDT' and ${IS_AT_PROVIDER} then div(m.units, ${10n ** 12n}::numeric) else m.units end,
    ${MOST_REAL_UNITS}::numeric)) from mispayments m
  where m.company_id = p.company_id and m.payment_id = p.id and m.kind = 'wrong_token' and m.status = 'open'
    and m.asset in ('USDC', 'USDT')), 0)`

/**
 * Whether payment `p` has so many units, in one transfer where they are not booked yet; also in another dollar coin
 * that waits for a person. A provider that confirms a payment without an amount has the whole.
 */
export const hasWhole = (units: Sql): Sql => sql`(
  p.received_units - ${DECIDED_UNITS} + ${DOLLARS_BESIDE}
    + case when p.next_check_at is null then 0 else ${pendingUnits(sql`p`)} end >= ${units}
  or (p.status = 'confirming' and p.channel <> 'crypto' and p.received_units = 0 and p.pending_units = 0)
  or ${isOnChain(units)})`

/** Whether a person has yet to decide about the screening of payment `p`, whose money its provider blocks. */
export const IS_BLOCKED = sql`exists (select 1 from screenings s
  where s.company_id = p.company_id and s.purpose = 'payment' and s.subject_id = p.id and coalesce(s.address, '') = ''
    and s.status = 'blocked')`
