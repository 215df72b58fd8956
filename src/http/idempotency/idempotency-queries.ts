import { lagOf, type Queryable, sql } from '../../db/db.ts'

export type IdempotencyKey = { companyId: string; scope: string; key: string }
export type IdempotencyRow = {
  fingerprint: string
  response: string | null
  claimedBy: string | null
  lockedUntil: Date | null
}

/**
 * Claims the key, or takes it over from a request whose claim expired. One that lasts beyond `latest` was made by a
 * clock that was ahead: it lasts as long as ours would from now on. A node that is behind goes by the database's clock,
 * so that it ends no claim of the others. False: another request holds it.
 */
export async function claimIdempotencyKey(
  q: Queryable,
  { companyId, scope, key }: IdempotencyKey,
  claim: {
    fingerprint: string
    earlierFingerprints: readonly string[]
    claimedBy: string
    lockedUntil: Date
    latest: Date
    now: Date
  },
): Promise<boolean> {
  const lag = lagOf(claim.now)
  const hasEnded = sql`k.locked_until < ${claim.now}::timestamptz + ${lag}`
  const claimed = await q.maybe<{ isOurs: boolean }>(sql`
    insert into idempotency_keys as k (company_id, scope, key, fingerprint, claimed_by, locked_until, created_at)
    values (${companyId}, ${scope}, ${key}, ${claim.fingerprint}, ${claim.claimedBy},
      ${claim.lockedUntil}::timestamptz + ${lag}, ${claim.now})
    on conflict (company_id, scope, key) do update
      set claimed_by = case when ${hasEnded} then excluded.claimed_by else k.claimed_by end,
        locked_until = excluded.locked_until
      where k.response is null and (${hasEnded} or k.locked_until > ${claim.latest}::timestamptz + ${lag})
        and (k.fingerprint = excluded.fingerprint or k.fingerprint = any(${claim.earlierFingerprints}::text[]))
    returning claimed_by = ${claim.claimedBy} as is_ours`)
  return claimed?.isOurs === true
}

export async function findIdempotencyKey(
  q: Queryable,
  { companyId, scope, key }: IdempotencyKey,
): Promise<IdempotencyRow | undefined> {
  return q.maybe<IdempotencyRow>(sql`
    select fingerprint, response, claimed_by, locked_until from idempotency_keys
    where company_id = ${companyId} and scope = ${scope} and key = ${key}`)
}

/**
 * Stores the response in the transaction of the effect. A request whose effect goes on in a second transaction stores
 * again what has become of it. Zero rows: the claim was taken over meanwhile.
 */
export async function updateIdempotencyResponse(
  q: Queryable,
  { companyId, scope, key }: IdempotencyKey,
  done: { claimedBy: string; response: string },
): Promise<number> {
  return q.run(sql`
    update idempotency_keys set response = ${done.response}, locked_until = null
    where company_id = ${companyId} and scope = ${scope} and key = ${key}
      and claimed_by = ${done.claimedBy}`)
}

export async function releaseIdempotencyKey(
  q: Queryable,
  { companyId, scope, key }: IdempotencyKey,
  claimedBy: string,
): Promise<void> {
  await q.run(sql`
    delete from idempotency_keys where company_id = ${companyId} and scope = ${scope} and key = ${key}
      and claimed_by = ${claimedBy} and response is null`)
}

export async function deleteOldIdempotencyKeys(q: Queryable, before: Date): Promise<number> {
  return q.run(sql`
    delete from idempotency_keys where (company_id, scope, key) in
      (select company_id, scope, key from idempotency_keys where created_at < ${before} limit 5000)`)
}
