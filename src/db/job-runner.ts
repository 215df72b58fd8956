import type { FastifyBaseLogger } from 'fastify'
import { type Clock, DAY, HOUR, isYounger, MINUTE, NODES_DIFFER_MS, SECOND } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { Db, Tx } from './db.ts'
import {
  type ClaimedJob,
  claimJobs,
  deleteDoneJob,
  deleteJob,
  insertJob,
  renewJobs,
  updateFarJobs,
  updateJobFailed,
} from './job-queries.ts'
import { toStorableText } from './storable.ts'

export type JobHandler = {
  /** Does the work. It may be called again for the same job after a crash, so its effect must be idempotent. */
  run(payload: unknown): Promise<void>
  /** Tries before the job is parked for a person; 24 tries span 14 hours. */
  maxAttempts?: number
  /**
   * Instead of a number of tries: from then on the job is worth nothing. It is retried until then and run once more
   * then, so that the handler can say so. If that fails it is retried for another day, then deleted.
   */
  until?(payload: unknown): Date
}

export type JobQueue = {
  /** Writes a job in the caller's transaction; after the commit any worker may run it. */
  enqueue(tx: Tx, job: { kind: string; payload: unknown; dedupeKey?: string; runAt?: Date }): Promise<void>
  /** Called on this node after a job was committed; set by the worker. */
  wake: () => void
}

export function openJobQueue({ clock }: { clock: Clock }): JobQueue {
  const queue: JobQueue = {
    async enqueue(tx, { kind, payload, dedupeKey, runAt }) {
      const now = new Date(clock())
      const key = dedupeKey === undefined ? {} : { dedupeKey }
      await insertJob(tx, { id: newId(now.getTime()), kind, payload, runAt: runAt ?? now, now, ...key })
      tx.afterCommit(() => queue.wake())
    },
    wake: () => {},
  }
  return queue
}

const LEASE_MS = MINUTE
/** The leases of jobs that go on are renewed so often. */
const RENEW_MS = LEASE_MS / 4
/** One that takes longer hangs: another node may try it. */
const LONGEST_MS = 15 * MINUTE
const BATCH = 10
/**
 * A job that takes longer goes on in the background, so that the jobs behind it do not wait for a mail server that
 * hangs.
 */
const SLOW_MS = SECOND
const DEFAULT_MAX_ATTEMPTS = 24
/** How long a job with an end may try to say that it ended. */
const SAYING_MS = DAY

const [FIRST_GAP_MS, LONGEST_GAP_MS] = [5 * SECOND, HOUR]

/** Backoff of 5 s, 10 s, 20 s …, at most an hour. */
const retryDelayMs = (attempts: number): number => Math.min(LONGEST_GAP_MS, FIRST_GAP_MS * 2 ** (attempts - 1))

/** As `bringBackPolls`, for jobs. @returns how many */
export function bringBackJobs({ db, clock }: { db: Db; clock: Clock }, limit: number): Promise<number> {
  const until = new Date(clock() + LEASE_MS)
  const latest = new Date(until.getTime() + NODES_DIFFER_MS)
  return updateFarJobs(db, { until, latest, firstGapMs: FIRST_GAP_MS, longestGapMs: LONGEST_GAP_MS, limit })
}

/**
 * Runs due jobs of the kinds that have a handler: at least once each, by lease and epoch, so that no job is lost when a
 * node dies, and a late node does no harm.
 */
export function openJobRunner(deps: {
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  handlers: Readonly<Record<string, JobHandler>>
}): { runDue(): Promise<boolean> } {
  const { db, clock, log, handlers } = deps
  const owner = newId()
  const runOne = async (job: ClaimedJob): Promise<void> => {
    const handler = handlers[job.kind]
    if (!handler) return
    try {
      await handler.run(job.payload)
      await deleteDoneJob(db, job.id)
    } catch (error) {
      await retryLater(job, handler, error)
    }
  }
  const retryLater = async (job: ClaimedJob, handler: JobHandler, error: unknown): Promise<void> => {
    const now = clock()
    const until = handler.until?.(job.payload)
    const nextMs = now + retryDelayMs(job.attempts)
    const retryAt = new Date(until && now < until.getTime() ? Math.min(nextMs, until.getTime()) : nextMs)
    const final = until
      ? now >= until.getTime() + SAYING_MS
      : job.attempts >= (handler.maxAttempts ?? DEFAULT_MAX_ATTEMPTS)
    const facts = { err: error, job: job.kind, jobId: job.id, attempts: job.attempts }
    if (final) log.error(facts, 'job failed permanently')
    else log.warn(facts, 'job failed and will be retried')
    if (final && until) return void (await deleteJob(db, job))
    const runAt = final ? null : retryAt
    await updateJobFailed(db, job, { runAt, error: toStorableText(String((error as Error).message), 500) })
  }
  /** By job id: since when each runs on this node. */
  const running = new Map<string, number>()
  let renewedAtMs = Number.NEGATIVE_INFINITY
  const begin = (job: ClaimedJob): Promise<void> => {
    running.set(job.id, clock())
    return runOne(job)
      .catch((error: unknown) =>
        log.warn({ err: error, job: job.kind, jobId: job.id }, 'the outcome of a job could not be stored'),
      )
      .finally(() => running.delete(job.id))
  }
  /** Otherwise a job that takes longer than its lease would be done again and again. */
  const renew = async (now: number): Promise<void> => {
    if (isYounger(renewedAtMs, RENEW_MS, now)) return
    const ids = [...running].flatMap(([id, beganAtMs]) => (isYounger(beganAtMs, LONGEST_MS, now) ? [id] : []))
    if (ids.length > 0) await renewJobs(db, { ids, owner, leaseUntil: new Date(now + LEASE_MS) })
    renewedAtMs = now
  }
  return {
    async runDue() {
      const now = clock()
      await renew(now)
      const leaseUntil = new Date(now + LEASE_MS)
      const kinds = Object.keys(handlers)
      const limit = BATCH - running.size
      if (limit === 0) return false
      const ours = { owner, running: [...running.keys()] }
      const jobs = await claimJobs(db, { ...ours, kinds, now: new Date(now), leaseUntil, limit })
      const begun = jobs.map(begin)
      let timer: NodeJS.Timeout | undefined
      const slow = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, SLOW_MS)
      })
      await Promise.race([Promise.all(begun), slow])
      clearTimeout(timer)
      return jobs.length === limit
    },
  }
}
