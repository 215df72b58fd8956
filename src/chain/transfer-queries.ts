import { json, type Queryable, type Sql, sql, type Tx } from '../db/db.ts'
import { newId } from '../kernel/ids.ts'
import type { FoundTransfer, Head, Transfer } from './transfer.ts'
import { numberWithin } from './transfer-numbers.ts'

/** A block's time may be 15 seconds earlier than our clock. */
export const SINCE = sql`interval '15 seconds'`

/**
 * No honest payment is in a block whose time is so much older than its address, unless the chain made up for a
 * standstill: its blocks may then have old times. So the reader must not have stood at its newest block since.
 */
const LONG_BEFORE = sql`interval '10 minutes'`

/**
 * Up to where each chain was read, in a row of `chain_heads`: not of chains whose reader is so far behind that what it
 * has not read yet may be long before.
 */
export const READ_UNTIL = sql`coalesce(jsonb_object_agg(chain_id, number)
  filter (where number is not null and greatest(scanned_at, block_at) > now() - ${LONG_BEFORE}), '{}')`

/**
 * Transfer `t` came to address `e` of a key before a payment had it: another installation or program uses that key. It
 * counts for no payment here. Where its chain was read, its block was read by then, so a clock of ours that is ahead
 * takes no payment for an earlier one, and its time was over also, so that no block which takes its place later is
 * meant. Where the reader was behind, its time was long over.
 */
export const CAME_BEFORE = sql`coalesce(e.key_id is not null and case when e.read_until ? t.chain_id::text
  then e.created_at > t.block_at + ${SINCE} and t.block_number <= (e.read_until ->> t.chain_id::text)::bigint
  when e.read_until is not null then e.created_at > t.block_at + ${LONG_BEFORE} end, false)`

/** The same of the transfer's own address. `offset 0`: looked up per row, by the address. */
export const IS_EARLIER = sql`exists (
  select 1 from deposit_addresses e where e.address = t.to_address and ${CAME_BEFORE} offset 0)`

const COLUMNS = sql`id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token, symbol,
  from_address, to_address, units, status, first_seen_at, final_at, change`

type TransferRow = Omit<Transfer, 'units'> & { units: string }

async function list(q: Queryable, statement: ReturnType<typeof sql>): Promise<Transfer[]> {
  const rows = await q.many<TransferRow>(statement)
  return rows.map((row) => ({ ...row, units: BigInt(row.units) }))
}

/** What is known of transactions, also of blocks that are gone. */
function listOfTransactions(q: Queryable, found: readonly FoundTransfer[]): Promise<Transfer[]> {
  const chains = [...new Set(found.map(({ chainId }) => chainId))]
  const hashes = [...new Set(found.map(({ txHash }) => txHash))]
  return list(
    q,
    sql`select ${COLUMNS} from chain_transfers
      where chain_id = any(${chains}::integer[]) and tx_hash = any(${hashes}::text[]) order by nth`,
  )
}

/**
 * Writes transfers that were found; a known one (mined again elsewhere) gets its new place and becomes `seen` again.
 * The row of the chain's head must be locked: numbers are given by what is known.
 * @returns how many rows are new or changed
 */
export async function upsertTransfers(tx: Tx, found: readonly FoundTransfer[]): Promise<number> {
  if (found.length === 0) return 0
  const transfers = numberWithin(await listOfTransactions(tx, found), found)
  type Numbered = (typeof transfers)[number]
  const column = (pick: (transfer: Numbered) => unknown): string[] => transfers.map((row) => String(pick(row)))
  return tx.run(sql`
    insert into chain_transfers as known (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at,
      token, symbol, from_address, to_address, units, status, change, is_usdc)
    select *, 'seen', nextval('chain_changes'), found.symbol = 'USDC' from unnest(
      ${transfers.map(() => newId())}::text[], ${column((row) => row.chainId)}::integer[],
      ${column((row) => row.txHash)}::text[], ${column((row) => row.nth)}::integer[],
      ${column((row) => row.logIndex)}::integer[], ${column((row) => row.blockNumber)}::bigint[],
      ${column((row) => row.blockHash)}::text[], ${column((row) => row.blockAt.toISOString())}::timestamptz[],
      ${column((row) => row.token)}::text[], ${column((row) => row.symbol)}::text[],
      ${column((row) => row.fromAddress)}::text[], ${column((row) => row.toAddress)}::text[],
      ${column((row) => row.units)}::numeric[])
      as found (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token, symbol, from_address,
        to_address, units)
    on conflict (chain_id, tx_hash, token, to_address, nth) do update set
      log_index = excluded.log_index, block_number = excluded.block_number, block_hash = excluded.block_hash,
      block_at = excluded.block_at, from_address = excluded.from_address, units = excluded.units,
      status = 'seen', final_at = null, change = excluded.change
    where (known.status, known.block_hash, known.log_index)
      is distinct from ('seen', excluded.block_hash, excluded.log_index)`)
}

/** Orphans the transfers above `number`: their blocks have left the chain. */
export const updateOrphaned = (tx: Tx, chainId: number, number: bigint): Promise<number> =>
  tx.run(sql`
    update chain_transfers set status = 'orphaned', final_at = null, change = nextval('chain_changes')
    where chain_id = ${chainId} and block_number > ${number} and status = 'seen'`)

type Receivers = readonly string[] | 'all'

const isTo = (addresses: Receivers): Sql =>
  addresses === 'all' ? sql`true` : sql`to_address = any(${[...addresses]}::text[])`

/** Blocks of counted transfers, newest height first; a height is never split, so there may be a few more. */
export const listSeenBlocks = (
  q: Queryable,
  which: { chainId: number; addresses: Receivers; from: bigint; below: bigint; limit: number },
): Promise<{ number: bigint; hash: string }[]> =>
  q.many(sql`
    select distinct block_number as number, block_hash as hash from chain_transfers
    where chain_id = ${which.chainId} and status = 'seen' and block_number >= ${which.from}
      and block_number < ${which.below} and ${isTo(which.addresses)}
    order by block_number desc fetch first ${which.limit} rows with ties`)

/** Orphans the transfers of these blocks, which have left the chain. @returns how many */
export const updateGone = (
  tx: Tx,
  chainId: number,
  { gone, addresses }: { gone: readonly { hash: string }[]; addresses: Receivers },
): Promise<number> =>
  tx.run(sql`
    update chain_transfers set status = 'orphaned', final_at = null, change = nextval('chain_changes')
    where chain_id = ${chainId} and block_hash = any(${gone.map(({ hash }) => hash)}::text[]) and status = 'seen'
      and ${isTo(addresses)}`)

/** Final transfers in the newest blocks: after a reorganisation they may have too few confirmations again. */
export const listFinalTransfers = (q: Queryable, chainId: number, aboveNumber: bigint): Promise<Transfer[]> =>
  list(
    q,
    sql`select ${COLUMNS} from chain_transfers where chain_id = ${chainId} and status = 'seen'
      and final_at is not null and block_number > ${aboveNumber}`,
  )

/** These are no longer final: their confirmations count and are announced again. */
export const updateReopened = (tx: Tx, ids: readonly string[]): Promise<number> =>
  tx.run(sql`
    update chain_transfers set final_at = null, change = nextval('chain_changes') where id = any(${[...ids]}::text[])`)

/** So many small transfers become final with one block; the rest with the next ones. */
const DUST_AT_ONCE = 5000

/** Whether no block but the last one is news of it: anyone can send thousands of them. */
const IS_QUIET = (dustUnits: bigint): Sql => sql`(units < ${String(dustUnits)}::numeric or is_usdc is false)`

/**
 * New blocks confirmed the transfers of a chain: announces those whose confirmations still count, which are final up to
 * `settled`. Dust and other tokens are announced again only then.
 * @param settled null: none is final by the network's rules
 */
export async function updateConfirmed(
  tx: Tx,
  chainId: number,
  { settled, dustUnits }: { settled: bigint | null; dustUnits: bigint },
): Promise<void> {
  const isOpen = sql`chain_id = ${chainId} and status = 'seen' and final_at is null`
  await tx.run(sql`
    update chain_transfers set change = nextval('chain_changes'),
      final_at = case when block_number <= ${settled}::bigint then now() end
    where ${isOpen} and not ${IS_QUIET(dustUnits)}`)
  if (settled === null) return
  await tx.run(sql`
    update chain_transfers set change = nextval('chain_changes'), final_at = now()
    where id in (select id from chain_transfers where ${isOpen} and ${IS_QUIET(dustUnits)} and block_number <= ${settled}
      order by block_number limit ${DUST_AT_ONCE})`)
}

/**
 * Changes on a chain since a cursor: new, orphaned, returned, and more deeply confirmed transfers, each in its current
 * state, oldest change first. No change is ever inserted behind a cursor that was handed out.
 * @param afterChange `change` of the last one processed; 0n for all
 */
export const listChangedTransfers = (
  q: Queryable,
  { chainId, afterChange, limit }: { chainId: number; afterChange: bigint; limit: number },
): Promise<Transfer[]> =>
  list(
    q,
    sql`select ${COLUMNS} from chain_transfers where chain_id = ${chainId} and change > ${afterChange}
      order by change limit ${limit}`,
  )

/** An address with news, and the last of them. */
export type ChangedAddress = { address: string; change: bigint }

/**
 * The addresses of the same changes, those whose last one is oldest first: once they are handled in this order, so is
 * every change up to that one.
 * @param limit how many changes are read
 * @returns `isMore`: there may be later ones
 */
export async function listChangedAddresses(
  q: Queryable,
  { chainId, afterChange, limit }: { chainId: number; afterChange: bigint; limit: number },
): Promise<{ changed: ChangedAddress[]; isMore: boolean }> {
  const rows = await q.many<ChangedAddress & { times: bigint }>(sql`
    select to_address as address, max(change) as change, count(*) as times
    from (select to_address, change from chain_transfers
      where chain_id = ${chainId} and change > ${afterChange} order by change limit ${limit}) as news
    group by to_address order by 2`)
  const read = rows.reduce((sum, { times }) => sum + times, 0n)
  return { changed: rows, isMore: read === BigInt(limit) }
}

export async function hasChangesAfter(q: Queryable, chainId: number, change: bigint): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select from chain_transfers where chain_id = ${chainId} and change > ${change}) as found`)
  return found
}

/** Ids of the transfers to addresses that payments share, with news after `after` and up to `last`. */
export async function listChangedShared(
  q: Queryable,
  { chainId, after, last }: { chainId: number; after: bigint; last: bigint },
): Promise<string[]> {
  const rows = await q.many<{ id: string }>(sql`
    select id from chain_transfers t where chain_id = ${chainId} and change > ${after} and change <= ${last}
      and exists (select from deposit_addresses d where d.address = t.to_address and d.key_id is null)
    order by change`)
  return rows.map(({ id }) => id)
}

const listTo = (q: Queryable, addresses: readonly string[], which: Sql): Promise<Transfer[]> =>
  list(
    q,
    sql`select ${COLUMNS} from chain_transfers t
      where to_address = any(${addresses.map((address) => address.toLowerCase())}::text[]) and ${which}
      order by first_seen_at, chain_id, block_number, log_index`,
  )

/** All transfers to these addresses (any spelling) on all chains, also orphaned ones, oldest first. */
export const listTransfersTo = (q: Queryable, addresses: readonly string[]): Promise<Transfer[]> =>
  listTo(q, addresses, sql`true`)

/** Those that came once a payment had the address. */
export const listTransfersSince = (q: Queryable, addresses: readonly string[]): Promise<Transfer[]> =>
  listTo(q, addresses, sql`not ${IS_EARLIER}`)

/** USDC's contract on each chain, in lower case. */
export type UsdcContracts = Readonly<Record<number, string>>

/** Whether transfer `t` is USDC, whichever payment it is for. */
const isUsdcItself = (usdc: UsdcContracts): Sql =>
  sql`coalesce(t.is_usdc, t.token = ${json(usdc)}::jsonb ->> t.chain_id::text, t.symbol = 'USDC')`

const IS_ASKED_TOKEN = sql`t.chain_id = p.network and t.token = p.token_address`

/**
 * Whether transfer `t` is USDC to payment `p`: of the contract that the payment was asked with, or of the one that was
 * USDC on its chain when it was recorded. Neither changes with the settings. If an earlier version recorded it: of the
 * contract that is USDC now, and its name decides only where the chain is not set up.
 */
export const isUsdcOf = (usdc: UsdcContracts): Sql => sql`(
  ${isUsdcItself(usdc)} or coalesce(${IS_ASKED_TOKEN}, false))`

/**
 * Whether transfer `t` is USDC to any payment at its address. The order makes one look into the index the answer: for
 * an equality, PostgreSQL would read the table where nearly all payments are at one static address.
 */
export const isUsdcThere = (usdc: UsdcContracts): Sql => sql`(
  ${isUsdcItself(usdc)} or coalesce((
    select (p.deposit_address, p.network, p.token_address) = (t.to_address, t.chain_id, t.token) from payments p
    where p.deposit_address is not null
      and (p.deposit_address, p.network, p.token_address) >= (t.to_address, t.chain_id, t.token)
    order by p.deposit_address, p.network, p.token_address limit 1), false))`

/** What the payer was asked for, and USDC on the chains that are set up. */
export type Asked = { network: number | null; tokenAddress: string | null; usdc: UsdcContracts }

/**
 * Transfers to these addresses of keys (any spelling) since payments had them, each with the head of its chain, from
 * one snapshot. Judge finality on
 * these pairs: with two separate reads, a reorganisation in between could make a lost transfer look final. Of more than
 * `CROWD`, the USDC of one sender in one block is one transfer, with the hash of one of them.
 */
export const listPlacedTransfers = (
  q: Queryable,
  addresses: readonly string[],
  asked: Asked,
): Promise<PlacedTransfer[]> =>
  listPlaced(
    q,
    {
      of: sql`t.to_address = any(${addresses.map((address) => address.toLowerCase())}::text[])`,
      counted: sql`not ${IS_EARLIER}`,
    },
    asked,
  )

/** The same for transfers by id. */
export const listPlacedById = (q: Queryable, ids: readonly string[], asked: Asked): Promise<PlacedTransfer[]> =>
  listPlaced(q, { of: sql`t.id = any(${[...ids]}::text[])`, counted: sql`true` }, asked)

export type PlacedTransfer = { transfer: Transfer; head: Head; isUsdc: boolean }

/** With more, a payer's few transfers are hidden among thousands that someone sent to slow the service down. */
const CROWD = 1000

/** @param of which transfers `t`; `counted`: which of them, as their sender, address and block say */
async function listPlaced(
  q: Queryable,
  { of, counted }: { of: Sql; counted: Sql },
  { network, tokenAddress, usdc }: Asked,
): Promise<PlacedTransfer[]> {
  type More = { headNumber: bigint; headHash: string; headScannedAt: Date; countsAsUsdc: boolean }
  type Row = TransferRow & More & Pick<Head, 'safeNumber' | 'finalizedNumber'>
  const rows = await q.many<Row>(sql`
    select t.*, h.number as head_number, h.hash as head_hash, h.safe_number, h.finalized_number,
      coalesce(h.scanned_at, 'epoch') as head_scanned_at
    from (select min(id) as id, chain_id, min(tx_hash) as tx_hash, min(nth) as nth, min(log_index) as log_index, block_number,
        block_hash, block_at, token, symbol, from_address, to_address, sum(units) as units, status,
        min(first_seen_at) as first_seen_at, final_at, max(change) as change, counts_as_usdc
      from (select ${COLUMNS}, ${isUsdcOf(usdc)} as counts_as_usdc from chain_transfers t
        cross join (select ${network}::integer as network, ${tokenAddress}::text as token_address) as p
        where ${of}) as t
      group by chain_id, block_number, block_hash, block_at, token, symbol, from_address, to_address, status, final_at,
        counts_as_usdc, case when counts_as_usdc and (
          select count(*) > ${CROWD} from (select from chain_transfers t where ${of} limit ${CROWD + 1}) as few)
          then null else id end) as t
    join chain_heads as h on h.chain_id = t.chain_id and h.number is not null
    where ${counted}
    order by t.first_seen_at, t.chain_id, t.block_number, t.log_index`)
  return rows.map(({ headNumber, headHash, headScannedAt, safeNumber, finalizedNumber, countsAsUsdc, ...row }) => ({
    transfer: { ...row, units: BigInt(row.units) },
    head: {
      chainId: row.chainId,
      number: headNumber,
      hash: headHash,
      scannedAt: headScannedAt,
      safeNumber,
      finalizedNumber,
    },
    isUsdc: countsAsUsdc,
  }))
}

/** Those of the transfers that are USDC to any payment at their address. */
export async function listUsdcAmong(q: Queryable, ids: readonly string[], usdc: UsdcContracts): Promise<Set<string>> {
  const rows = await q.many<{ id: string }>(sql`
    select t.id from chain_transfers t where t.id = any(${[...ids]}::text[]) and ${isUsdcThere(usdc)}`)
  return new Set(rows.map(({ id }) => id))
}
