import type { FastifyBaseLogger } from 'fastify'
import { type Clock, MINUTE, NODES_DIFFER_MS } from '../kernel/clock.ts'
import { longestGapMs, type PollKind, pollGapMs } from '../kernel/poll-gaps.ts'
import type { PollSource } from '../kernel/polling.ts'
import type { Db, Tx } from './db.ts'
import {
  bringBackItems,
  claimFreeItem,
  claimItem,
  type LongestGap,
  listDueItems,
  type PollTable,
  type RowKey,
  releaseItem,
  renewLease,
  shortenLeases,
} from './poll-queries.ts'

/**
 * Longer than the longest series of calls between two writes: four that each take a provider's ten seconds. Every write
 * extends it.
 */
export const LEASE_MS = MINUTE

/** The lease expired and another poll has the row: this one must write nothing. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

type PollDeps = { db: Db; clock: Clock }
type Lease = { epoch: bigint; checks: number; claimedAt: Date }

/**
 * A database that writes only while we hold the lease. The check is the last statement of each transaction: rows are
 * locked in their usual order before it, and no one can take the lease between it and the commit. Reads are not
 * checked.
 */
function leasedDb({ db, clock }: PollDeps, table: PollTable, key: RowKey, { epoch }: Lease): Db {
  const tx = <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> =>
    db.tx(async (inner) => {
      const result = await work(inner)
      const until = new Date(clock() + LEASE_MS)
      if (await renewLease(inner, table, key, { epoch, until })) return result
      throw new LeaseLost(`the lease of ${key.id} ended; another poll goes on with it`)
    })
  return { ...db, tx, run: (statement) => tx((inner) => inner.run(statement)) }
}

async function takeLease({ db, clock }: PollDeps, table: PollTable, key: RowKey): Promise<Lease | undefined> {
  const claimedAt = new Date(clock())
  const until = new Date(claimedAt.getTime() + LEASE_MS)
  const claimed = await claimItem(db, table, key, { now: claimedAt, until })
  return claimed && { ...claimed, claimedAt }
}

/** What is polled: one table, with the backoff of its kind. */
export type PollTopic = {
  kind: PollKind
  table: PollTable
  /** The longest gaps that its rows are given, if they are not those of the kind. What is in none may wait longer. */
  longest?: readonly LongestGap[]
}

async function endLease({ db, clock }: PollDeps, topic: PollTopic, key: RowKey, lease: Lease): Promise<void> {
  const now = clock()
  const retryAt = new Date(now + pollGapMs(topic.kind, lease.checks - 1))
  await releaseItem(db, topic.table, key, { ...lease, now: new Date(now), retryAt })
}

export type PollSpec = PollTopic & {
  /** @param db writes only while we hold the lease */
  work(db: Db, key: RowKey): Promise<void>
}

/**
 * Polls one row ahead of its turn, if it is due and free. @returns undefined: not claimed; otherwise the result of the
 * work @throws whatever the work throws
 */
export async function pollNow<Result>(
  deps: PollDeps,
  topic: PollTopic,
  key: RowKey,
  work: (db: Db) => Promise<Result>,
): Promise<{ result: Result } | undefined> {
  const lease = await takeLease(deps, topic.table, key)
  if (!lease) return undefined
  try {
    return { result: await work(leasedDb(deps, topic.table, key, lease)) }
  } finally {
    await endLease(deps, topic, key, lease)
  }
}

/** Never due by then: what was due before stays due. */
const BEFORE_ALL = new Date(0)

/**
 * Works on one row while no poll does, whether it is due or not; when it is due does not change, unless the work
 * changes it, or the row is woken meanwhile.
 * @returns undefined: another poll has it; otherwise the result of the work @throws whatever the work throws
 */
export async function holdLease<Result>(
  deps: PollDeps,
  table: PollTable,
  key: RowKey,
  work: (db: Db) => Promise<Result>,
): Promise<{ result: Result } | undefined> {
  const { db, clock } = deps
  const now = new Date(clock())
  const lease = await claimFreeItem(db, table, key, { now, until: new Date(now.getTime() + LEASE_MS) })
  if (!lease) return undefined
  try {
    return { result: await work(leasedDb(deps, table, key, { ...lease, claimedAt: now })) }
  } finally {
    const ended = new Date(clock())
    await releaseItem(db, table, key, { ...lease, claimedAt: BEFORE_ALL, now: ended, retryAt: ended })
  }
}

/**
 * Rows that a clock which was hours ahead gave a time or a lease as far ahead: no other node would poll them until
 * then. They get the time that they would have by ours, a minute at least, so that what goes on there ends first.
 * @returns how many; as many as `limit` when there may be more
 */
export async function bringBackPolls(
  { db, clock }: PollDeps,
  { kind, table, longest = [{ ms: longestGapMs(kind) }] }: PollTopic,
  limit: number,
): Promise<number> {
  const now = clock()
  const at = { until: new Date(now + LEASE_MS), limit }
  const latestLease = new Date(now + LEASE_MS + NODES_DIFFER_MS)
  let changed = await shortenLeases(db, table, { ...at, now: new Date(now), latest: latestLease })
  for (const gap of longest) {
    const latest = new Date(now + Math.max(gap.ms, LEASE_MS) + NODES_DIFFER_MS)
    changed += await bringBackItems(db, table, { ...at, latest, gap, now: new Date(now + NODES_DIFFER_MS) })
  }
  return changed
}

/** The rows of one table as a source for the polling engine. A failed poll is repeated after the gap of its kind. */
export function pollSource(deps: PollDeps & { log: FastifyBaseLogger }, spec: PollSpec): PollSource {
  const { db, clock, log } = deps
  const { kind, table, work } = spec
  return {
    name: `${kind}.poll`,
    listDue: (fullLanes, limit) => listDueItems(db, table, { now: new Date(clock()), fullLanes, limit }),
    async claim(item) {
      const lease = await takeLease(deps, table, item)
      if (!lease) return undefined
      return async () => {
        try {
          await work(leasedDb(deps, table, item, lease), item)
        } catch (error) {
          log.warn({ err: error, kind, id: item.id, lane: item.lane }, 'poll failed')
        }
        await endLease(deps, spec, item, lease).catch((error: unknown) =>
          log.warn({ err: error, kind, id: item.id }, 'lease not released; it will expire'),
        )
      }
    },
  }
}
