import { type Queryable, sql } from '../db/db.ts'

/** Recipients of alarms when OPERATOR_EMAIL is not set. */
export async function listSuperAdminEmails(q: Queryable): Promise<string[]> {
  const rows = await q.many<{ email: string }>(
    sql`select email from users where role = 'SuperAdmin' and disabled_at is null order by id`,
  )
  return rows.map(({ email }) => email)
}
