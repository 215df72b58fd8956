import { type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'
import { READ_UNTIL } from '../transfer-queries.ts'

/** Derived from a key; an address that several payments share is not. */
export type DepositAddress = {
  address: string
  companyId: string
  reference: string
  keyId: string
  keyIndex: bigint
  createdAt: Date
  watchedUntil: Date
}

const COLUMNS = sql`address, company_id, reference, key_id, key_index, created_at, watched_until`

/**
 * Where a key begins that this database has not used yet. After a restore, beyond what lost orders may have used of it.
 * One row, whether there is an installation or not: `select … from installation`.
 */
export const FIRST_INDEX = sql`coalesce(max(first_index), 0)`

/** The key's next free index. Locks the row until the transaction ends, so no one else can take it. */
export async function lockDepositKey(tx: Tx, key: { id: string; text: string }): Promise<bigint> {
  const row = await tx.one<{ nextIndex: bigint }>(sql`
    insert into deposit_keys (id, xpub, next_index)
    select ${key.id}, ${key.text}, ${FIRST_INDEX} from installation
    on conflict (id) do update set xpub = deposit_keys.xpub
    returning next_index`)
  return row.nextIndex
}

/** Also marks the key's index as used, and notes up to where each chain was read. */
export async function insertDepositAddress(tx: Tx, row: Omit<DepositAddress, 'createdAt'>): Promise<void> {
  await tx.run(sql`
    with used as (update deposit_keys set next_index = ${row.keyIndex}::bigint + 1 where id = ${row.keyId})
    insert into deposit_addresses (address, company_id, reference, key_id, key_index, watched_until, read_until)
    select ${row.address}, ${row.companyId}, ${row.reference}, ${row.keyId}, ${row.keyIndex}, ${row.watchedUntil},
      ${READ_UNTIL} from chain_heads`)
}

export const findDepositByReference = (
  q: Queryable,
  key: { companyId: string; reference: string },
): Promise<DepositAddress | undefined> =>
  q.maybe(sql`
    select ${COLUMNS} from deposit_addresses where company_id = ${key.companyId} and reference = ${key.reference}`)

/**
 * Watches an assigned address longer; never again one whose watch is over, because nothing tells what came since.
 * @returns the address; undefined: it is not watched, or is of another key
 */
export async function extendDepositWatch(
  tx: Tx,
  { companyId, reference, keyId }: Pick<DepositAddress, 'companyId' | 'reference' | 'keyId'>,
  { now, watchedUntil }: { now: Date; watchedUntil: Date },
): Promise<string | undefined> {
  const row = await tx.maybe<{ address: string }>(sql`
    update deposit_addresses set watched_until = greatest(watched_until, ${watchedUntil}::timestamptz)
    where company_id = ${companyId} and reference = ${reference} and key_id = ${keyId} and watched_until > ${now}
    returning address`)
  return row?.address
}

/** Whether the address (lower case) was ever assigned, on any chain and for any company. */
export async function isDepositAddress(q: Queryable, address: string): Promise<boolean> {
  return (await q.maybe(sql`select 1 from deposit_addresses where address = ${address}`)) !== undefined
}

/** The same, without addresses of which a company only said that they are its own: no payment there can take money. */
export async function isUsedDeposit(q: Queryable, address: string): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from deposit_addresses d where d.address = ${address} and (d.key_id is not null
      or exists (select 1 from deposit_reservations r where r.address = d.address and r.until_at > now()))`)
  return row !== undefined
}

/**
 * Whether this address (lower case) must not be assigned to an order: it was already assigned or named for a pool, or a
 * company's settlements go there and would pay the order.
 */
export async function isAddressTaken(q: Queryable, address: string): Promise<boolean> {
  const { taken } = await q.one<{ taken: boolean }>(sql`
    select exists (select 1 from deposit_addresses where address = ${address})
      or exists (select 1 from companies where lower(settlement_address) = ${address}) as taken`)
  return taken
}

/** How many addresses are watched at that time or later; counts up to `limit`. */
export async function countWatched(q: Queryable, at: Date, limit: number): Promise<number> {
  const { count } = await q.one<{ count: bigint }>(sql`
    select count(*) as count from (select from deposit_addresses where watched_until > ${at} limit ${limit}) as watched`)
  return Number(count)
}

/** All addresses watched at that time or later. Count them first. */
export async function listWatchedAddresses(q: Queryable, at: Date): Promise<string[]> {
  const rows = await q.many<{ address: string }>(sql`
    select address from deposit_addresses where watched_until > ${at}`)
  return rows.map((row) => row.address)
}

/** Which of the given addresses (lower case) are watched at that time or later. */
export async function listWatchedAmong(q: Queryable, at: Date, addresses: readonly string[]): Promise<Set<string>> {
  const rows = await q.many<{ address: string }>(sql`
    select address from deposit_addresses where address = any(${[...addresses]}::text[]) and watched_until > ${at}`)
  return new Set(rows.map((row) => row.address))
}

/** Which of the given addresses (lower case) were ever assigned. */
export async function listAssignedAmong(q: Queryable, addresses: readonly string[]): Promise<Set<string>> {
  const rows = await q.many<{ address: string }>(sql`
    select address from deposit_addresses where address = any(${[...addresses]}::text[])`)
  return new Set(rows.map((row) => row.address))
}

/** How many addresses of each of these keys were ever assigned; counts up to `limit`. Keys without any are left out. */
export async function countAssignedOf(
  q: Queryable,
  xpubs: readonly string[],
  limit: number,
): Promise<Map<string, number>> {
  const rows = await q.many<{ xpub: string; used: bigint }>(sql`
    select k.xpub, its.used from deposit_keys as k, lateral (
      select count(*) as used from (select from deposit_addresses as d where d.key_id = k.id limit ${limit}) as assigned
    ) as its
    where k.xpub = any(${[...xpubs]}::text[])`)
  return new Map(rows.map(({ xpub, used }) => [xpub, Number(used)]))
}

/**
 * The contracts (lower case) that payments at our addresses were asked for on a chain, also before the settings named
 * another one. A few steps in the index: each looks for the next contract.
 */
export async function listAskedTokens(q: Queryable, chainId: number): Promise<string[]> {
  const next = (after: Sql): Sql => sql`
    select token_address from payments
    where network = ${chainId} and deposit_address is not null and token_address > ${after}
    order by token_address limit 1`
  const rows = await q.many<{ token: string }>(sql`
    with recursive asked as (
      (${next(sql`''`)})
      union all select (${next(sql`asked.token_address`)}) from asked where asked.token_address is not null
    )
    select token_address as token from asked where token_address is not null`)
  return rows.map(({ token }) => token)
}
