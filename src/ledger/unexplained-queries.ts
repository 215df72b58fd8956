import { type Queryable, type Sql, sql } from '../db/db.ts'
import type { Difference, DifferenceSource } from './difference-queries.ts'

/** Whose differences are searched: all companies' when null. */
type Search = { source: DifferenceSource; companyId: string | null }

/**
 * What a comparison finds, numbered in its order, each with whether a person has explained it, to the unit, and whether
 * it is stored as open.
 */
const judged = (found: Sql, { source, companyId }: Search): Sql => {
  const known = sql`select 1 from ledger_differences k
    where k.company_id = d.company_id and ${companyId === null ? sql`true` : sql`k.company_id = ${companyId}`}
      and k.source = ${source} and k.subject = d.subject and k.what = d.what`
  return sql`
    select d.*,
      exists (${known} and k.status = 'explained' and k.booked = d.booked and k.expected = d.expected) as is_explained,
      exists (${known} and k.status = 'open') as is_open
    from (select f.*, row_number() over () as place from (${found}) as f) as d`
}

/**
 * The first `limit` differences that nobody has explained, and any that is stored as open: what the limit left out must
 * not look as if it were gone.
 */
export const listUnexplained = (q: Queryable, search: Search, found: Sql, limit: number): Promise<Difference[]> =>
  q.many(sql`
    select company_id, subject, what, booked, expected from (
      select j.*, row_number() over (partition by is_explained order by place) as nth
      from (${judged(found, search)}) as j
    ) as u
    where not is_explained and (nth <= ${limit} or is_open) order by place`)

export type FirstUnexplained = { explained: number; difference: Difference | undefined }

/** The first difference that nobody has explained, and how many are. */
export async function findUnexplained(q: Queryable, search: Search, found: Sql): Promise<FirstUnexplained> {
  type Row = { explained: number; companyId: string | null } & Omit<Difference, 'companyId'>
  const { explained, companyId, ...rest } = await q.one<Row>(sql`
    with judged as materialized (${judged(found, search)})
    select (select count(*) from judged where is_explained)::int as explained,
      u.company_id, u.subject, u.what, u.booked, u.expected
    from (select 1) as one
    left join (select * from judged where not is_explained order by place limit 1) as u on true`)
  return { explained, difference: companyId === null ? undefined : { companyId, ...rest } }
}
