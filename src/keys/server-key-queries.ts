import { type Queryable, sql, type Tx } from '../db/db.ts'

export type ServerKeyRow = { id: string; purpose: string; sealed: string; createdAt: Date; retiredAt: Date | null }

/** All keys that may still be of use, newest first. */
export async function listServerKeys(q: Queryable, retiredAfter: Date): Promise<ServerKeyRow[]> {
  return q.many<ServerKeyRow>(sql`
    select id, purpose, sealed, created_at, retired_at from server_keys
    where retired_at is null or retired_at > ${retiredAfter} or purpose in ('audit', 'receipt')
    order by id desc`)
}

/** The one key of a purpose that is never rotated. */
export const findServerKey = (
  q: Queryable,
  purpose: string,
): Promise<Pick<ServerKeyRow, 'id' | 'sealed'> | undefined> =>
  q.maybe(sql`select id, sealed from server_keys where purpose = ${purpose}`)

/** One node at a time makes or rotates keys. */
export async function lockServerKeys(tx: Tx): Promise<void> {
  await tx.run(sql`lock table server_keys in share row exclusive mode`)
}

export async function insertServerKey(tx: Tx, key: Omit<ServerKeyRow, 'retiredAt'>): Promise<void> {
  await tx.run(sql`
    insert into server_keys (id, purpose, sealed, created_at)
    values (${key.id}, ${key.purpose}, ${key.sealed}, ${key.createdAt})`)
}

export async function updateServerKeysRetired(tx: Tx, purpose: string, at: Date): Promise<number> {
  return tx.run(sql`
    update server_keys set retired_at = ${at} where purpose = ${purpose} and retired_at is null`)
}

export async function deleteServerKeys(tx: Tx, purpose: string, retiredBefore: Date): Promise<number> {
  return tx.run(sql`delete from server_keys where purpose = ${purpose} and retired_at < ${retiredBefore}`)
}
