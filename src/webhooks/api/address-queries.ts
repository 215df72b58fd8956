import { type Queryable, sql } from '../../db/db.ts'

export type AddressRow = {
  url: string
  deliveries: number
  delivered: number
  pending: number
  failed: number
  parked: number
  lastDeliveryAt: Date
  /** The earliest due time of waiting deliveries; null when none waits. */
  nextAttemptAt: Date | null
  /** Counts all addresses, including those beyond the limit. */
  total: number
}

/** Addresses that a company's deliveries have gone to since then; the one with the newest delivery first. */
export const listAddresses = (q: Queryable, companyId: string, since: Date, limit: number): Promise<AddressRow[]> =>
  q.many<AddressRow>(sql`
    with addresses as (
      select url, count(*)::integer as deliveries,
        count(*) filter (where status = 'delivered')::integer as delivered,
        count(*) filter (where status = 'pending')::integer as pending,
        count(*) filter (where status = 'failed')::integer as failed,
        count(*) filter (where status = 'parked')::integer as parked,
        max(created_at) as last_delivery_at, min(next_at) as next_attempt_at
      from delivery_states where company_id = ${companyId} and created_at >= ${since} group by url
    )
    select addresses.*, (count(*) over ())::integer as total
    from addresses order by last_delivery_at desc, url limit ${limit}`)

export type FailureRow = { url: string; startedAt: Date; statusCode: number | null; errorCode: string | null }

/** The newest attempt of each address that did not get a 2xx answer; an attempt is never older than its delivery. */
export const listLastFailures = (q: Queryable, companyId: string, since: Date, urls: readonly string[]) =>
  q.many<FailureRow>(sql`
    select distinct on (d.url) d.url, a.started_at, a.status_code, a.error_code
    from deliveries d join delivery_attempts a on a.company_id = d.company_id and a.delivery_id = d.id
    where d.company_id = ${companyId} and d.created_at >= ${since} and d.url = any (${[...urls]}::text[])
      and a.company_id = ${companyId} and a.started_at >= ${since}::timestamptz - interval '1 hour'
      and (a.error_code is not null or a.status_code is null or a.status_code not between 200 and 299)
    order by d.url, a.started_at desc`)
