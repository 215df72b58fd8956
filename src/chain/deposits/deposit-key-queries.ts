import { type Queryable, sql, type Tx } from '../../db/db.ts'
import { FIRST_INDEX } from './deposit-queries.ts'

type Key = { id: string; text: string }

/** Records that the operator compared the key's first addresses with the wallet. The first confirmation stays. */
export const upsertKeyConfirmed = (tx: Tx, key: Key, { at, by }: { at: Date; by: string }): Promise<number> =>
  tx.run(sql`
    insert into deposit_keys (id, xpub, confirmed_at, confirmed_by, next_index)
    select ${key.id}, ${key.text}, ${at}::timestamptz, ${by}, ${FIRST_INDEX} from installation
    on conflict (id) do update set confirmed_at = coalesce(deposit_keys.confirmed_at, excluded.confirmed_at),
      confirmed_by = coalesce(deposit_keys.confirmed_by, excluded.confirmed_by)`)

/** Reserves a key for one company. @returns false when it belongs to another one, or to the operator */
export async function claimDepositKey(tx: Tx, key: Key, companyId: string): Promise<boolean> {
  const row = await tx.one<{ companyId: string | null }>(sql`
    insert into deposit_keys (id, xpub, company_id, next_index)
    select ${key.id}, ${key.text}, ${companyId}, ${FIRST_INDEX} from installation
    on conflict (id) do update set xpub = deposit_keys.xpub returning company_id`)
  return row.companyId === companyId
}

/** The keys of a company's own wallets, oldest first. */
export const listCompanyKeys = (q: Queryable, companyId: string): Promise<{ id: string; xpub: string }[]> =>
  q.many(sql`select id, xpub from deposit_keys where company_id = ${companyId} order by created_at, id`)

/** The keys whose addresses were confirmed. */
export async function listConfirmedKeys(q: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await q.many<{ id: string }>(sql`
    select id from deposit_keys where id = any(${[...ids]}::text[]) and confirmed_at is not null`)
  return new Set(rows.map(({ id }) => id))
}

export type KeyAddress = {
  keyIndex: bigint
  address: string
  companyId: string
  /** Code of the order that it was assigned to. */
  code: string | null
  createdAt: Date
  /** How many transfers arrived, on all chains. */
  received: string
}

/** Addresses of a key, ordered by index. @param after the last index of the previous page, -1 at first */
export const listKeyAddresses = (q: Queryable, keyId: string, after: bigint, limit: number): Promise<KeyAddress[]> =>
  q.many(sql`
    select d.key_index, d.address, d.company_id, d.created_at,
      (select o.code from payments p join orders o on o.company_id = p.company_id and o.id = p.order_id
        where p.deposit_address = d.address limit 1) as code,
      (select count(*)::text from chain_transfers t where t.to_address = d.address and t.status = 'seen') as received
    from deposit_addresses d where d.key_id = ${keyId} and d.key_index > ${after}
    order by d.key_index limit ${limit}`)

/** How many addresses were given out and received money, and the longest run of unused ones before the last used. */
export async function findKeyUse(
  q: Queryable,
  keyId: string,
): Promise<{ assigned: number; used: number; largestGap: number }> {
  const row = await q.one<{ assigned: bigint; used: bigint; largestGap: bigint }>(sql`
    with used as (
      select d.key_index, d.key_index - coalesce(lag(d.key_index) over (order by d.key_index), -1) - 1 as gap
      from deposit_addresses d
      where d.key_id = ${keyId} and exists (select 1 from chain_transfers t where t.to_address = d.address)
    )
    select count(*) as used, coalesce(max(gap), 0) as largest_gap,
      (select count(*) from deposit_addresses where key_id = ${keyId}) as assigned
    from used`)
  return { assigned: Number(row.assigned), used: Number(row.used), largestGap: Number(row.largestGap) }
}

/** Every key of this database, of the operator and of companies. */
export async function listKeys(q: Queryable): Promise<string[]> {
  const rows = await q.many<{ xpub: string }>(sql`select xpub from deposit_keys order by created_at, id`)
  return rows.map(({ xpub }) => xpub)
}
