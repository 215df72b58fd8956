import { IS_NETWORK_ACCEPTED, IS_RESERVED } from '../../chain/deposits/reservation-queries.ts'
import { IS_EARLIER, isUsdcOf, isUsdcThere, SINCE, type UsdcContracts } from '../../chain/transfer-queries.ts'
import { joinSql, type Queryable, type Sql, sql, type Tx, unnamed } from '../../db/db.ts'

export const UNMATCHED_STATUSES = ['open', 'matched', 'ignored', 'gone'] as const
export type UnmatchedStatus = (typeof UNMATCHED_STATUSES)[number]

/** A transfer that matches no order. */
export type UnmatchedTransfer = {
  /** '' if the operator owns the address. */
  companyId: string
  transferId: string
  /** `gone`: it left the chain before a person decided. */
  status: UnmatchedStatus
  decidedBy: string | null
  reason: string | null
  noticedAt: Date
  chainId: number
  txHash: string
  fromAddress: string
  toAddress: string
  symbol: string
  isUsdc: boolean
  units: bigint
  blockAt: Date
  isFinal: boolean
  /** False: its block left the chain. */
  onChain: boolean
  /** False: orders at this address take no money on its chain, where the address may not be the company's. */
  isNetworkAccepted: boolean
  /** It came to an address of a key before a payment had it. */
  isEarlier: boolean
  orderCode: string | null
  orderShortCode: string | null
  orderStatus: string | null
}

type Row = Omit<UnmatchedTransfer, 'units'> & { units: string }

const toUnmatched = (row: Row): UnmatchedTransfer => ({ ...row, units: BigInt(row.units) })

const columns = (usdc: UsdcContracts): Sql => sql`u.company_id, u.transfer_id, u.decided_by, u.reason, u.noticed_at,
  case when u.status = 'open' and t.status = 'orphaned' then 'gone' else u.status end as status,
  t.chain_id, t.tx_hash, t.from_address, t.to_address, t.symbol, t.units::text, t.block_at,
  ${isUsdcThere(usdc)} as is_usdc, t.final_at is not null as is_final, t.status = 'seen' as on_chain,
  ${IS_NETWORK_ACCEPTED} as is_network_accepted, ${IS_EARLIER} as is_earlier,
  o.code as order_code, o.short_code as order_short_code, o.status as order_status`

const TABLES = sql`unmatched_transfers u join chain_transfers t on t.id = u.transfer_id
  left join orders o on o.company_id = u.company_id and o.id = u.order_id`

/** An order placed in the last 15 seconds before the transfer may still take it. */
const STANDS = sql`(u.status <> 'open' or not ${IS_RESERVED})`

export type UnmatchedFilter = {
  companyIds: readonly string[] | null
  status: UnmatchedStatus | null
  /** Also USDC below the dust limit. */
  dust: boolean
}

/** The last two read `t`, which shows whether an open one left its chain. */
const STATUS_SQL: Record<UnmatchedStatus, Sql> = {
  matched: sql`u.status = 'matched'`,
  ignored: sql`u.status = 'ignored'`,
  open: sql`u.status = 'open' and t.status = 'seen'`,
  gone: sql`u.status = 'open' and t.status = 'orphaned'`,
}

function filterSql({ companyIds, status, dust }: UnmatchedFilter): Sql {
  const parts: Sql[] = [STANDS]
  if (!dust) parts.push(sql`not u.is_dust`)
  if (companyIds !== null) parts.push(sql`u.company_id = any(${companyIds})`)
  if (status !== null) parts.push(STATUS_SQL[status])
  return sql`from ${TABLES} where ${joinSql(parts, ' and ')}`
}

/** Newest first. */
export async function listUnmatched(
  q: Queryable,
  filter: UnmatchedFilter,
  { limit, offset, usdc }: { limit: number; offset: number; usdc: UsdcContracts },
): Promise<UnmatchedTransfer[]> {
  const rows = await q.many<Row>(
    unnamed(sql`
      select ${columns(usdc)} ${filterSql(filter)} order by u.transfer_id desc limit ${limit} offset ${offset}`),
  )
  return rows.map(toUnmatched)
}

export async function countUnmatched(q: Queryable, filter: UnmatchedFilter): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(unnamed(sql`select count(*) as total ${filterSql(filter)}`))
  return Number(total)
}

export const findUnmatchedCompany = (q: Queryable, transferId: string): Promise<{ companyId: string } | undefined> =>
  q.maybe(sql`select company_id from unmatched_transfers where transfer_id = ${transferId}`)

/** Locks the record until the transaction ends; also undefined if an order took it meanwhile. */
export async function lockUnmatched(
  tx: Tx,
  transferId: string,
  usdc: UsdcContracts,
): Promise<UnmatchedTransfer | undefined> {
  const row = await tx.maybe<Row>(sql`
    select ${columns(usdc)} from ${TABLES} where u.transfer_id = ${transferId} and ${STANDS} for update of u`)
  return row && toUnmatched(row)
}

/** Prevents any payment from taking the address until the transaction ends. */
export const lockAddressOf = (tx: Tx, transferId: string): Promise<unknown> =>
  tx.maybe(sql`
    select address from deposit_addresses
    where address = (select to_address from chain_transfers where id = ${transferId}) for update`)

/** An order that may have been meant. */
export type Candidate = {
  transferId: string
  code: string
  shortCode: string
  status: string
  dueUnits: bigint
  /** It names the sender of the transfer as its own: a claim. */
  namesSender: boolean
}

const MOST_CANDIDATES = 3

/** Reservations `r` of unpaid orders that showed the address of transfer `t` before it. */
const shown = (usdc: UsdcContracts): Sql => sql`
  select r.reference, r.from_at, o.code, o.short_code, o.status, coalesce(r.units, p.due_units) as due_units,
    coalesce(r.sender = t.from_address, false) as names_sender
  from deposit_reservations r
  join payments p on p.company_id = r.company_id and p.deposit_address = r.address
    and p.merchant_reference = r.reference
  join orders o on o.company_id = p.company_id and o.id = p.order_id and o.paid_at is null
  where r.address = t.to_address and r.from_at <= t.block_at + ${SINCE} and r.until_at >= t.block_at
    and ${isUsdcOf(usdc)}`

const CLOSEST = sql`order by abs(due_units - t.units), from_at desc`

/**
 * For each transfer, up to three unpaid orders that showed its address before it: first one that names its sender,
 * then the closest amounts. Only one, because whoever names the sender of another's money may do so with many orders.
 */
export async function listCandidates(
  q: Queryable,
  transferIds: readonly string[],
  usdc: UsdcContracts,
): Promise<Candidate[]> {
  const rows = await q.many<Omit<Candidate, 'dueUnits'> & { dueUnits: string }>(sql`
    select t.id as transfer_id, best.code, best.short_code, best.status, best.due_units::text,
      best.names_sender
    from chain_transfers t cross join lateral (
      select distinct on (reference) * from (
        (select *, 0 as place from (${shown(usdc)} and r.sender = t.from_address) as named ${CLOSEST} limit 1)
        union all
        (select *, 1 from (${shown(usdc)} and (r.units is null or r.units between t.units * 0.8 and t.units * 1.25)) as near
          ${CLOSEST} limit 3)) as found
      order by reference, place) as best
    where t.id = any(${[...transferIds]}::text[])
    order by t.id, best.place, abs(best.due_units - t.units), best.from_at desc`)
  const counts = new Map<string, number>()
  return rows.flatMap((row) => {
    const count = (counts.get(row.transferId) ?? 0) + 1
    counts.set(row.transferId, count)
    return count > MOST_CANDIDATES ? [] : [{ ...row, dueUnits: BigInt(row.dueUnits) }]
  })
}

/** The order with this code, and its newest payment that showed the address; null: no payment did. */
export const findOrderThere = (
  q: Queryable,
  { companyId, code, toAddress }: { companyId: string; code: string; toAddress: string },
): Promise<{ orderId: string; paymentId: string | null; reference: string | null } | undefined> =>
  q.maybe(sql`
    select o.id as order_id, p.id as payment_id, p.reference from orders o
    left join lateral (select p.id, r.reference from payments p
      join deposit_reservations r on r.company_id = p.company_id and r.reference = p.merchant_reference
        and r.address = p.deposit_address
      where p.company_id = o.company_id and p.order_id = o.id and p.deposit_address = ${toAddress}
      order by (p.id = o.payment_id) desc nulls last, p.number desc limit 1) as p on true
    where o.company_id = ${companyId} and o.code = ${code}`)

export type UnmatchedDecision = {
  status: 'matched' | 'ignored'
  orderId: string | null
  reference: string | null
  decidedBy: string
  reason: string | null
}

export const updateUnmatchedDecided = (
  tx: Tx,
  { companyId, transferId }: UnmatchedTransfer,
  decision: UnmatchedDecision,
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update unmatched_transfers set status = ${decision.status}, order_id = ${decision.orderId},
      reference = ${decision.reference}, decided_by = ${decision.decidedBy}, reason = ${decision.reason},
      updated_at = ${now}
    where company_id = ${companyId} and transfer_id = ${transferId}`)

/**
 * Records the transfers that no payment takes: at a shared address as its reservations say, at any other because no
 * payment shows it, or because they came before one had it.
 */
export const insertUnmatched = (
  q: Queryable,
  transferIds: readonly string[],
  { dustUnits, usdc }: { dustUnits: bigint; usdc: UsdcContracts },
): Promise<number> =>
  q.run(sql`
    insert into unmatched_transfers (company_id, transfer_id, is_dust)
    select case when d.key_id is null then d.company_id else coalesce(k.company_id, '') end, t.id,
      t.units < ${String(dustUnits)}::numeric and ${isUsdcThere(usdc)}
    from chain_transfers t
    join deposit_addresses d on d.address = t.to_address
    left join deposit_keys k on k.id = d.key_id
    where t.id = any(${[...transferIds]}::text[]) and t.status = 'seen' and case when d.key_id is null
      then not ${IS_RESERVED}
      else ${IS_EARLIER} or not exists (select 1 from payments p where p.deposit_address = t.to_address) end
    on conflict do nothing`)

/** Those that came to an address before a payment had it, and are not recorded as such yet. */
export const listNewEarlier = (
  q: Queryable,
  transferIds: readonly string[],
): Promise<{ txHash: string; toAddress: string }[]> =>
  q.many(sql`
    select t.tx_hash, t.to_address from chain_transfers t
    join deposit_addresses d on d.address = t.to_address
    join deposit_keys k on k.id = d.key_id
    where t.id = any(${[...transferIds]}::text[]) and t.status = 'seen' and ${IS_EARLIER} and not exists (
      select 1 from unmatched_transfers u where u.company_id = coalesce(k.company_id, '') and u.transfer_id = t.id)`)

/** The last change of a chain's transfers that was processed. */
export async function findUnmatchedCursor(q: Queryable, chainId: number): Promise<bigint> {
  const row = await q.maybe<{ unmatchedChange: bigint }>(sql`
    select unmatched_change from payment_chain_cursors where chain_id = ${chainId}`)
  return row?.unmatchedChange ?? 0n
}

export const updateUnmatchedCursor = (q: Queryable, chainId: number, change: bigint): Promise<number> =>
  q.run(sql`
    insert into payment_chain_cursors as c (chain_id, after_change, unmatched_change) values (${chainId}, 0, ${change})
    on conflict (chain_id) do update set unmatched_change = greatest(c.unmatched_change, excluded.unmatched_change)`)
