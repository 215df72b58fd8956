import { joinSql, json, type Queryable, type Sql, sql, type Tx, unnamed } from '../db/db.ts'
import type { PollTopic } from '../db/polling.ts'
import { MINUTE } from '../kernel/clock.ts'
import type { Doubt } from './doubts.ts'
import type { Answer, Purpose, ScreeningStatus, SourceId, Verdict } from './screening.ts'

/** One address of one subject. `subjectId` is the id of a payment, refund or settlement. */
export type Screening = {
  companyId: string
  id: string
  purpose: Purpose
  subjectId: string
  orderId: string | null
  network: number | null
  /** In lower case; null: a payment provider's own screening. */
  address: string | null
  status: ScreeningStatus
  /** A provider blocks all of the payment, not only amounts that it names; null: an address, or by an older node. */
  isWhole: boolean | null
  /** How often its sources were asked. */
  checks: number
  toldAt: Date | null
  decidedBy: string | null
  reason: string | null
  /** The doubts that a person's release outweighs; null: nobody released it. */
  accepted: Doubt[] | null
  /** When each source was last asked, also where it said the same again; null: never, or by an older node. */
  lastAsked: LastAsked | null
  /** Of a payment: how much of this sender's was known when it was asked about, or while it waits; null: not known. */
  shownUnits: bigint | null
  openedAt: Date
  updatedAt: Date
}

/** ISO times. */
export type LastAsked = Partial<Record<SourceId, string>>

export type KeptAnswer = Omit<Answer, 'evidence'> & { id: string; source: SourceId; at: Date }

/** What waits only for a person is screened again from time to time: a risk may have been corrected. */
export const PERSON_GAP_MS = 15 * MINUTE

/** All share one lane, because each source has its own circuit. */
export const SCREENING_POLLS: PollTopic = {
  kind: 'screening',
  table: { table: sql`screenings`, lane: sql`'screening'::text` },
  longest: [{ ms: PERSON_GAP_MS }],
}

/** Before its column a release kept no doubts: they are what the sources had said last. */
const ACCEPTED = sql`coalesce(accepted, case when status = 'released' then (
  select coalesce(jsonb_agg(jsonb_build_object('source', a.source, 'verdict', a.verdict, 'level', a.level,
      'reasons', a.reasons)), '[]')
    from (select distinct on (source) source, verdict, level, reasons from screening_answers
      where company_id = screenings.company_id and screening_id = screenings.id order by source, id desc) a
    where a.verdict in ('hold', 'unavailable')) end) as accepted`

const COLUMNS = sql`company_id, id, purpose, subject_id, order_id, network, address, status, is_whole, checks, told_at,
  decided_by, reason, ${ACCEPTED}, last_asked, shown_units, opened_at, updated_at`

type Row = Omit<Screening, 'shownUnits'> & { shownUnits: string | null }
const toScreening = <Given extends Row>(row: Given): Omit<Given, 'shownUnits'> & Pick<Screening, 'shownUnits'> => ({
  ...row,
  shownUnits: row.shownUnits === null ? null : BigInt(row.shownUnits),
})
const maybeScreening = async (q: Queryable, query: Sql): Promise<Screening | undefined> => {
  const row = await q.maybe<Row>(query)
  return row && toScreening(row)
}

export type SubjectKey = { companyId: string; purpose: Purpose; subjectId: string }

export async function listScreeningsOf(q: Queryable, key: SubjectKey): Promise<Screening[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from screenings
    where company_id = ${key.companyId} and purpose = ${key.purpose} and subject_id = ${key.subjectId} order by id`)
  return rows.map(toScreening)
}

export const findScreening = (q: Queryable, id: string): Promise<Screening | undefined> =>
  maybeScreening(q, sql`select ${COLUMNS} from screenings where id = ${id}`)

export const lockScreening = (tx: Tx, { companyId, id }: Screening): Promise<Screening | undefined> =>
  maybeScreening(tx, sql`select ${COLUMNS} from screenings where company_id = ${companyId} and id = ${id} for update`)

/** What a payment's provider blocks by its own screening. */
export const lockBlock = (tx: Tx, { companyId, purpose, subjectId }: SubjectKey): Promise<Screening | undefined> =>
  maybeScreening(
    tx,
    sql`
      select ${COLUMNS} from screenings where company_id = ${companyId} and purpose = ${purpose}
        and subject_id = ${subjectId} and coalesce(address, '') = '' for update`,
  )

/** A person's release, with the doubts that it outweighs. */
export type Release = { decidedBy: string; reason: string; accepted: Doubt[] }

export type NewScreening = Omit<
  Screening,
  | ('isWhole' | 'checks' | 'toldAt' | 'decidedBy' | 'reason' | 'accepted' | 'lastAsked')
  | ('shownUnits' | 'openedAt' | 'updatedAt')
> & {
  release?: Release | null
  isWhole?: boolean
  units?: bigint | null
  nextCheckAt: Date | null
  at: Date
}

/** @returns false: it exists already */
export const insertScreening = async (tx: Tx, row: NewScreening): Promise<boolean> =>
  (await tx.run(sql`
    insert into screenings (company_id, id, purpose, subject_id, order_id, network, address, status, is_whole, decided_by,
      reason, accepted, shown_units, next_check_at, opened_at, updated_at)
    values (${row.companyId}, ${row.id}, ${row.purpose}, ${row.subjectId}, ${row.orderId}, ${row.network}, ${row.address},
      ${row.status}, ${row.isWhole ?? null}, ${row.release?.decidedBy ?? null}, ${row.release?.reason ?? null},
      ${row.release ? json(row.release.accepted) : null}, ${row.units ?? null}, ${row.nextCheckAt}, ${row.at}, ${row.at})
    on conflict (company_id, purpose, subject_id, coalesce(address, '')) do nothing`)) > 0

export type Reopening = Pick<Screening, 'accepted' | 'shownUnits'>

/** Reopens an old answer or release: it waits, and a person is notified, as if it were new. */
export const reopenScreening = (
  tx: Tx,
  { companyId, id }: Screening,
  { accepted, shownUnits }: Reopening,
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update screenings set status = 'checking', next_check_at = ${now}, checks = 0, told_at = null, opened_at = ${now},
      updated_at = ${now}, accepted = ${accepted === null ? null : json(accepted)}, shown_units = ${shownUnits}
    where company_id = ${companyId} and id = ${id}
      and (status in ('clean', 'released') or status = 'blocked' and purpose = 'sweep')`)

/** More of the sender's money came while it waits. Its time changes, so that nobody decides by less. */
export const growScreening = (
  tx: Tx,
  { companyId, id }: Screening,
  { accepted, shownUnits }: Reopening,
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update screenings set accepted = ${accepted === null ? null : json(accepted)}, shown_units = ${shownUnits},
      updated_at = greatest(${now}::timestamptz, updated_at + interval '1 millisecond')
    where company_id = ${companyId} and id = ${id} and status in ('checking', 'held')`)

/** Whether what the address was screened for will not be paid to it any more. */
export const isDropped = async (q: Queryable, { companyId, purpose, subjectId }: SubjectKey): Promise<boolean> =>
  (
    await q.one<{ dropped: boolean }>(sql`
      select case ${purpose}::text
        when 'refund' then exists (select from refunds where company_id = ${companyId} and id = ${subjectId}
          and status in ('rejected', 'refused', 'settled'))
        when 'settlement' then exists (select from settlements where company_id = ${companyId} and id = ${subjectId}
          and status = 'cancelled')
        else false end as dropped`)
  ).dropped

/** What was to be paid there is dropped: its sources are not asked again, and it waits in no list. */
export const closeScreenings = (q: Queryable, { companyId, purpose, subjectId }: SubjectKey): Promise<number> =>
  q.run(sql`
    update screenings set next_check_at = null
    where company_id = ${companyId} and purpose = ${purpose} and subject_id = ${subjectId}
      and status in ('checking', 'held')`)

/** What was clear is listed now. @returns 0: another node was first */
export const blockScreening = (tx: Tx, { companyId, id }: Screening, now: Date): Promise<number> =>
  tx.run(sql`
    update screenings set status = 'blocked', next_check_at = null, opened_at = ${now}, updated_at = ${now}
    where company_id = ${companyId} and id = ${id} and status in ('clean', 'released')`)

/**
 * What its provider blocks now. A person decides about that, also one who returned less before, and not by what was
 * shown before: its time tells both apart, whichever node's clock is behind.
 */
export const updateBlock = (
  tx: Tx,
  { companyId, id }: Pick<Screening, 'companyId' | 'id'>,
  isWhole: boolean,
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update screenings set is_whole = ${isWhole}, status = 'blocked', decided_by = null, reason = null,
      told_at = case when status = 'blocked' then told_at end,
      opened_at = case when status = 'blocked' then opened_at else ${now}::timestamptz end,
      updated_at = greatest(${now}::timestamptz, updated_at + interval '1 millisecond')
    where company_id = ${companyId} and id = ${id}`)

export type ScreeningChange = {
  status: ScreeningStatus
  nextCheckAt: Date | null
  toldAt?: Date | null
  decidedBy?: string
  reason?: string
  /** Undefined: as before. */
  accepted?: Doubt[]
  /** Sources that were asked now. */
  lastAsked?: LastAsked
  /** A source says something else than before, so that a person who read the old answers has to read it again. */
  isNews?: boolean
}

export const updateScreening = (
  tx: Tx,
  { companyId, id }: Screening,
  change: ScreeningChange,
  now: Date,
): Promise<number> => {
  const asked = change.lastAsked === undefined ? null : json(change.lastAsked)
  return tx.run(sql`
    update screenings set status = ${change.status}, next_check_at = ${change.nextCheckAt},
      told_at = coalesce(${change.toldAt ?? null}, told_at), decided_by = coalesce(${change.decidedBy ?? null}, decided_by),
      reason = coalesce(${change.reason ?? null}, reason),
      accepted = coalesce(${change.accepted === undefined ? null : json(change.accepted)}::jsonb, accepted),
      last_asked = coalesce(last_asked || ${asked}::jsonb, ${asked}::jsonb, last_asked),
      updated_at = case when status <> ${change.status} then ${now}::timestamptz
        when ${change.isNews ?? false} then greatest(${now}::timestamptz, updated_at + interval '1 millisecond')
        else updated_at end
    where company_id = ${companyId} and id = ${id}`)
}

export async function insertAnswer(
  tx: Tx,
  screening: Pick<Screening, 'companyId' | 'id'>,
  { id, source, answer, at }: { id: string; source: SourceId; answer: Answer; at: Date },
): Promise<void> {
  const { verdict, level, reasons, evidence } = answer
  await tx.run(sql`
    insert into screening_answers (company_id, id, screening_id, source, verdict, level, reasons, evidence, at)
    values (${screening.companyId}, ${id}, ${screening.id}, ${source}, ${verdict}, ${level}, ${reasons},
      ${json(evidence ?? null)}, ${at})`)
}

/** The latest answer of each source, in the order in which they were asked. */
export const listLatestAnswers = (
  q: Queryable,
  { companyId, id }: Pick<Screening, 'companyId' | 'id'>,
): Promise<KeptAnswer[]> =>
  q.many<KeptAnswer>(sql`
    select distinct on (source) id, source, verdict, level, reasons, at from screening_answers
    where company_id = ${companyId} and screening_id = ${id} order by source, id desc`)

/** The sources whose latest answer, outages aside, is that the address is listed. */
export const listStandingListings = (
  q: Queryable,
  { companyId, id }: Pick<Screening, 'companyId' | 'id'>,
): Promise<KeptAnswer[]> =>
  q.many<KeptAnswer>(sql`
    select * from (
      select distinct on (source) id, source, verdict, level, reasons, at from screening_answers
      where company_id = ${companyId} and screening_id = ${id} and verdict <> 'unavailable'
      order by source, id desc) a
    where verdict = 'blocked'`)

const NEWEST = 500

/** The newest answers with their evidence, oldest first; `leftOut`: how many older ones there are. */
export async function listAnswers(
  q: Queryable,
  { companyId, id }: Pick<Screening, 'companyId' | 'id'>,
): Promise<{ answers: (KeptAnswer & { evidence: unknown })[]; leftOut: number }> {
  const answers = await q.many<KeptAnswer & { evidence: unknown }>(sql`
    select id, source, verdict, level, reasons, evidence, at from screening_answers
    where company_id = ${companyId} and screening_id = ${id} order by id desc limit ${NEWEST}`)
  answers.reverse()
  if (answers.length < NEWEST) return { answers, leftOut: 0 }
  const { older } = await q.one<{ older: bigint }>(sql`
    select count(*) as older from screening_answers
    where company_id = ${companyId} and screening_id = ${id} and id < ${answers[0]?.id ?? ''}`)
  return { answers, leftOut: Number(older) }
}

/** A screening with its order and the worst of the sources' latest verdicts. */
export type ListedScreening = Omit<Screening, 'accepted' | 'lastAsked' | 'shownUnits'> & {
  orderCode: string | null
  orderShortCode: string | null
  orderStatus: string | null
  answers: { source: SourceId; verdict: Verdict; level: string | null; reasons: string[]; at: string }[]
}

export type ScreeningFilter = {
  companyIds: readonly string[] | null
  /**
   * `open`: a person can still decide about it, which for what was blocked is so for payments only. What is held is
   * asked about again until what it was held for is dropped.
   */
  status: ScreeningStatus | 'open' | null
  purpose: Purpose | null
  code: string | null
}

const filterSql = ({ companyIds, status, purpose, code }: ScreeningFilter): Sql => {
  const parts: Sql[] = []
  if (companyIds !== null) parts.push(sql`s.company_id = any(${companyIds})`)
  if (status === 'open')
    parts.push(sql`(s.status = 'held' and s.next_check_at is not null
      or s.status = 'blocked' and s.purpose = 'payment')`)
  else if (status !== null) parts.push(sql`s.status = ${status}`)
  if (purpose !== null) parts.push(sql`s.purpose = ${purpose}`)
  if (code !== null) parts.push(sql`o.code = ${code}`)
  return sql`from screenings s left join orders o on o.company_id = s.company_id and o.id = s.order_id
    where ${joinSql(parts, ' and ')}`
}

const LISTED = sql`s.company_id, s.id, s.purpose, s.subject_id, s.order_id, s.network, s.address, s.status, s.is_whole, s.checks,
  s.told_at, s.decided_by, s.reason, s.opened_at, s.updated_at, o.code as order_code, o.short_code as order_short_code, o.status as order_status,
  (select coalesce(jsonb_agg(jsonb_build_object('source', a.source, 'verdict', a.verdict, 'level', a.level,
      'reasons', a.reasons, 'at', a.at) order by a.source), '[]')
    from (select distinct on (source) source, verdict, level, reasons, at from screening_answers
      where company_id = s.company_id and screening_id = s.id order by source, id desc) a) as answers`

/** Newest first. */
export const listScreenings = (
  q: Queryable,
  filter: ScreeningFilter,
  page: { limit: number; offset: number },
): Promise<ListedScreening[]> =>
  q.many<ListedScreening>(
    unnamed(sql`select ${LISTED} ${filterSql(filter)} order by s.id desc limit ${page.limit} offset ${page.offset}`),
  )

export async function countScreenings(q: Queryable, filter: ScreeningFilter): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(unnamed(sql`select count(*) as total ${filterSql(filter)}`))
  return Number(total)
}

export const findListedScreening = (q: Queryable, id: string): Promise<ListedScreening | undefined> =>
  q.maybe<ListedScreening>(
    sql`select ${LISTED} from screenings s left join orders o on o.company_id = s.company_id and o.id = s.order_id
      where s.id = ${id}`,
  )

/**
 * Whether a person was notified since then, for any company: an outage is one mail, not one per payment. Holds a lock
 * until the transaction ends, so that two transactions cannot both find that no one was.
 */
export async function lockToldSince(tx: Tx, since: Date): Promise<boolean> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('screening.told'))`)
  return (await tx.one<{ told: boolean }>(sql`select exists (select from screenings where told_at > ${since}) as told`))
    .told
}

/** Whether a source had asked for a person by the last mail about this screening. */
export async function wasToldOfHold(q: Queryable, { companyId, id, openedAt, toldAt }: Screening): Promise<boolean> {
  const known = await q.maybe(sql`
    select from screening_answers where company_id = ${companyId} and screening_id = ${id} and verdict = 'hold'
      and at between ${openedAt} and ${toldAt} limit 1`)
  return known !== undefined
}

/** How many wait. */
export const countHeld = async (q: Queryable): Promise<number> =>
  Number(
    (
      await q.one<{ total: bigint }>(
        sql`select count(*) as total from screenings where status = 'held' and next_check_at is not null`,
      )
    ).total,
  )
