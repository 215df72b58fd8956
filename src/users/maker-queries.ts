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
 * Two accounts created by the same member of staff, or an account and its creator, count as one person; otherwise
 * whoever may invite could act as both. The account that founded the company and operator accounts do not count as such
 * creators.
 */
export const isOnlyStaff = ({ role, madeBy }: Maker): boolean =>
  madeBy !== null && role !== 'SuperAdmin' && role !== 'SuperManager'

/** Of these accounts, and it itself, those that count as one person with this one (`isOnlyStaff`). By id. */
export async function listAccountsOfPerson(
  q: Queryable,
  id: string,
  others: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await q.many<Maker & { other: string }>(sql`
    with recursive makers as (
      select id as origin, id, role, made_by from users where id = any(${[id, ...others]}::text[])
      union select m.origin, u.id, u.role, u.made_by from makers m join users u on u.id = m.made_by)
    select b.origin as other, a.id, a.role, a.made_by from makers a join makers b on b.id = a.id where a.origin = ${id}`)
  return new Set([id, ...rows.filter(isOnlyStaff).map(({ other }) => other)])
}

/** Who created this key, as far as that is recorded. */
export const findKeyMaker = (q: Queryable, keyId: string): Promise<{ id: string; role: UserRole } | undefined> =>
  q.maybe(sql`select u.id, u.role from api_keys k join users u on u.id = k.created_by where k.id = ${keyId}`)

/** As people read it who decide what another wrote. */
export type Writer = {
  /** `user:<id>`, `service:<id>`, or `apiKey:<id>`. */
  by: string
  name: string | null
  /** Of a key: the name of whoever created it. */
  keyOf: string | null
}

/** By the names that were asked for (`by`). */
export async function listWriters(q: Queryable, writers: readonly string[]): Promise<ReadonlyMap<string, Writer>> {
  const rows = await q.many<Omit<Writer, 'by'> & { id: string }>(sql`
    select id, first_name || ' ' || last_name as name, null as key_of from users where id = any(${writers.map(idOfUser)}::text[])
    union all select k.id, k.name, u.first_name || ' ' || u.last_name from api_keys k left join users u on u.id = k.created_by
      where k.id = any(${writers.map(idOfUser)}::text[])`)
  const known = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    writers.map((by) => {
      const { name = null, keyOf = null } = known.get(idOfUser(by)) ?? {}
      return [by, { by, name, keyOf }]
    }),
  )
}

/**
 * Locks who approves and who approved before, each named as `user:<id>`, in one order: two who approve at once would
 * otherwise wait for each other.
 */
export async function lockApprovers(tx: Tx, by: string, first: string | null): Promise<void> {
  await lockUsersById(tx, (first === null ? [by] : [by, first]).map(idOfUser))
}

/** What whoever gave a word must still be able to do for it to count: one of these roles, for this company. */
export type Standing = { companyId: string; roles: readonly UserRole[] }

/**
 * The person behind a word that counts as one of two: for a refund's destination, for a settlement. Undefined if it
 * counts no longer: the person was disabled, left the company or has another role since, or the key was revoked; and
 * for a payer. Null: who created the key is not recorded. Nobody is locked, because whoever is thrown out at this very
 * moment spoke before.
 * @param name `user:<id>`, `service:<id>`, or `apiKey:<id>` for the person who created that key
 */
export async function findSpeaker(
  q: Queryable,
  name: string,
  { companyId, roles }: Standing,
): Promise<string | null | undefined> {
  const [kind = '', id = ''] = name.split(':')
  if (kind === 'apiKey') {
    const key = await q.maybe<{ createdBy: string | null }>(sql`
      select created_by from api_keys where id = ${id} and company_id = ${companyId} and revoked_at is null`)
    if (!key || key.createdBy === null) return key?.createdBy
    return findSpeaker(q, `user:${key.createdBy}`, { companyId, roles })
  }
  if (kind !== 'user' && kind !== 'service') return undefined
  const person = await q.maybe<{ id: string }>(sql`
    select u.id from users u where u.id = ${id} and u.disabled_at is null and u.role = any(${[...roles]}::text[])
      and (u.role = 'SuperAdmin'
        or u.company_id = ${companyId} and u.role not in ('SuperManager', 'SimpleUser')
        or u.role = 'SuperManager' and exists
          (select 1 from super_manager_companies s where s.user_id = u.id and s.company_id = ${companyId}))`)
  return person?.id
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
