import { type Queryable, sql } from '../db/db.ts'

/** Who hears of alarms when no address is set for them. */
export async function listSuperAdminEmails(q: Queryable): Promise<string[]> {
  const rows = await q.many<{ email: string }>(
    sql`select email from users where role = 'SuperAdmin' and disabled_at is null order by id`,
  )
  return rows.map(({ email }) => email)
}
