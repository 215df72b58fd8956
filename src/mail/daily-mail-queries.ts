import { type Db, type Queryable, sql, type Tx } from '../db/db.ts'
import { DAY, MINUTE } from '../kernel/clock.ts'
import { ALARM_PREFIX } from './mailbox-queries.ts'

export type Manager = { companyId: string; companyName: string; email: string; firstName: string; lang: string }

/** The active managers of these companies, or of all, who are told what happens to them. */
export const listManagers = (q: Queryable, companyIds: readonly string[] | null): Promise<Manager[]> =>
  q.many<Manager>(sql`
    select u.company_id, c.name as company_name, u.email, u.first_name, u.lang
    from users u join companies c on c.id = u.company_id
    where (${companyIds}::text[] is null or u.company_id = any (${companyIds}::text[])) and u.role in ('Manager', 'Association')
      and u.verified_at is not null and u.disabled_at is null and u.email_key <> 'replaced:' || u.id`)

/** @returns false when this was already sent */
export const insertNotice = async (q: Queryable, key: string, now: Date): Promise<boolean> =>
  (await q.run(sql`insert into notices_sent (key, sent_at) values (${key}, ${now}) on conflict do nothing`)) === 1

/** How many such notices there were since then, by keys of `noticeKey`. */
export async function countNotices(q: Queryable, prefix: string, since: Date): Promise<number> {
  const { count } = await q.one<{ count: number }>(sql`
    select count(*)::int as count from notices_sent
    where key between ${noticeKey(prefix, since, '')} and ${`${ALARM_PREFIX + prefix}:9999`}
      and starts_with(key, ${ALARM_PREFIX + prefix})`)
  return count
}

/** Of a notice that may repeat: each has a key of its own, in the order of time. */
export const noticeKey = (prefix: string, at: Date, id: string): string =>
  `${ALARM_PREFIX + prefix}:${at.toISOString()}:${id}`

/** Clocks of nodes differ; a time further ahead was written by a wrong one. */
const AHEAD_MS = 5 * MINUTE

/**
 * Claims the mail about something that lasts, for whichever process comes first. A time that has not come, by a clock
 * that was ahead, silences nothing. @returns false within that time after the last one
 */
export const claimNotice = async (tx: Tx, key: string, nowMs: number, gapMs: number): Promise<boolean> =>
  (await tx.run(sql`
    insert into notices_sent as known (key, sent_at) values (${ALARM_PREFIX + key}, ${new Date(nowMs)})
    on conflict (key) do update set sent_at = excluded.sent_at
    where known.sent_at <= ${new Date(nowMs - gapMs)} or known.sent_at > ${new Date(nowMs + AHEAD_MS)}`)) === 1

/** The mail about a lasting fault: one a day. */
export const claimDailyNotice = (tx: Tx, key: string, nowMs: number): Promise<boolean> =>
  claimNotice(tx, key, nowMs, DAY)

/** The key of the latest day among those that consist of this prefix and a day. */
export async function findLastNotice(db: Db, prefix: string): Promise<string | null> {
  const { key } = await db.one<{ key: string | null }>(sql`
    select max(key) as key from notices_sent
    where key between ${`${prefix}0`} and ${`${prefix}9999`} and starts_with(key, ${prefix})`)
  return key
}
