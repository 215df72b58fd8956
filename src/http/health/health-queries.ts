import { type Queryable, sql } from '../../db/db.ts'

export async function hasMigration(q: Queryable, id: string): Promise<boolean> {
  return (await q.maybe(sql`select id from migrations where id = ${id}`)) !== undefined
}
