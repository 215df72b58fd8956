import { type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'
import { OWN_AMOUNTS_UNITS } from '../../kernel/money.ts'
import { IS_EARLIER, isUsdcOf, SINCE, type UsdcContracts } from '../transfer-queries.ts'

/** Which payment a shared address serves. @see migrations/0280_own_wallets.sql */
export type Reservation = {
  companyId: string
  reference: string
  address: string
  /** Null: the address serves one payment at a time. */
  units: bigint | null
  /** Whom the order names as its sender. Unproven, it pays nothing; a person who decides sees it. */
  sender: string | null
}

type ReservationKey = Pick<Reservation, 'companyId' | 'reference'>

/** `networks` is null until it is fixed for an order that a node of an earlier version placed. */
type Found = Reservation & { networks: readonly number[] | null }
type Row = Omit<Found, 'units'> & { units: string | null }

export async function findReservation(
  q: Queryable,
  { companyId, reference }: ReservationKey,
): Promise<Found | undefined> {
  const row = await q.maybe<Row>(sql`
    select company_id, reference, address, units::text, sender, networks from deposit_reservations
    where company_id = ${companyId} and reference = ${reference}`)
  return row && { ...row, units: row.units === null ? null : BigInt(row.units) }
}

/**
 * @param networks where the company has the address, as chain ids; empty: everywhere
 * @param until how long its payment can still receive money
 */
export const insertReservation = (
  tx: Tx,
  { units, ...row }: Reservation,
  { askedUnits, networks, until }: { askedUnits: bigint; networks: readonly number[]; until: Date },
): Promise<number> =>
  tx.run(sql`
    insert into deposit_reservations (company_id, reference, address, units, asked_units, sender, networks, until_at)
    values (${row.companyId}, ${row.reference}, ${row.address}, ${units === null ? null : String(units)}::numeric,
      ${String(askedUnits)}::numeric, ${row.sender}, ${[...networks]}::integer[], ${until})`)

/**
 * Holds a reservation longer. Lock its address before.
 * @param askedUnits what its payment is for: the digits after that tell it apart from others
 * @returns undefined: it was for another amount, its time is over, or a later one took its place
 */
export async function extendReservation(
  tx: Tx,
  { companyId, reference }: ReservationKey,
  { askedUnits, network, now, until }: { askedUnits: bigint; network: number | null; now: Date; until: Date },
): Promise<Pick<Reservation, 'address' | 'units'> | undefined> {
  const row = await tx.maybe<{ address: string; units: string | null }>(sql`
    update deposit_reservations r set until_at = greatest(until_at, ${until}::timestamptz)
    where company_id = ${companyId} and reference = ${reference} and until_at > ${now}
      and (networks = '{}' or ${network}::integer = any(networks))
      and asked_units - ${String(askedUnits)}::numeric >= 0
      and asked_units - ${String(askedUnits)}::numeric < case when units is null then 1 else ${String(OWN_AMOUNTS_UNITS)}::numeric end
      and not exists (select 1 from deposit_reservations n
        where n.address = r.address and n.reference <> r.reference and n.from_at >= r.from_at
          and (r.units is null or n.units is null or n.asked_units = r.asked_units))
    returning address, units::text`)
  return row && { address: row.address, units: row.units === null ? null : BigInt(row.units) }
}

/** Stores an address that is derived from no key; it is watched forever. @returns 0 when it is known already */
export const insertSharedAddress = (tx: Tx, companyId: string, address: string): Promise<number> =>
  tx.run(sql`
    insert into deposit_addresses (address, company_id, reference, watched_until)
    values (${address}, ${companyId}, ${`own:${address}`}, '9999-01-01')
    on conflict (address) do nothing`)

/** The owner of the address, and whether it is derived from a key. */
export const findAddressOwner = (
  q: Queryable,
  address: string,
): Promise<{ companyId: string; keyId: string | null } | undefined> =>
  q.maybe(sql`select company_id, key_id from deposit_addresses where address = ${address}`)

/** The same, and no payment takes the address until the transaction ends. */
export const lockAddressOwner = (
  tx: Tx,
  address: string,
): Promise<{ companyId: string; keyId: string | null } | undefined> =>
  tx.maybe(sql`select company_id, key_id from deposit_addresses where address = ${address} for update`)

/**
 * Wallets and settlement addresses are changed one after the other: of two at once, neither would see what the other
 * one names. Lock the company before.
 */
export const lockNamedAddresses = (tx: Tx): Promise<number> =>
  tx.run(sql`select pg_advisory_xact_lock(hashtext('companies.named-addresses'))`)

/** `receivesSettlements`: a company's settlements go there, and one would pay the order that has the address. */
type SharedAddress = { address: string; receivesSettlements: boolean }

/**
 * Prevents other payments from taking these addresses until the transaction ends.
 * @returns those that are the company's: it may have given one up meanwhile
 */
export const lockSharedAddresses = (
  tx: Tx,
  companyId: string,
  addresses: readonly string[],
): Promise<SharedAddress[]> =>
  tx.many(sql`
    select address,
      exists (select 1 from companies c where lower(c.settlement_address) = d.address) as receives_settlements
    from deposit_addresses d
    where address = any(${[...addresses]}::text[]) and company_id = ${companyId} and key_id is null
    order by address for update of d`)

/** Those of these addresses (lower case) that receive settlements, of whichever company. */
export async function listSettlementAddresses(q: Queryable, addresses: readonly string[]): Promise<string[]> {
  const rows = await q.many<{ address: string }>(sql`
    select distinct lower(settlement_address) as address from companies
    where lower(settlement_address) = any(${[...addresses]}::text[])`)
  return rows.map(({ address }) => address)
}

/** Gives up those that no payment ever had: only their company said that they are its own. Lock them before. */
export const deleteClaims = (tx: Tx, companyId: string, addresses: readonly string[]): Promise<number> =>
  tx.run(sql`
    delete from deposit_addresses d
    where d.address = any(${[...addresses]}::text[]) and d.company_id = ${companyId} and d.key_id is null
      and not exists (select 1 from deposit_reservations r where r.address = d.address)`)

export type AddressUses = { open: bigint; paid: bigint; units: string }

/** Of the payments at a shared address: how many may still be paid there, how many were, and with how much. */
export const countUses = (tx: Tx, address: string): Promise<AddressUses> =>
  tx.one(sql`
    select count(*) filter (where p.status in ('creating', 'awaiting', 'confirming', 'closing')) as open,
      count(*) filter (where p.received_units > 0) as paid, coalesce(sum(p.received_units), 0)::text as units
    from deposit_reservations r
    join payments p on p.company_id = r.company_id and p.merchant_reference = r.reference
    where r.address = ${address}`)

/**
 * Takes a shared address from its company. What comes there from now on is not that of any payment before, each of
 * which keeps its reservation.
 */
export async function releaseSharedAddress(tx: Tx, address: string): Promise<void> {
  await tx.run(sql`
    update deposit_reservations set until_at = least(until_at, greatest(from_at, now())) where address = ${address}`)
  await tx.run(sql`delete from deposit_addresses where address = ${address} and key_id is null`)
}

/** A reservation holds while its payment is open, and for an hour after: most late money arrives by then. */
const IS_HELD = sql`exists (select 1 from payments p where p.company_id = r.company_id
  and p.merchant_reference = r.reference and (p.closed_at is null or p.closed_at > now() - interval '1 hour'))`

/** How many of these addresses serve a payment; with `amounts`, how many of those amounts are taken. */
export async function countHeld(
  tx: Tx,
  addresses: readonly string[],
  amounts: { first: bigint; last: bigint } | null,
): Promise<number> {
  const { first, last } = amounts ?? { first: 0n, last: 0n }
  const row = await tx.one<{ held: bigint }>(sql`
    select count(distinct (r.address, case when ${amounts !== null} then r.asked_units end)) as held
    from deposit_reservations r where r.address = any(${[...addresses]}::text[]) and ${IS_HELD}
      and (not ${amounts !== null} or r.asked_units between ${String(first)}::numeric and ${String(last)}::numeric)`)
  return Number(row.held)
}

/** The free address that has been unused the longest. */
export async function findFreeAddress(tx: Tx, addresses: readonly string[]): Promise<string | undefined> {
  const row = await tx.maybe<{ address: string }>(sql`
    select a.address from unnest(${[...addresses]}::text[]) as a (address)
    where not exists (select 1 from deposit_reservations r where r.address = a.address and ${IS_HELD})
    order by (select max(r.from_at) from deposit_reservations r where r.address = a.address) nulls first, a.address
    limit 1`)
  return row?.address
}

/** The smallest amount from `first` on, in steps, that no open payment has; amounts unused for 30 days come first. */
export async function findFreeUnits(
  tx: Tx,
  { address, first, step, count }: { address: string; first: bigint; step: bigint; count: number },
): Promise<bigint | undefined> {
  const row = await tx.maybe<{ units: string }>(sql`
    select s.units::text from (select ${String(first)}::numeric + n * ${String(step)}::numeric as units
      from generate_series(0, ${count - 1}) as n) as s
    left join lateral (select max(r.from_at) as last, bool_or(${IS_HELD}) as held from deposit_reservations r
      where r.address = ${address} and r.asked_units = s.units) as used on true
    where used.held is not true
    order by coalesce(used.last > now() - interval '30 days', false), s.units limit 1`)
  return row && BigInt(row.units)
}

/** A Safe exists only where it was deployed; on other chains its address may be anyone's. */
const IS_WHERE_NAMED = sql`(r.networks is null or r.networks = '{}' or t.chain_id = any(r.networks))`

// `offset 0`: evaluated per row, by index; for these conditions as joins of whole tables the planner's estimates are
// far off
const IS_OPEN_TO = sql`t.block_at >= r.from_at - ${SINCE} and t.block_at <= r.until_at and ${IS_WHERE_NAMED}
  and not exists (select 1 from unmatched_transfers u
    where u.company_id = r.company_id and u.transfer_id = t.id and u.status <> 'open' offset 0)`

/** The address has since been given to the next payment alone. */
const IS_HANDED_OVER = sql`exists (select 1 from deposit_reservations n
  where n.address = r.address and n.units is null and n.from_at > r.from_at
    and n.from_at <= t.block_at + ${SINCE} offset 0)`

/**
 * Reservation `r` takes a transfer `t` of exactly its amount, until the next reservation of this amount, or until the
 * address serves one payment at a time. A transfer that a person decided about is excluded.
 */
const SERVES_AMOUNT = sql`r.asked_units = t.units and ${IS_OPEN_TO}
  and not exists (select 1 from deposit_reservations n
    where n.address = r.address and n.asked_units = r.asked_units and n.from_at > r.from_at
      and n.from_at <= t.block_at + ${SINCE} offset 0)
  and not ${IS_HANDED_OVER}`

/** At an address that serves one payment at a time: transfers from the start of the reservation until the next one. */
const SERVES_ALONE = sql`r.units is null and ${IS_OPEN_TO} and not exists (select 1 from deposit_reservations n
  where n.address = r.address and n.from_at > r.from_at
      and n.from_at <= t.block_at + ${SINCE} offset 0)`

/** Reservation `o` of the same address, for another payment, was active when `t` arrived. */
const IS_OTHER = sql`o.address = r.address and o.reference <> r.reference
  and o.from_at <= t.block_at + ${SINCE} and o.until_at >= t.block_at`

/** Whether the sender that a reservation names counts at all: it was made before claims ceased to. */
const countsSender = (r: Sql): Sql => sql`${r}.sender_until >= ${r}.from_at - ${SINCE}`

/**
 * Of another amount, as earlier versions counted it: transfers from the named sender, unless the amount is another
 * payment's, a later payment named the same sender, or the address has since come to serve one payment at a time.
 */
const IS_SENT = sql`r.units is not null and r.units <> t.units and t.from_address = r.sender
  and t.block_at <= r.sender_until and ${IS_OPEN_TO}
  and not exists (select 1 from deposit_reservations o where ${IS_OTHER} and o.asked_units = t.units offset 0)
  and not exists (select 1 from deposit_reservations o where ${IS_OTHER} and o.sender = r.sender
    and ${countsSender(sql`o`)} and (o.from_at, o.reference) > (r.from_at, r.reference) offset 0)
  and not ${IS_HANDED_OVER}`

/**
 * The only reservation that can take `t` because of its sender: the last to name it that was active when `t` arrived.
 * Found by index, because thousands may name one sender.
 */
const LAST_NAMED = sql`(
  select * from deposit_reservations l where l.address = t.to_address and l.sender = t.from_address
    and ${countsSender(sql`l`)} and l.from_at <= t.block_at + ${SINCE} and l.until_at >= t.block_at
  order by l.from_at desc, l.reference desc limit 1)`

/** The newest of such reservations `l` at the address of `t` when it arrived: found by index, among thousands. */
const newest = (which: Sql): Sql => sql`(
  select * from deposit_reservations l where l.address = t.to_address and ${which} and l.from_at <= t.block_at + ${SINCE}
  order by l.from_at desc fetch first row with ties)`

/** The only reservation that can take `t` because of its amount. */
const LAST_ASKED = newest(sql`l.asked_units = t.units`)

/** The only reservation that can take `t` because the address serves one payment at a time. */
const LAST_THERE = newest(sql`true`)

/** Whether any payment takes the transfer `t` to a shared address without a person's decision. */
export const IS_RESERVED = sql`(
  exists (select 1 from ${LAST_ASKED} r where ${SERVES_AMOUNT})
  or exists (select 1 from ${LAST_THERE} r where ${SERVES_ALONE})
  or exists (select 1 from ${LAST_NAMED} r where ${IS_SENT}))`

/** Whether the newest payment at its shared address takes money on the chain of transfer `t`. */
export const IS_NETWORK_ACCEPTED = sql`coalesce((select ${IS_WHERE_NAMED} from deposit_reservations r
  where r.address = t.to_address and r.from_at <= t.block_at + ${SINCE} order by r.from_at desc limit 1), true)`

/** Pairs of a reservation `r` and a transfer `t`, limited by what only saves work: found from either side. */
type Pairs = { from: Sql; only: Sql }

const pairsOf = (reservations: Sql, only: Sql): Pairs => ({
  from: sql`${reservations} r join chain_transfers t on t.to_address = r.address`,
  only,
})

/** Which of the reservations `r` take which of the transfers `t`; each direction has its own index. */
const TAKES = (columns: Sql, { amount, alone, sent }: Record<'amount' | 'alone' | 'sent', Pairs>): Sql => sql`
  select ${columns} from ${amount.from} where ${amount.only} and ${SERVES_AMOUNT}
  union select ${columns} from ${alone.from} where ${alone.only} and ${SERVES_ALONE}
  union select ${columns} from ${sent.from} where ${sent.only} and ${IS_SENT}`

const IS_OF_PAYMENT = sql`company_id = p.company_id and reference = p.merchant_reference`

/** Whether the deposit address of payment `p` serves other payments too. */
export const IS_SHARED = sql`(p.own_account and exists (select 1 from deposit_reservations where ${IS_OF_PAYMENT}))`

/**
 * The reservations of payment `p`, limited so that not a year of transfers is read: with the time when another payment
 * gets its address alone, when the next one asks for the same amount, and when a later payment that named the same
 * sender takes what it sends.
 */
const OF_PAYMENT = sql`(
  select *, coalesce((select min(n.from_at) from deposit_reservations n
      where n.address = d.address and n.asked_units = d.asked_units and n.from_at > d.from_at) - ${SINCE}, 'infinity')
      as asked_before_at,
    case when units is null then coalesce((select min(n.from_at) from deposit_reservations n
      where n.address = d.address and n.units is null and n.from_at > d.from_at) - ${SINCE}, 'infinity')
      else 'infinity' end as before_at,
    coalesce((select min(n.from_at) from deposit_reservations n
      where n.address = d.address and n.sender = d.sender and ${countsSender(sql`n`)} and n.from_at > d.from_at
        and n.until_at >= d.until_at) - ${SINCE}, 'infinity') as sent_before_at
  from deposit_reservations d where ${IS_OF_PAYMENT} offset 0)`

/** The transfers of payment `p` at a shared address: by its reservation, or by a person's decision. */
export const SHARED_TRANSFERS = sql`
  select t.* from (
    ${TAKES(sql`t.*`, {
      amount: pairsOf(OF_PAYMENT, sql`t.block_at < r.before_at and t.block_at < r.asked_before_at`),
      alone: pairsOf(OF_PAYMENT, sql`t.block_at < r.before_at`),
      sent: pairsOf(OF_PAYMENT, sql`t.block_at < r.before_at and t.block_at < r.sent_before_at`),
    })}
    union select t.* from unmatched_transfers u join chain_transfers t on t.id = u.transfer_id
    where u.company_id = p.company_id and u.reference = p.merchant_reference) as t
  where p.own_account`

/** The transfers of payment `p`: all to its address since a payment had it, or at a shared address only its own. */
export const TRANSFERS = sql`
  select t.* from chain_transfers t where t.to_address = p.deposit_address and not ${IS_SHARED} and not ${IS_EARLIER}
  union all ${SHARED_TRANSFERS}`

const IS_PAYMENT_OF = ({ companyId, reference }: ReservationKey): Sql =>
  sql`p.company_id = ${companyId} and p.merchant_reference = ${reference}`

/** Prevents transfers of every chain from changing until the transaction ends, and keeps changes in order. */
export const lockHeads = (tx: Tx): Promise<unknown[]> =>
  tx.many(sql`select from chain_heads order by chain_id for update`)

/**
 * What the books hold of one payment, without what is gone, and the USDC that came for it on one chain: what no block
 * could change at its last report, and all. Chain null: by a person's decision.
 */
export type Arrived = { bookedUnits: bigint; chainId: number | null; reportedUnits: bigint; seenUnits: bigint }

export async function listArrived(q: Queryable, key: ReservationKey, usdc: UsdcContracts): Promise<Arrived[]> {
  type ArrivedRow = Record<'bookedUnits' | 'reportedUnits' | 'seenUnits', string> & Pick<Arrived, 'chainId'>
  const rows = await q.many<ArrivedRow>(sql`
    select p.received_units - coalesce((select sum(m.units) from mispayments m where m.company_id = p.company_id
        and m.payment_id = p.id and m.kind = 'orphaned' and m.status in ('open', 'borne')), 0) as booked_units,
      came.chain_id, came.reported_units, came.seen_units
    from payments p cross join lateral (
      select case when u.transfer_id is null then t.chain_id end as chain_id, sum(t.units) as seen_units,
        coalesce(sum(t.units) filter (where t.final_at <= p.updated_at), 0) as reported_units
      from (${SHARED_TRANSFERS}) as t left join unmatched_transfers u
        on u.company_id = p.company_id and u.transfer_id = t.id and u.status = 'matched'
      where t.status = 'seen' and ${isUsdcOf(usdc)} group by 1) as came
    where ${IS_PAYMENT_OF(key)}`)
  return rows.map(({ chainId, ...row }) => ({
    chainId,
    bookedUnits: BigInt(row.bookedUnits),
    reportedUnits: BigInt(row.reportedUnits),
    seenUnits: BigInt(row.seenUnits),
  }))
}

/** Announces again what came for this payment on other networks: it was passed over while the payment might take it. */
export const updateAnnounced = (tx: Tx, key: ReservationKey, networks: readonly number[]): Promise<number> =>
  tx.run(sql`
    update chain_transfers set change = nextval('chain_changes')
    where status = 'seen' and chain_id <> all(${[...networks]}::integer[]) and id in (
      select t.id from payments p cross join lateral (${SHARED_TRANSFERS}) as t where ${IS_PAYMENT_OF(key)})`)

/** @param networks empty: all */
export const updateNetworks = (q: Queryable, key: ReservationKey, networks: readonly number[]): Promise<number> =>
  q.run(sql`
    update deposit_reservations set networks = ${[...networks]}::integer[]
    where company_id = ${key.companyId} and reference = ${key.reference} and networks is null`)

/** Ids of the transfers of one reservation, by its terms or by a person's decision. */
export async function listReservedTransfers(q: Queryable, { companyId, reference }: Reservation): Promise<string[]> {
  const mine = pairsOf(sql`deposit_reservations`, sql`r.company_id = ${companyId} and r.reference = ${reference}`)
  const rows = await q.many<{ id: string }>(sql`
    ${TAKES(sql`t.id`, { amount: mine, alone: mine, sent: mine })}
    union select transfer_id from unmatched_transfers where company_id = ${companyId} and reference = ${reference}`)
  return rows.map(({ id }) => id)
}

/** The reservations that take these transfers: at a shared address, only their payments have news. */
export function listTakers(
  q: Queryable,
  transferIds: readonly string[],
): Promise<{ companyId: string; reference: string }[]> {
  const pairsWith = (reservation: Sql): Pairs => ({
    from: sql`chain_transfers t cross join lateral ${reservation} r`,
    only: sql`t.id = any(${[...transferIds]}::text[])`,
  })
  const pairs = { amount: pairsWith(LAST_ASKED), alone: pairsWith(LAST_THERE), sent: pairsWith(LAST_NAMED) }
  return q.many(sql`
    ${TAKES(sql`r.company_id, r.reference`, pairs)}
    union select company_id, reference from unmatched_transfers
    where transfer_id = any(${[...transferIds]}::text[]) and reference is not null`)
}
