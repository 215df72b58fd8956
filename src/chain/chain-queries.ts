import { type Queryable, sql, type Tx } from '../db/db.ts'
import { MINUTE } from '../kernel/clock.ts'
import type { Head } from './transfer.ts'

export type BlockId = { number: bigint; hash: string }

/** The lease of one chain, and how far the chain has been read. */
export type Lease = {
  chainId: number
  genesisHash: string | null
  number: bigint | null
  hash: string | null
  /** When the newest block read was mined; null if it was read before this was stored. */
  blockAt: Date | null
  scannedAt: Date | null
  leaseOwner: string | null
  trouble: ChainTrouble | null
}

const LEASE_COLUMNS = sql`chain_id, genesis_hash, number, hash, block_at, scanned_at, lease_owner, trouble`

/**
 * Notes that a node of the service looks at this chain, though it may not come to read it. Unlike the lease, that keeps
 * no other node from reading it.
 */
export const upsertChainTried = (q: Queryable, chainId: number): Promise<number> =>
  q.run(sql`
    insert into chain_heads (chain_id, tried_at) values (${chainId}, now())
    on conflict (chain_id) do update set tried_at = now()
    where chain_heads.tried_at is null or chain_heads.tried_at < now() - interval '20 seconds'`)

/** Takes or renews the lease of a chain; undefined while another node holds it. Uses the database's clock. */
export const claimChain = (
  q: Queryable,
  { chainId, owner, leaseMs }: { chainId: number; owner: string; leaseMs: number },
): Promise<Lease | undefined> =>
  q.maybe(sql`
    update chain_heads set lease_owner = ${owner}, lease_until = now() + make_interval(secs => ${leaseMs / 1000})
    where chain_id = ${chainId} and (lease_owner = ${owner} or lease_until is null or lease_until < now())
    returning ${LEASE_COLUMNS}`)

/** Renews the lease; every write locks the chain's row with it (fencing). Undefined if another node has taken over. */
export const lockChain = (
  q: Queryable,
  { chainId, owner, leaseMs }: { chainId: number; owner: string; leaseMs: number },
): Promise<Lease | undefined> =>
  q.maybe(sql`
    update chain_heads set lease_until = now() + make_interval(secs => ${leaseMs / 1000})
    where chain_id = ${chainId} and lease_owner = ${owner} returning ${LEASE_COLUMNS}`)

/** Releases the lease, so that another node can take over at once. */
export const updateChainReleased = (q: Queryable, chainId: number, owner: string): Promise<number> =>
  q.run(sql`
    update chain_heads set lease_owner = null, lease_until = null
    where chain_id = ${chainId} and lease_owner = ${owner}`)

/**
 * Sets the newest block read. Going back to an older one does not count as progress, and no block above it counts as
 * safe or finalized any longer, whatever a node said about the blocks that were there.
 */
export const updateHead = (tx: Tx, chainId: number, head: BlockId & { at: Date }): Promise<number> =>
  tx.run(sql`
    update chain_heads set number = ${head.number}, hash = ${head.hash}, block_at = ${head.at},
      advanced_at = case when number is null or number < ${head.number} then now() else advanced_at end,
      safe_number = case when safe_number > ${head.number} then ${head.number}::bigint else safe_number end,
      finalized_number = case when finalized_number > ${head.number} then ${head.number}::bigint
        else finalized_number end
    where chain_id = ${chainId}`)

/** Sets the identity of the chain that is read from now on. */
export const updateGenesis = (tx: Tx, chainId: number, genesisHash: string): Promise<number> =>
  tx.run(sql`
    update chain_heads set genesis_hash = ${genesisHash}, safe_number = null, finalized_number = null
    where chain_id = ${chainId}`)

/**
 * Records which blocks the nodes report as safe and finalized, and whether the reader is at the newest block: where it
 * is held up, nothing tells what is in the blocks above.
 */
export const updateScanned = (
  tx: Tx,
  chainId: number,
  { isAtHead, ...tags }: { isAtHead: boolean; safeNumber: bigint | null; finalizedNumber: bigint | null },
): Promise<number> =>
  tx.run(sql`
    update chain_heads set scanned_at = case when ${isAtHead}::boolean then now() else scanned_at end,
      safe_number = case when ${tags.safeNumber}::bigint is null then safe_number
        else least(number, greatest(safe_number, ${tags.safeNumber}::bigint)) end,
      finalized_number = case when ${tags.finalizedNumber}::bigint is null then finalized_number
        else least(number, greatest(finalized_number, ${tags.finalizedNumber}::bigint)) end
    where chain_id = ${chainId}`)

/** Why reading has stopped. `doubt`: what the nodes say does not fit together, though none contradicts another. */
export type ChainTrouble = 'foreign' | 'disagreement' | 'doubt'

/** Records why reading has stopped (null: it has not). Only the lease holder may. */
export const updateTrouble = (
  q: Queryable,
  { chainId, owner, trouble }: { chainId: number; owner: string; trouble: ChainTrouble | null },
): Promise<number> =>
  q.run(sql`
    update chain_heads set trouble = ${trouble},
      trouble_since = case when ${trouble}::text is null then null else coalesce(trouble_since, now()) end
    where chain_id = ${chainId} and lease_owner = ${owner} and trouble is distinct from ${trouble}`)

/** How current a chain is, to decide whether to rely on it. Seconds, by the database's clock. */
export type ChainStanding = {
  chainId: number
  number: bigint | null
  genesisHash: string | null
  blockAt: Date | null
  trouble: ChainTrouble | null
  /** Since we last read a new block, or since the newest one was mined, whichever is longer. */
  lagSeconds: number | null
  /** A node of the service holds the lease: it reads this chain now, or tries to. */
  isLeased: boolean
  /** In the last minutes, a node of the service looked at this chain in vain, or began to. */
  isTried: boolean
  /** When its nodes last answered what reading it asks; null: they never did. */
  readAt: Date | null
}

/** Longer than a look at nodes of which each takes its time and does not answer. */
const TRIED_MS = 3 * MINUTE

export const listStandings = (q: Queryable, chainIds: readonly number[]): Promise<ChainStanding[]> =>
  q.many(sql`
    select chain_id, number, genesis_hash, block_at, trouble,
      extract(epoch from now() - least(advanced_at, block_at))::float8 as lag_seconds,
      coalesce(lease_until > now(), false) as is_leased,
      coalesce(tried_at > now() - make_interval(secs => ${TRIED_MS / 1000}), false) as is_tried,
      greatest(scanned_at, advanced_at) as read_at
    from chain_heads where chain_id = any(${[...chainIds]}::integer[])`)

/** When its nodes last answered what reading it asks; null: they never did, or have contradicted each other since. */
export async function findAnsweredAt(q: Queryable, chainId: number): Promise<Date | null> {
  const row = await q.maybe<{ at: Date | null }>(sql`
    select greatest(scanned_at, advanced_at) as at from chain_heads where chain_id = ${chainId} and trouble is null`)
  return row?.at ?? null
}

/** How far a chain has been read; undefined before its first block. */
export const findHead = (q: Queryable, chainId: number): Promise<Head | undefined> =>
  q.maybe(sql`
    select chain_id, number, hash, safe_number, finalized_number, coalesce(scanned_at, 'epoch') as scanned_at
    from chain_heads where chain_id = ${chainId} and number is not null`)

/** Blocks remembered for reorganisations, newest first. */
export const listBlocks = (q: Queryable, chainId: number): Promise<BlockId[]> =>
  q.many(sql`select number, hash from chain_blocks where chain_id = ${chainId} order by number desc`)

export const findBlock = (q: Queryable, chainId: number, number: bigint): Promise<BlockId | undefined> =>
  q.maybe(sql`select number, hash from chain_blocks where chain_id = ${chainId} and number = ${number}`)

/** Stores blocks and deletes all but the newest `keep`. */
export async function insertBlocks(tx: Tx, chainId: number, blocks: readonly BlockId[], keep: number): Promise<void> {
  const numbers = blocks.map((block) => block.number.toString())
  const hashes = blocks.map((block) => block.hash)
  await tx.run(sql`
    insert into chain_blocks (chain_id, number, hash)
    select ${chainId}, * from unnest(${numbers}::bigint[], ${hashes}::text[])`)
  await tx.run(sql`
    delete from chain_blocks where chain_id = ${chainId} and number < (
      select number from chain_blocks where chain_id = ${chainId} order by number desc offset ${keep - 1} limit 1)`)
}

/** Resets a chain that was restarted, so that it is read as if for the first time. */
export async function forgetChain(tx: Tx, chainId: number): Promise<void> {
  await tx.run(sql`delete from chain_blocks where chain_id = ${chainId}`)
  await tx.run(sql`
    update chain_heads set genesis_hash = null, number = null, hash = null, block_at = null, advanced_at = null,
      safe_number = null, finalized_number = null, trouble = null, trouble_since = null
    where chain_id = ${chainId}`)
}

export const deleteBlocksAbove = (tx: Tx, chainId: number, number: bigint): Promise<number> =>
  tx.run(sql`delete from chain_blocks where chain_id = ${chainId} and number > ${number}`)
