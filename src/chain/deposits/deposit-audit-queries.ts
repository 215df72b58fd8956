import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { BlockId } from '../chain-queries.ts'

/** One deposit address on one chain according to our tables. */
export type RecordedDeposit = {
  address: string
  createdAt: Date
  units: bigint
  /** What left it, less what it held before our records of it begin. */
  outflowUnits: bigint
  /** The block up to which they explained the balance; what left later is read again. */
  outflowTo: bigint
  /** The block of its last finding; 0: it never had one. */
  auditedAt: bigint
  /** A difference is already open for it. */
  differed: boolean
  /** An earlier audit left open what an endpoint that did not answer may know; `isLongUnsure`: an hour ago or more. */
  isUnsure: boolean
  isLongUnsure: boolean
}

type Row = Omit<RecordedDeposit, 'units' | 'outflowUnits'> & { units: string; outflowUnits: string }

type Asked = { chainId: number; token: string; addresses: readonly string[] }

/**
 * Recorded USDC of these addresses up to a block, that one included; null: up to the block up to which the chain was
 * read, from the same snapshot. Only for addresses derived from a key: other activity at shared addresses is unknown.
 */
export async function readRecordedDeposits(
  q: Queryable,
  { chainId, token, addresses }: Asked,
  block: bigint | null,
): Promise<{ head: BlockId; deposits: RecordedDeposit[] } | undefined> {
  const rows = await q.many<Row & { headNumber: bigint; headHash: string }>(sql`
    select d.address, d.created_at, h.number as head_number, h.hash as head_hash,
      coalesce((select sum(t.units) from chain_transfers as t where t.chain_id = h.chain_id
        and t.to_address = d.address and t.token = ${token.toLowerCase()} and t.status = 'seen'
        and (${block}::bigint is null or t.block_number <= ${block})), 0)::text as units,
      coalesce(f.outflow_units * same.token, 0)::text as outflow_units,
      coalesce(f.outflow_to * same.token, 0)::bigint as outflow_to, coalesce(f.block_number, 0) as audited_at, (f.address is not null and f.closed_at is null) as differed,
      u.since is not null as is_unsure, coalesce(u.since <= now() - interval '1 hour', false) as is_long_unsure
    from deposit_addresses as d
    join chain_heads as h on h.chain_id = ${chainId} and h.number is not null
    left join deposit_differences as f on f.chain_id = h.chain_id and f.address = d.address
    cross join lateral (
      select case when coalesce(f.token, ${token.toLowerCase()}) = ${token.toLowerCase()} then 1 else 0 end as token) as same
    left join deposit_doubts as u on u.chain_id = h.chain_id and u.address = d.address
    where d.key_id is not null and d.address = any(${addresses.map((address) => address.toLowerCase())}::text[])`)
  const [first] = rows
  if (!first) return undefined
  return {
    head: { number: first.headNumber, hash: first.headHash },
    deposits: rows.map(({ headNumber, headHash, units, outflowUnits, ...deposit }) => ({
      ...deposit,
      units: BigInt(units),
      outflowUnits: BigInt(outflowUnits),
    })),
  }
}

/** Recorded USDC of these addresses up to a block, that one included. */
export async function readRecordedUntil(
  q: Queryable,
  { chainId, token, addresses, block }: Asked & { block: bigint },
): Promise<Map<string, bigint>> {
  const rows = await q.many<{ address: string; units: string }>(sql`
    select to_address as address, sum(units)::text as units from chain_transfers
    where chain_id = ${chainId} and token = ${token.toLowerCase()} and status = 'seen' and block_number <= ${block}
      and to_address = any(${[...addresses]}::text[])
    group by to_address`)
  return new Map(rows.map(({ address, units }) => [address, BigInt(units)]))
}

export type DepositFinding = {
  chainId: number
  /** The contract in which it was compared, in lower case. */
  token: string
  address: string
  balanceUnits: bigint
  recordedUnits: bigint
  outflowUnits: bigint
  blockNumber: bigint
  explained: boolean
}

/**
 * Outflows that explain nothing are not kept: a node that was behind, or hid some, would have them missing for ever,
 * because the next audit reads on after them.
 */
export const upsertDepositFinding = (q: Queryable, found: DepositFinding): Promise<number> =>
  q.run(sql`
    insert into deposit_differences as known (chain_id, address, token, balance_units, recorded_units, outflow_units,
      outflow_to, block_number, closed_at)
    values (${found.chainId}, ${found.address}, ${found.token}, ${found.balanceUnits}, ${found.recordedUnits},
      case when ${found.explained} then ${found.outflowUnits}::numeric else 0 end,
      case when ${found.explained} then ${found.blockNumber}::bigint else 0 end, ${found.blockNumber},
      case when ${found.explained} then now() end)
    on conflict (chain_id, address) do update set token = excluded.token, balance_units = excluded.balance_units,
      recorded_units = excluded.recorded_units, block_number = excluded.block_number, updated_at = now(),
      outflow_units = case when ${found.explained} or known.token <> excluded.token then excluded.outflow_units
        else known.outflow_units end,
      outflow_to = case when ${found.explained} or known.token <> excluded.token then excluded.outflow_to
        else known.outflow_to end,
      closed_at = excluded.closed_at`)

/** Closes differences of addresses that match again without an explanation. */
export const updateDifferencesClosed = (q: Queryable, chainId: number, addresses: readonly string[]): Promise<number> =>
  q.run(sql`
    update deposit_differences set closed_at = now(), updated_at = now()
    where chain_id = ${chainId} and address = any(${[...addresses]}::text[]) and closed_at is null`)

/** Remembers since when these are unsure. */
export const insertDepositDoubts = (q: Queryable, chainId: number, addresses: readonly string[]): Promise<number> =>
  q.run(sql`
    insert into deposit_doubts (chain_id, address) select ${chainId}, unnest(${[...addresses]}::text[])
    on conflict do nothing`)

export const deleteDepositDoubts = (q: Queryable, chainId: number, addresses: readonly string[]): Promise<number> =>
  q.run(sql`delete from deposit_doubts where chain_id = ${chainId} and address = any(${[...addresses]}::text[])`)

export async function countDifferences(q: Queryable, chainId: number): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(sql`
    select count(*) as total from deposit_differences where chain_id = ${chainId} and closed_at is null`)
  return Number(total)
}

/** A page of addresses for a round over all watched ones. */
export async function listAuditPage(
  q: Queryable,
  { after, watchedAt, limit }: { after: string; watchedAt: Date; limit: number },
): Promise<string[]> {
  const rows = await q.many<{ address: string }>(sql`
    select address from deposit_addresses where address > ${after} and watched_until > ${watchedAt} and key_id is not null
    order by address limit ${limit}`)
  return rows.map(({ address }) => address)
}

/** A page of every address that was ever assigned. */
export async function listDepositPage(q: Queryable, after: string, limit: number): Promise<string[]> {
  const rows = await q.many<{ address: string }>(sql`
    select address from deposit_addresses where address > ${after} order by address limit ${limit}`)
  return rows.map(({ address }) => address)
}

/**
 * Takes the next page of a round, or starts a round if the last is older than `olderThan`; undefined: nothing is due.
 */
export const claimAuditPage = (
  q: Queryable,
  chainId: number,
  olderThan: Date,
): Promise<{ auditCursor: string } | undefined> =>
  q.maybe(sql`
    select audit_cursor from chain_heads where chain_id = ${chainId} and number is not null
      and (audit_cursor <> '' or audited_at is null or audited_at < ${olderThan})`)

/** Another node may have done the same page: doing it twice is harmless, but the cursor must not go back. */
export const updateAuditCursor = (
  q: Queryable,
  move: { chainId: number; from: string; to: string; finishedAt: Date | null },
): Promise<number> =>
  q.run(sql`
    update chain_heads set audit_cursor = ${move.to}, audited_at = coalesce(${move.finishedAt}::timestamptz, audited_at)
    where chain_id = ${move.chainId} and audit_cursor = ${move.from}`)

/** Locks the chain's row, so that changes are numbered in order whichever process writes them. */
export const lockHead = (tx: Tx, chainId: number): Promise<{ number: bigint } | undefined> =>
  tx.maybe(sql`select number from chain_heads where chain_id = ${chainId} and number is not null for update`)

/** The remembered blocks at these heights. */
export const listBlocksAt = (q: Queryable, chainId: number, numbers: readonly bigint[]): Promise<BlockId[]> =>
  q.many(sql`
    select number, hash from chain_blocks
    where chain_id = ${chainId} and number = any(${numbers.map(String)}::bigint[])`)

/** Addresses ever assigned. */
export async function countDeposits(q: Queryable): Promise<number> {
  const { count } = await q.one<{ count: bigint }>(sql`select count(*) as count from deposit_addresses`)
  return Number(count)
}
