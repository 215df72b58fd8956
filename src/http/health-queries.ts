import { type Queryable, sql } from '../db/db.ts'
import { AppError } from '../kernel/errors.ts'

/** @throws DATABASE_UNAVAILABLE when the newest migration is not applied */
export async function checkSchema(q: Queryable, newest: string): Promise<void> {
  const row = await q.maybe<{ id: string }>(sql`select id from migrations where id = ${newest}`)
  if (!row)
    throw new AppError('DATABASE_UNAVAILABLE', { message: `The database lacks migration ${newest}.`, retryAfter: 5 })
}
