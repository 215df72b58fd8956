import { type Db, type Queryable, sql } from '../db/db.ts'

export type Manager = { companyId: string; companyName: string; email: string; firstName: string; lang: string }

/** The active managers of these companies, who are told what happens to them. */
export const listManagers = (db: Db, companyIds: readonly string[]): Promise<Manager[]> =>
  db.many<Manager>(sql`
    select u.company_id, c.name as company_name, u.email, u.first_name, u.lang
    from users u join companies c on c.id = u.company_id
    where u.company_id = any (${[...companyIds]}::text[]) and u.role in ('Manager', 'Association')
      and u.verified_at is not null and u.disabled_at is null`)

/** @returns false when this was already sent */
export const insertNotice = async (q: Queryable, key: string, now: Date): Promise<boolean> =>
  (await q.run(sql`insert into notices_sent (key, sent_at) values (${key}, ${now}) on conflict do nothing`)) === 1

/** Which of these were sent. */
export const listNotices = async (db: Db, keys: readonly string[]): Promise<string[]> =>
  (await db.many<{ key: string }>(sql`select key from notices_sent where key = any(${[...keys]}::text[])`)).map(
    ({ key }) => key,
  )
