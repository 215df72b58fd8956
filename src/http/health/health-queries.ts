import { type Queryable, sql } from '../../db/db.ts'

/** Whether a migration is applied, and whether the server is read-only: a replica, or by a setting. */
export const readReadiness = (q: Queryable, id: string): Promise<{ isNewest: boolean; isReadOnly: boolean }> =>
  q.one(sql`
    select exists (select from migrations where id = ${id}) as is_newest,
      current_setting('transaction_read_only') = 'on' as is_read_only`)
