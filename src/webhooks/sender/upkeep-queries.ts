import { type Db, sql } from '../../db/db.ts'

export type Failures = { failed: number; parked: number }

/** Companies with deliveries that failed permanently or were parked within a period, and still are. */
export const listFailures = (db: Db, from: Date, to: Date): Promise<(Failures & { companyId: string })[]> =>
  db.many(sql`
    select company_id, count(*) filter (where status = 'failed')::integer as failed,
      count(*) filter (where status = 'parked')::integer as parked
    from deliveries where status in ('failed', 'parked') and updated_at >= ${from} and updated_at < ${to}
    group by company_id`)
