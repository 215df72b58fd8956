import { gapsOf, type PollKind } from '../kernel/poll-gaps.ts'
import type { DueItem } from '../kernel/polling.ts'
import { type Queryable, type Sql, sql, type Tx } from './db.ts'

/**
 * A table whose rows are polled: it has `company_id`, `id`, `next_check_at`, `checks`, `lease_until`, `lease_epoch` and
 * `poll_again`. `lane` is an expression over its alias `t`.
 */
export type PollTable = { table: Sql; lane: Sql }

/**
 * The longest gap between two polls that is ever given to the rows of which `of` holds; absent: to all. With a `kind`,
 * one that was polled so often may have the gap of that kind, where it is longer.
 */
export type LongestGap = { ms: number; kind?: PollKind; of?: Sql }

export type RowKey = { companyId: string; id: string }

const isFree = (now: Date): Sql => sql`(t.lease_until is null or t.lease_until <= ${now})`

export const listDueItems = (
  q: Queryable,
  { table, lane }: PollTable,
  { now, fullLanes, limit }: { now: Date; fullLanes: readonly string[]; limit: number },
): Promise<DueItem[]> =>
  q.many<DueItem>(sql`
    select t.company_id, t.id, ${lane} as lane from ${table} t
    where t.next_check_at <= ${now} and ${isFree(now)} and not (${lane} = any(${[...fullLanes]}))
    order by t.next_check_at limit ${limit}`)

/** Skips a row that another transaction has locked. @returns undefined: not claimed */
export async function claimItem(
  q: Queryable,
  { table }: PollTable,
  { companyId, id }: RowKey,
  { now, until }: { now: Date; until: Date },
): Promise<{ epoch: bigint; checks: number } | undefined> {
  return q.maybe(sql`
    update ${table} set lease_until = ${until}, lease_epoch = lease_epoch + 1, checks = checks + 1, poll_again = false
    where (company_id, id) in (
      select t.company_id, t.id from ${table} t
      where t.company_id = ${companyId} and t.id = ${id} and t.next_check_at <= ${now} and ${isFree(now)}
      for update skip locked)
    returning lease_epoch as epoch, checks`)
}

/** Takes a free row whether it is due or not; its backoff goes on as it was. @returns undefined: it is being polled */
export const claimFreeItem = (
  q: Queryable,
  { table }: PollTable,
  { companyId, id }: RowKey,
  { now, until }: { now: Date; until: Date },
): Promise<{ epoch: bigint; checks: number } | undefined> =>
  q.maybe(sql`
    update ${table} as t set lease_until = ${until}, lease_epoch = t.lease_epoch + 1
    where t.company_id = ${companyId} and t.id = ${id} and ${isFree(now)}
    returning t.lease_epoch as epoch, t.checks`)

/** Whether the row is being polled now. */
export async function isLeased(q: Queryable, { table }: PollTable, { companyId, id }: RowKey, now: Date) {
  const leased = await q.maybe(sql`
    select from ${table} t where t.company_id = ${companyId} and t.id = ${id} and not ${isFree(now)}`)
  return leased !== undefined
}

/** Whether the row is being polled now, or is due: what is told of it may be old. */
export async function isUnpolled(q: Queryable, { table }: PollTable, { companyId, id }: RowKey, now: Date) {
  const found = await q.maybe(sql`
    select from ${table} t where t.company_id = ${companyId} and t.id = ${id}
      and (t.next_check_at <= ${now} or not ${isFree(now)})`)
  return found !== undefined
}

/** Renews a lease and locks its row until the transaction ends. @returns false: another poll has taken over */
export const renewLease = async (
  tx: Tx,
  { table }: PollTable,
  { companyId, id }: RowKey,
  { epoch, until }: { epoch: bigint; until: Date },
): Promise<boolean> =>
  (await tx.run(sql`
    update ${table} set lease_until = ${until}
    where company_id = ${companyId} and id = ${id} and lease_epoch = ${epoch} and lease_until is not null`)) > 0

/**
 * Ends a lease. A row that was woken meanwhile is due again; one that the poll did not change, because it failed or
 * learned nothing new, is due at `retryAt`.
 */
export const releaseItem = (
  q: Queryable,
  { table }: PollTable,
  { companyId, id }: RowKey,
  lease: { epoch: bigint; claimedAt: Date; now: Date; retryAt: Date },
): Promise<number> =>
  q.run(sql`
    update ${table} set lease_until = null, poll_again = false,
      next_check_at = case when poll_again then ${lease.now}::timestamptz
        when next_check_at <= ${lease.claimedAt} then ${lease.retryAt}::timestamptz
        else next_check_at end
    where company_id = ${companyId} and id = ${id} and lease_epoch = ${lease.epoch}`)

/** Makes a row due now; if a poll is in progress, it is repeated when it ends. */
export const wakeItem = (q: Queryable, { table }: PollTable, { companyId, id }: RowKey, now: Date): Promise<number> =>
  q.run(sql`
    update ${table} set next_check_at = ${now}, poll_again = lease_until is not null
    where company_id = ${companyId} and id = ${id}`)

/**
 * Makes a row due now because there is news about it; if the poll fails, its backoff restarts with the shortest gap.
 */
export const renewItem = (q: Queryable, { table }: PollTable, { companyId, id }: RowKey, now: Date): Promise<number> =>
  q.run(sql`
    update ${table} set next_check_at = ${now}, checks = 0, poll_again = lease_until is not null
    where company_id = ${companyId} and id = ${id}`)

/** The same, unless another transaction has locked the row. @returns 0: it has */
export const renewFreeItem = (
  q: Queryable,
  { table }: PollTable,
  { companyId, id }: RowKey,
  now: Date,
): Promise<number> =>
  q.run(sql`
    update ${table} set next_check_at = ${now}, checks = 0, poll_again = lease_until is not null
    where (company_id, id) in (
      select t.company_id, t.id from ${table} t where t.company_id = ${companyId} and t.id = ${id}
      for update skip locked)`)

/** Makes a row due now if it waits for its next poll anyway. */
export const hastenItem = (q: Queryable, { table }: PollTable, { companyId, id }: RowKey, now: Date): Promise<number> =>
  q.run(sql`
    update ${table} set next_check_at = ${now}, poll_again = lease_until is not null
    where company_id = ${companyId} and id = ${id} and next_check_at is not null`)

type FarRows = { latest: Date; until: Date; limit: number }

/** Whether the row is due later than `now` and the gap of this kind after so many polls. */
const isFarFor = (kind: PollKind, now: Date): Sql => {
  const gaps = gapsOf(kind)
  return sql`t.next_check_at > ${now}::timestamptz + interval '1 millisecond'
    * (${gaps.map(String)}::float8[])[least(greatest(t.checks, 0), ${gaps.length - 1}::integer) + 1]`
}

/**
 * Rows that are due later than any can be are due at `until`.
 * @param far.now the latest that any clock says now
 * @returns how many
 */
export const bringBackItems = (
  q: Queryable,
  { table }: PollTable,
  { latest, gap, now, until, limit }: FarRows & { gap: LongestGap; now: Date },
): Promise<number> =>
  q.run(sql`
    update ${table} set next_check_at = ${until} where (company_id, id) in (
      select t.company_id, t.id from ${table} t
      where t.next_check_at > ${latest} and ${gap.of ?? sql`true`} and ${gap.kind ? isFarFor(gap.kind, now) : sql`true`}
      order by t.next_check_at desc limit ${limit} for update skip locked)`)

/** Leases of due rows that end later than any can end at `until`. @returns how many */
export const shortenLeases = (
  q: Queryable,
  { table }: PollTable,
  { now, latest, until, limit }: FarRows & { now: Date },
): Promise<number> =>
  q.run(sql`
    update ${table} set lease_until = ${until} where (company_id, id) in (
      select t.company_id, t.id from ${table} t where t.next_check_at <= ${now} and t.lease_until > ${latest}
      limit ${limit} for update skip locked)`)
