import { type Queryable, sql, type Tx } from '../db/db.ts'

/** A place where books and facts differ; amounts in USDC units, as text. */
export type Difference = {
  companyId: string
  /** The subject: an order, a refund, a settlement, a journal. */
  subject: string
  what: string
  booked: string
  expected: string
}

/** What was compared with the books. */
export const DIFFERENCE_SOURCES = ['books', 'transfers', 'balances', 'providers'] as const
export type DifferenceSource = (typeof DIFFERENCE_SOURCES)[number]

export const DIFFERENCE_STATUSES = ['open', 'explained', 'gone'] as const
export type DifferenceStatus = (typeof DIFFERENCE_STATUSES)[number]

/** A difference, stored until it is explained or gone. */
export type KnownDifference = Difference & {
  id: string
  source: DifferenceSource
  status: DifferenceStatus
  explainedBy: string | null
  reason: string | null
  foundAt: Date
  updatedAt: Date
}

/** Owner of the operator's wallets, whose money belongs to no single company. */
export const OPERATOR = ''

const COLUMNS = sql`company_id, id, source, subject, what, booked, expected, status, explained_by, reason, found_at,
  updated_at`

/** Whether it is already explained, to the unit. */
export async function isExplained(q: Queryable, source: DifferenceSource, one: Difference): Promise<boolean> {
  const row = await q.maybe(sql`
    select 1 from ledger_differences
    where company_id = ${one.companyId} and source = ${source} and subject = ${one.subject} and what = ${one.what}
      and booked = ${one.booked} and expected = ${one.expected} and status = 'explained'`)
  return row !== undefined
}

/** Stores a difference, or updates the figures of the open one about the same subject. @returns whether it is new */
export async function upsertDifference(
  tx: Tx,
  { id, source, at, ...one }: Difference & { id: string; source: DifferenceSource; at: Date },
): Promise<boolean> {
  const row = await tx.one<{ fresh: boolean }>(sql`
    insert into ledger_differences as known (company_id, id, source, subject, what, booked, expected, found_at, updated_at)
    values (${one.companyId}, ${id}, ${source}, ${one.subject}, ${one.what}, ${one.booked}, ${one.expected}, ${at}, ${at})
    on conflict (company_id, source, subject, what) where status = 'open'
    do update set booked = excluded.booked, expected = excluded.expected,
      updated_at = greatest(excluded.updated_at, known.updated_at + interval '1 millisecond')
    returning known.id = ${id} as fresh`)
  return row.fresh
}

/** An open difference as it was read. Found once more, it has another time, whichever node's clock is behind. */
export type ReadDifference = Pick<KnownDifference, 'id' | 'updatedAt'>

/** @param of.subjects null: all */
export const listOpenDifferences = (
  q: Queryable,
  of: { companyId: string; source: DifferenceSource; subjects: readonly string[] | null },
): Promise<ReadDifference[]> =>
  q.many<ReadDifference>(sql`
    select id, updated_at from ledger_differences
    where company_id = ${of.companyId} and source = ${of.source} and status = 'open'
      and (${of.subjects === null} or subject = any(${[...(of.subjects ?? [])]}::text[]))`)

/** An open fault of a balance, with the chain that it is about. */
export type OpenBalance = ReadDifference & Pick<Difference, 'companyId' | 'subject'> & { chainId: number }

export const listOpenBalances = (q: Queryable): Promise<OpenBalance[]> =>
  q.many<OpenBalance>(sql`
    select company_id, id, subject, updated_at, substring(what, ' on chain ([0-9]+)$')::integer as chain_id
    from ledger_differences where source = 'balances' and status = 'open'`)

/** Marks all differences of a company and source as gone, except these. */
export const updateDifferencesGone = (
  tx: Tx,
  scope: {
    companyId: string
    source: DifferenceSource
    but: readonly string[]
    /** Only these subjects were checked; null: all. */
    subjects: readonly string[] | null
    /** Only what was read before the question was asked; null: all. */
    known: readonly ReadDifference[] | null
    at: Date
  },
): Promise<number> =>
  tx.run(sql`
    update ledger_differences set status = 'gone', updated_at = ${scope.at}
    where company_id = ${scope.companyId} and source = ${scope.source} and status = 'open'
      and (${scope.subjects === null} or subject = any(${[...(scope.subjects ?? [])]}::text[]))
      and (${scope.known === null} or (id, updated_at) in (select * from unnest(
        ${(scope.known ?? []).map(({ id }) => id)}::text[],
        ${(scope.known ?? []).map(({ updatedAt }) => updatedAt)}::timestamptz[])))
      and not (subject || chr(10) || what) = any(${[...scope.but]}::text[])`)

/** What a person had to look up is known now: the difference is gone, even if somebody has explained it. */
export const updateDifferencesAnswered = (
  tx: Tx,
  of: { companyId: string; source: DifferenceSource; subject: string; at: Date },
): Promise<number> =>
  tx.run(sql`
    update ledger_differences set status = 'gone', updated_at = ${of.at}
    where company_id = ${of.companyId} and source = ${of.source} and subject = ${of.subject}
      and status in ('open', 'explained')`)

export const keyOfDifference = ({ subject, what }: Pick<Difference, 'subject' | 'what'>): string =>
  `${subject}\n${what}`

/** The oldest difference that blocks this company: its own, or one of the operator's wallets. */
export const findOpenDifference = (q: Queryable, companyId: string): Promise<KnownDifference | undefined> =>
  q.maybe(sql`
    select ${COLUMNS} from ledger_differences
    where company_id in (${companyId}, ${OPERATOR}) and status = 'open' order by found_at, id limit 1`)

/** Newest first. */
export const listKnownDifferences = (
  q: Queryable,
  filter: { companyIds: readonly string[] | null; status: string | null; limit: number; offset: number },
): Promise<KnownDifference[]> =>
  q.many(sql`
    select ${COLUMNS} from ledger_differences
    where (${filter.companyIds === null} or company_id = any(${filter.companyIds ?? []}))
      and (${filter.status}::text is null or status = ${filter.status})
    order by found_at desc, id desc limit ${filter.limit} offset ${filter.offset}`)

export const findDifference = (q: Queryable, id: string): Promise<KnownDifference | undefined> =>
  q.maybe(sql`select ${COLUMNS} from ledger_differences where id = ${id}`)

export const lockDifference = (tx: Tx, id: string): Promise<KnownDifference | undefined> =>
  tx.maybe(sql`select ${COLUMNS} from ledger_differences where id = ${id} for update`)

export const updateDifferenceExplained = (
  tx: Tx,
  { companyId, id }: Pick<KnownDifference, 'companyId' | 'id'>,
  { by, reason, at }: { by: string; reason: string; at: Date },
): Promise<number> =>
  tx.run(sql`
    update ledger_differences set status = 'explained', explained_by = ${by}, reason = ${reason}, updated_at = ${at}
    where company_id = ${companyId} and id = ${id}`)

/** Stores when a company's books were last compared with the facts; never moves back in time. */
export const upsertBookCheck = (q: Queryable, companyId: string, at: Date): Promise<number> =>
  q.run(sql`
    insert into book_checks as known (company_id, checked_at) values (${companyId}, ${at})
    on conflict (company_id) do update set checked_at = greatest(known.checked_at, excluded.checked_at)`)

export const findBookCheck = (q: Queryable, companyId: string): Promise<{ checkedAt: Date } | undefined> =>
  q.maybe(sql`select checked_at from book_checks where company_id = ${companyId}`)

/**
 * Companies that have books: an order, or a check. `since`: their last check, or else their first order.
 */
const booked = sql`
  select c.id, coalesce(k.checked_at, first.created_at) as since, k.checked_at
  from companies c
  left join book_checks k on k.company_id = c.id
  left join lateral (select o.created_at from orders o where o.company_id = c.id and k.company_id is null
    order by o.id limit 1) first on true
  where k.company_id is not null or first.created_at is not null`

/** Companies that have books, the longest unchecked first. */
export async function listBookedCompanies(q: Queryable): Promise<string[]> {
  const rows = await q.many<{ id: string }>(sql`
    select id from (${booked}) b order by checked_at nulls first, id`)
  return rows.map(({ id }) => id)
}

/** Of the company whose books were not compared for longest; null: no company has books yet. */
export const oldestBookCheck = sql`(select min(since) from (${booked}) b)`

/** Whether a company has more payments than this. Reads no further than that. */
export async function hasMorePayments(q: Queryable, companyId: string, count: number): Promise<boolean> {
  const { found } = await q.one<{ found: bigint }>(sql`
    select count(*) as found from (select 1 from payments where company_id = ${companyId} limit ${count + 1}) as first`)
  return found > count
}
