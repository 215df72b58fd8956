import { type Db, sql, type Tx } from '../../db/db.ts'

export type FailureSummary = {
  companyId: string
  companyName: string
  failed: number
  parked: number
  /** Newest first, at most 20. */
  deliveryIds: string[]
}

/** Companies with deliveries that failed for good, or were parked, in a span of time, and are so still. */
export const listFailures = (db: Db, from: Date, to: Date): Promise<FailureSummary[]> =>
  db.many<FailureSummary>(sql`
    select d.company_id, c.name as company_name, count(*) filter (where d.status = 'failed')::integer as failed,
      count(*) filter (where d.status = 'parked')::integer as parked,
      (array_agg(d.id order by d.updated_at desc))[1:20] as delivery_ids
    from deliveries d join companies c on c.id = d.company_id
    where d.status in ('failed', 'parked') and d.updated_at >= ${from} and d.updated_at < ${to}
    group by d.company_id, c.name`)

export type Manager = { companyId: string; email: string; firstName: string; lang: string }

/** The active managers, who get mails about webhooks. */
export const listManagers = (db: Db, companyIds: readonly string[]): Promise<Manager[]> =>
  db.many<Manager>(sql`
    select company_id, email, first_name, lang from users
    where company_id = any (${[...companyIds]}::text[]) and role in ('Manager', 'Association')
      and verified_at is not null and disabled_at is null`)

/** @returns false when this was already sent */
export const insertNotice = async (tx: Tx, key: string, now: Date): Promise<boolean> =>
  (await tx.run(sql`insert into notices_sent (key, sent_at) values (${key}, ${now}) on conflict do nothing`)) === 1
