import { type Queryable, sql } from '../db/db.ts'
import { plainName } from '../mail/alarm-words.ts'

export type ToldCompany = { id: string; name: string }

/** @param accountId with the companies that this user is attached to; null: without */
export const listToldCompanies = (
  q: Queryable,
  ids: readonly string[],
  accountId: string | null,
): Promise<ToldCompany[]> =>
  q.many<ToldCompany>(sql`
    select id, name from companies
    where id in (select unnest(${[...ids]}::text[])
      union select company_id from super_manager_companies where user_id = ${accountId})
    order by id`)

/** `isReached`: an account that reads mail, and whose owner has shown that the mailbox is theirs. */
export type Person = { name: string; email: string; lang: string; isReached: boolean }

export const findPerson = (q: Queryable, userId: string): Promise<Person | undefined> =>
  q.maybe<Person>(sql`
    select first_name || ' ' || last_name as name, email, lang,
      verified_at is not null and role <> 'Service' as is_reached
    from users where id = ${userId}`)

/** A person or a key of the audit log (`user:…`, `apiKey:…`); others have only that word. */
export async function findActorName(q: Queryable, actor: string): Promise<string> {
  const [kind = '', id = ''] = actor.split(':')
  const row = await (kind === 'user'
    ? q.maybe<{ name: string }>(sql`
        select first_name || ' ' || last_name || ' (' || role || ')' as name from users where id = ${id}`)
    : q.maybe<{ name: string }>(sql`select name from api_keys where ${kind} = 'apiKey' and id = ${id}`))
  if (!row) return actor
  return kind === 'apiKey' ? `${plainName(row.name)} (API)` : row.name
}
