import { type Queryable, sql } from '../db/db.ts'

/** Recipients of alarms when OPERATOR_EMAIL is not set. */
export async function listSuperAdminEmails(q: Queryable): Promise<string[]> {
  const rows = await q.many<{ email: string }>(
    sql`select email from users where role = 'SuperAdmin' and disabled_at is null order by id`,
  )
  return rows.map(({ email }) => email)
}

export async function findCompanyName(q: Queryable, id: string): Promise<string | undefined> {
  return (await q.maybe<{ name: string }>(sql`select name from companies where id = ${id}`))?.name
}

export async function findShortCode(q: Queryable, companyId: string, orderId: string): Promise<string | undefined> {
  const row = await q.maybe<{ shortCode: string }>(
    sql`select short_code from orders where company_id = ${companyId} and id = ${orderId}`,
  )
  return row?.shortCode
}
