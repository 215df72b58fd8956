import { type Queryable, sql, type Tx } from '../../db/db.ts'

/** Native coin that arrived at a deposit address, in its smallest unit (18 decimals). */
export type NativeDeposit = { chainId: number; address: string; nth: number; units: bigint }

/** Native coin that arrived at an address, on all chains. */
export async function listNativeDeposits(q: Queryable, address: string): Promise<NativeDeposit[]> {
  const rows = await q.many<Omit<NativeDeposit, 'units'> & { units: string }>(sql`
    select chain_id, address, nth, units::text from native_deposits where address = ${address.toLowerCase()}
    order by chain_id, nth`)
  return rows.map((row) => ({ ...row, units: BigInt(row.units) }))
}

/** The addresses (lower case) that are derived from keys; the rest of a shared address is its owner's business. */
export async function listKeyedAmong(q: Queryable, addresses: readonly string[]): Promise<string[]> {
  const rows = await q.many<{ address: string }>(sql`
    select address from deposit_addresses where key_id is not null
      and address = any(${addresses.map((one) => one.toLowerCase())}::text[]) order by address`)
  return rows.map(({ address }) => address)
}

/** The same, each with the time of its assignment. */
export const listKeyedSince = (
  q: Queryable,
  addresses: readonly string[],
): Promise<{ address: string; createdAt: Date }[]> =>
  q.many(sql`
    select address, created_at from deposit_addresses where key_id is not null
      and address = any(${addresses.map((one) => one.toLowerCase())}::text[]) order by address`)

/** The addresses whose watching ends by that time. */
export async function listWatchEnding(q: Queryable, addresses: readonly string[], by: Date): Promise<string[]> {
  const rows = await q.many<{ address: string }>(sql`
    select address from deposit_addresses
    where address = any(${[...addresses]}::text[]) and watched_until <= ${by} order by address`)
  return rows.map(({ address }) => address)
}

/**
 * Records what an address holds beyond the recorded amount. Locks the row of the address, which serialises nodes.
 * @returns 1 when there is more
 */
export async function insertNativeGain(
  tx: Tx,
  { chainId, address, balance, block }: { chainId: number; address: string; balance: bigint; block: bigint },
): Promise<number> {
  await tx.run(sql`select 1 from deposit_addresses where address = ${address} for update`)
  return tx.run(sql`
    insert into native_deposits (chain_id, address, nth, units, block_number)
    select ${chainId}, ${address}, known.count + 1, ${String(balance)}::numeric - known.units, ${block}
    from (select count(*)::integer as count, coalesce(sum(units), 0) as units from native_deposits
      where chain_id = ${chainId} and address = ${address}) as known
    where ${String(balance)}::numeric > known.units`)
}
