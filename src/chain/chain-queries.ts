import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { Head } from './transfer.ts'

export type BlockId = { number: bigint; hash: string }

/** The lease of one chain, and where its reader stands. */
export type Lease = {
  chainId: number
  genesisHash: string | null
  number: bigint | null
  hash: string | null
  scannedAt: Date | null
  leaseOwner: string | null
}

const LEASE_COLUMNS = sql`chain_id, genesis_hash, number, hash, scanned_at, lease_owner`

export const insertChain = (q: Queryable, chainId: number): Promise<number> =>
  q.run(sql`insert into chain_heads (chain_id) values (${chainId}) on conflict do nothing`)

/** Takes or keeps the right to read a chain; undefined while another node holds it. By the database's clock. */
export const claimChain = (
  q: Queryable,
  { chainId, owner, leaseMs }: { chainId: number; owner: string; leaseMs: number },
): Promise<Lease | undefined> =>
  q.maybe(sql`
    update chain_heads set lease_owner = ${owner}, lease_until = now() + make_interval(secs => ${leaseMs / 1000})
    where chain_id = ${chainId} and (lease_owner = ${owner} or lease_until is null or lease_until < now())
    returning ${LEASE_COLUMNS}`)

/** Locks the chain's row for a write and prolongs the lease; undefined when another node has taken it over. */
export const lockChain = (
  tx: Tx,
  { chainId, owner, leaseMs }: { chainId: number; owner: string; leaseMs: number },
): Promise<Lease | undefined> =>
  tx.maybe(sql`
    update chain_heads set lease_until = now() + make_interval(secs => ${leaseMs / 1000})
    where chain_id = ${chainId} and lease_owner = ${owner} returning ${LEASE_COLUMNS}`)

/** Lets another node take over at once. */
export const updateChainReleased = (q: Queryable, chainId: number, owner: string): Promise<number> =>
  q.run(sql`
    update chain_heads set lease_owner = null, lease_until = null
    where chain_id = ${chainId} and lease_owner = ${owner}`)

export const updateHead = (tx: Tx, chainId: number, head: BlockId): Promise<number> =>
  tx.run(sql`update chain_heads set number = ${head.number}, hash = ${head.hash} where chain_id = ${chainId}`)

/** A chain whose first block differs from what we knew: another chain altogether. */
export const updateGenesis = (tx: Tx, chainId: number, genesisHash: string): Promise<number> =>
  tx.run(sql`
    update chain_heads set genesis_hash = ${genesisHash}, safe_number = null, finalized_number = null
    where chain_id = ${chainId}`)

/** Says that the reader stood at the chain's newest block just now, and what the node calls safe and finalized. */
export const updateScanned = (
  tx: Tx,
  chainId: number,
  tags: { safeNumber: bigint | null; finalizedNumber: bigint | null },
): Promise<number> =>
  tx.run(sql`
    update chain_heads set scanned_at = now(),
      safe_number = case when ${tags.safeNumber}::bigint is null then safe_number
        else least(number, greatest(safe_number, ${tags.safeNumber}::bigint)) end,
      finalized_number = case when ${tags.finalizedNumber}::bigint is null then finalized_number
        else least(number, greatest(finalized_number, ${tags.finalizedNumber}::bigint)) end
    where chain_id = ${chainId}`)

/** How far a chain has been read; undefined before its first block. */
export const findHead = (q: Queryable, chainId: number): Promise<Head | undefined> =>
  q.maybe(sql`
    select chain_id, number, hash, safe_number, finalized_number, coalesce(scanned_at, 'epoch') as scanned_at
    from chain_heads where chain_id = ${chainId} and number is not null`)

/** The blocks that are remembered, newest first. */
export const listBlocks = (q: Queryable, chainId: number): Promise<BlockId[]> =>
  q.many(sql`select number, hash from chain_blocks where chain_id = ${chainId} order by number desc`)

export const findBlock = (q: Queryable, chainId: number, number: bigint): Promise<BlockId | undefined> =>
  q.maybe(sql`select number, hash from chain_blocks where chain_id = ${chainId} and number = ${number}`)

/** Remembers blocks and forgets all but the newest `keep`. */
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

export const deleteBlocksAbove = (tx: Tx, chainId: number, number: bigint): Promise<number> =>
  tx.run(sql`delete from chain_blocks where chain_id = ${chainId} and number > ${number}`)
