import { json, type Queryable, sql, type Tx } from './db.ts'

/** Work that runs once its transaction has committed. */
export type NewJob = {
  id: string
  kind: string
  payload: unknown
  /** A second job with the same key is dropped while the first is waiting. */
  dedupeKey?: string
  runAt: Date
  now: Date
}

export type ClaimedJob = { id: string; kind: string; payload: unknown; attempts: number; leaseEpoch: bigint }

/** @returns false if a job with this dedupe key is already waiting */
export async function insertJob(tx: Tx, job: NewJob): Promise<boolean> {
  const inserted = await tx.run(sql`
    insert into jobs (id, kind, payload, dedupe_key, run_at, created_at)
    values (${job.id}, ${job.kind}, ${json(job.payload)}, ${job.dedupeKey ?? null}, ${job.runAt}, ${job.now})
    on conflict (dedupe_key) do nothing`)
  return inserted === 1
}

/**
 * Claims due jobs for this node until `leaseUntil`; the epoch fences off a node that returns too late.
 * @param claim.running the ids of those that this node has claimed before and still runs
 */
export async function claimJobs(
  q: Queryable,
  claim: {
    kinds: readonly string[]
    running: readonly string[]
    owner: string
    now: Date
    leaseUntil: Date
    limit: number
  },
): Promise<ClaimedJob[]> {
  return q.many<ClaimedJob>(sql`
    update jobs set owner = ${claim.owner}, lease_epoch = lease_epoch + 1, attempts = attempts + 1,
      run_at = ${claim.leaseUntil}
    where id in (select id from jobs where run_at <= ${claim.now} and kind = any(${claim.kinds})
        and not (id = any(${claim.running}))
      order by run_at limit ${claim.limit} for update skip locked)
    returning id, kind, payload, attempts, lease_epoch`)
}

/** Prolongs the leases of jobs that this node runs, unless another has them by now. */
export const renewJobs = (
  q: Queryable,
  renewal: { ids: readonly string[]; owner: string; leaseUntil: Date },
): Promise<number> =>
  q.run(sql`
    update jobs set run_at = ${renewal.leaseUntil} where id = any(${renewal.ids}) and owner = ${renewal.owner}`)

/** Of one that is done, whoever has it by now: it must not be done again. */
export const deleteDoneJob = (q: Queryable, id: string): Promise<number> =>
  q.run(sql`delete from jobs where id = ${id}`)

/** False: the lease expired and another node has the job. */
export async function deleteJob(q: Queryable, job: Pick<ClaimedJob, 'id' | 'leaseEpoch'>): Promise<boolean> {
  return (await q.run(sql`delete from jobs where id = ${job.id} and lease_epoch = ${job.leaseEpoch}`)) === 1
}

/** @param runAt when to retry; null: never, a person has to intervene */
export async function updateJobFailed(
  q: Queryable,
  job: Pick<ClaimedJob, 'id' | 'leaseEpoch'>,
  failed: { runAt: Date | null; error: string },
): Promise<void> {
  await q.run(sql`
    update jobs set run_at = coalesce(${failed.runAt}::timestamptz, 'infinity'), owner = null, last_error = ${failed.error}
    where id = ${job.id} and lease_epoch = ${job.leaseEpoch}`)
}

/**
 * Jobs whose next try, or whose lease, lies later than any can: they run at `until`. What was put off on purpose stays.
 * @returns how many
 */
export const updateFarJobs = (
  q: Queryable,
  far: { latest: Date; firstGapMs: number; longestGapMs: number; until: Date; limit: number },
): Promise<number> =>
  q.run(sql`
    update jobs set run_at = ${far.until} where id in (
      select id from jobs where run_at > ${far.latest} and run_at < 'infinity'
        and (attempts > 0 or run_at = created_at)
        and run_at > ${far.latest}::timestamptz + interval '1 millisecond'
          * least(${far.longestGapMs}::float8, ${far.firstGapMs}::float8 * 2 ^ least(attempts - 1, 20))
      order by run_at limit ${far.limit} for update skip locked)`)

/** Number of parked jobs, for the operator's metrics. */
export async function countParkedJobs(q: Queryable): Promise<number> {
  const { count } = await q.one<{ count: number }>(
    sql`select count(*)::int as count from jobs where run_at = 'infinity'`,
  )
  return count
}

/** Number of waiting jobs of one kind, and since when the oldest waits; without parked ones. */
export const findWaitingJobs = (q: Queryable, kind: string): Promise<{ count: number; oldestSeconds: number }> =>
  q.one(sql`
    select count(*)::int as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest_seconds
    from jobs where kind = ${kind} and run_at <> 'infinity'`)
