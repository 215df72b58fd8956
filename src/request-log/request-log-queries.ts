import { joinSql, openRows, type Queryable, type Sql, sql, type Tx, unnamed } from '../db/db.ts'
import { toIsoText } from '../kernel/clock.ts'

export type LoggedRequest = {
  /** Empty: no company (operators, customers, people whose account waits). */
  companyId: string
  id: string
  requestId: string
  at: Date
  actor: string
  method: string
  path: string
  status: number
  errorCode: string | null
  durationMs: number
  ip: string
  userAgent: string | null
}

/** @throws unique violation when a row exists already */
export const insertRequests = (q: Queryable, rows: readonly LoggedRequest[]): Promise<number> => q.run(insertSql(rows))

/** For rows that may exist already, because it is unknown whether an earlier attempt to write them was committed. */
export const insertMissingRequests = (q: Queryable, rows: readonly LoggedRequest[]): Promise<number> =>
  q.run(sql`${insertSql(rows)} on conflict do nothing`)

const rowsOf = openRows<LoggedRequest>([
  ['company_id', 'text', (row) => row.companyId],
  ['id', 'text', (row) => row.id],
  ['request_id', 'text', (row) => row.requestId],
  ['at', 'timestamptz', (row) => toIsoText(row.at)],
  ['actor', 'text', (row) => row.actor],
  ['method', 'text', (row) => row.method],
  ['path', 'text', (row) => row.path],
  ['status', 'integer', (row) => String(row.status)],
  ['error_code', 'text', (row) => row.errorCode],
  ['duration_ms', 'integer', (row) => String(row.durationMs)],
  ['ip', 'text', (row) => row.ip],
  ['user_agent', 'text', (row) => row.userAgent],
])

const insertSql = (rows: readonly LoggedRequest[]): Sql => sql`
    insert into request_log (company_id, id, request_id, at, actor, method, path, status, error_code, duration_ms, ip,
      user_agent)
    select coalesce(company_id, ''), id, request_id, at, actor, method, coalesce(path, ''), status, error_code,
      duration_ms, ip, user_agent
    from (${rowsOf(rows)}) as r`

export type RequestFilter = {
  /** Null: all companies. */
  companyIds: readonly string[] | null
  requestId: string | null
  isFailed: boolean
  method: string | null
  beforeId: string | null
  limit: number
}

/** Newest first, with the name of the key or the person. */
export function listRequests(
  q: Queryable,
  filter: RequestFilter,
): Promise<(LoggedRequest & { name: string | null })[]> {
  const conditions: Sql[] = []
  if (filter.companyIds !== null) conditions.push(sql`r.company_id = any(${filter.companyIds})`)
  if (filter.requestId !== null) conditions.push(sql`r.request_id = ${filter.requestId}`)
  if (filter.isFailed) conditions.push(sql`r.status >= 400`)
  if (filter.method !== null) conditions.push(sql`r.method = ${filter.method}`)
  if (filter.beforeId !== null) conditions.push(sql`r.id < ${filter.beforeId}`)
  return q.many(
    unnamed(sql`
      select r.*, case when person.id is not null then person.first_name || ' ' || person.last_name
        else key.name end as name
      from (select * from request_log r where ${joinSql(conditions, ' and ')} order by r.id desc limit ${filter.limit}) r
      left join users person on r.actor = 'user:' || person.id
      left join api_keys key on r.actor = 'apiKey:' || key.id
      order by r.id desc`),
  )
}

/** One worker at a time: it holds this until its transaction ends. @returns false: another trims */
export const takesTrim = async (tx: Tx): Promise<boolean> =>
  (
    await tx.one<{ taken: boolean }>(sql`
    select pg_try_advisory_xact_lock(hashtextextended('request log trim', 0)) as taken`)
  ).taken

/**
 * Deletes all but the newest of each company. The companies come from their own table: to list those of the log is to
 * read all of it.
 * @param limit how many of a company, and five times as many in all
 * @returns how many; fewer than `limit`: there are no more
 */
export const deleteSurplusRequests = (q: Queryable, keep: number, limit: number): Promise<number> =>
  q.run(sql`
    delete from request_log where (company_id, id) in (
      select r.company_id, r.id from (select id from companies union all select '') c
      cross join lateral (select company_id, id from request_log where company_id = c.id
        order by id desc offset ${keep} limit ${limit}) r
      limit ${5 * limit})`)
