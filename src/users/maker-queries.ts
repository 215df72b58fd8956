import { type Queryable, sql, type Tx } from '../db/db.ts'
import type { UserRole } from '../http/actor.ts'
import { lockUsersById } from './user-queries.ts'

/** An account that created two others, directly or indirectly; an account counts as its own creator. */
export type Maker = { id: string; role: UserRole; madeBy: string | null }

/** @param name `user:<id>` */
const idOfUser = (name: string): string => name.slice(name.indexOf(':') + 1)

/**
 * Common creators of two accounts: empty if no account created both, and neither created the other. Named as
 * `user:<id>`.
 */
export function listCommonMakers(q: Queryable, one: string, other: string): Promise<Maker[]> {
  const ids = [one, other].map(idOfUser)
  return q.many<Maker>(sql`
    with recursive makers as (
      select id as origin, id, role, made_by from users where id = any(${ids}::text[])
      union select m.origin, u.id, u.role, u.made_by from makers m join users u on u.id = m.made_by)
    select a.id, a.role, a.made_by from makers a join makers b on b.id = a.id and b.origin > a.origin`)
}

/**
 * Locks who approves and who approved before, each named as `user:<id>`, in one order: two who approve at once would
 * otherwise wait for each other.
 */
export async function lockApprovers(tx: Tx, by: string, first: string | null): Promise<void> {
  await lockUsersById(tx, (first === null ? [by] : [by, first]).map(idOfUser))
}

/**
 * Whether an account, named as `user:<id>`, is a SuperAdmin who can log in; it stays one until the transaction ends.
 */
export async function isOperator(tx: Tx, name: string): Promise<boolean> {
  const row = await tx.maybe(sql`
    select 1 from users where id = ${idOfUser(name)} and role = 'SuperAdmin' and disabled_at is null for share`)
  return row !== undefined
}

/**
 * Sets the creator of an account: whoever registered, invited or approved it, or gave it a role that decides about
 * money. Whom the account created itself, directly or indirectly, does not become its creator: two accounts of one
 * person could otherwise name each other, and the person would be the creator of neither.
 */
export async function updateUserMaker(tx: Tx, id: string, madeBy: string): Promise<void> {
  // one after the other: several at the same moment could close a circle
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('users.made-by'))`)
  if ((await listCommonMakers(tx, id, madeBy)).some((maker) => maker.id === id)) return
  await tx.run(sql`update users set made_by = ${madeBy} where id = ${id}`)
}

/** The user who created an API key; null if none did. */
export async function findKeyMaker(q: Queryable, keyId: string): Promise<string | null> {
  const row = await q.maybe<{ createdBy: string | null }>(sql`select created_by from api_keys where id = ${keyId}`)
  return row?.createdBy ?? null
}
