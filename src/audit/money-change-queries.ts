import { type Queryable, sql } from '../db/db.ts'
import { plainName } from '../mail/alarm-words.ts'

export type ToldCompany = { id: string; name: string }

/** Names for mails: plain ones. @param accountId with the companies that this user is attached to; null: without */
export async function listToldCompanies(
  q: Queryable,
  ids: readonly string[],
  accountId: string | null,
): Promise<ToldCompany[]> {
  const rows = await q.many<ToldCompany>(sql`
    select id, name from companies
    where id in (select unnest(${[...ids]}::text[])
      union select company_id from super_manager_companies where user_id = ${accountId})
    order by id`)
  return rows.map(({ id, name }) => ({ id, name: plainName(name) }))
}

/** `isReached`: an account that reads mail, and whose owner has shown that the mailbox is theirs. */
export type Person = { name: string; email: string; lang: string; isReached: boolean }

export async function findPerson(q: Queryable, userId: string): Promise<Person | undefined> {
  const person = await q.maybe<Person>(sql`
    select first_name || ' ' || last_name as name, email, lang,
      verified_at is not null and role <> 'Service' as is_reached
    from users where id = ${userId}`)
  return person && { ...person, name: plainName(person.name) }
}

/** `role` is a user's, or `API` for a key. */
export type Doer = { name: string; role: string | null }

/** A person or a key of the audit log (`user:…`, `apiKey:…`); others have only that word. */
export async function findDoer(q: Queryable, actor: string): Promise<Doer> {
  const [kind = '', id = ''] = actor.split(':')
  const row = await (kind === 'user'
    ? q.maybe<Doer>(sql`
        select first_name || ' ' || last_name as name, role from users where id = ${id}`)
    : q.maybe<Doer>(sql`
        select name, 'API' as role from api_keys where ${kind} = 'apiKey' and id = ${id}`))
  return row ? { ...row, name: plainName(row.name) } : { name: actor, role: null }
}
