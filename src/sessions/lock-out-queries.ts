import { lagOf, type Queryable, sql, type Tx } from '../db/db.ts'

/** Until when by the clock that asks. One that is behind goes by the database's, and lifts no lock of the others. */
export type LoginFailures = { wrong: number; lockedUntil: Date | null }

export async function findLoginFailures(
  q: Queryable,
  accountKey: string,
  now: Date,
): Promise<LoginFailures | undefined> {
  return q.maybe<LoginFailures>(sql`
    select wrong, locked_until - ${lagOf(now)} as locked_until from login_failures where account_key = ${accountKey}`)
}

/** A lock that ends later than any can ends at `until`. @returns when it ends now; undefined: it is gone */
export const shortenLock = (
  q: Queryable,
  accountKey: string,
  { now, latest, until }: { now: Date; latest: Date; until: Date },
): Promise<LoginFailures | undefined> =>
  q.maybe<LoginFailures>(sql`
    update login_failures
    set locked_until = case when locked_until > ${latest}::timestamptz + ${lagOf(now)}
      then ${until}::timestamptz + ${lagOf(now)} else locked_until end
    where account_key = ${accountKey} returning wrong, locked_until - ${lagOf(now)} as locked_until`)

/** Counts a wrong password; the `most`-th in a row locks until `lockUntil`. An expired lock restarts the count. */
export async function insertLoginFailure(
  tx: Tx,
  accountKey: string,
  failure: { at: Date; most: number; lockUntil: Date; forgetBefore: Date },
): Promise<LoginFailures> {
  const lag = lagOf(failure.at)
  const at = sql`(${failure.at}::timestamptz + ${lag})`
  const isOld = sql`(f.locked_until <= ${at} or f.last_at < ${failure.forgetBefore}::timestamptz + ${lag})`
  return tx.one<LoginFailures>(sql`
    insert into login_failures as f (account_key, wrong, last_at) values (${accountKey}, 1, ${at})
    on conflict (account_key) do update set last_at = ${at},
      wrong = case when ${isOld} then 1 else f.wrong + 1 end,
      locked_until = case
        when f.locked_until > ${at} then f.locked_until
        when ${isOld} then null
        when f.wrong + 1 >= ${failure.most}::integer then ${failure.lockUntil}::timestamptz + ${lag}
        else null end
    returning wrong, locked_until - ${lag} as locked_until`)
}

/** Those of the address, and of every browser that is known for it. */
export async function deleteAllLoginFailures(q: Queryable, accountKey: string): Promise<void> {
  await q.run(sql`
    delete from login_failures where account_key = ${accountKey} or starts_with(account_key, ${`${accountKey}:`})`)
}

export async function deleteLoginFailures(q: Queryable, accountKey: string): Promise<void> {
  await q.run(sql`delete from login_failures where account_key = ${accountKey}`)
}
