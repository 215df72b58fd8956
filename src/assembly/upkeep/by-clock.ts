import type { FastifyBaseLogger } from 'fastify'
import { PAYOUT_LEASE_MS } from '../../chain/payout/payout.ts'
import { shortenPayoutLeases } from '../../chain/payout/payout-queries.ts'
import { SWEEP_POLLS } from '../../chain/sweep/sweep-queries.ts'
import { KYC_POLLS } from '../../compliance/kyc-queries.ts'
import type { Db } from '../../db/db.ts'
import { bringBackJobs } from '../../db/job-runner.ts'
import { bringBackPolls, type PollTopic } from '../../db/polling.ts'
import { type Clock, NODES_DIFFER_MS } from '../../kernel/clock.ts'
import { startTicker, type Ticker } from '../../kernel/ticker.ts'
import { SETTLEMENT_POLLS } from '../../ledger/settlements/settlement-queries.ts'
import { PAYMENT_POLLS } from '../../payments/payment-queries.ts'
import { REFUND_POLLS } from '../../refunds/refund-queries.ts'
import { SCREENING_POLLS } from '../../screening/screening-queries.ts'
import { openClockGuard } from './clock-guard.ts'

type ByClockDeps = Parameters<typeof openClockGuard>[0] & { log: FastifyBaseLogger; guardsClock: boolean }

/** Starts jobs that do by the clock what cannot be undone: each waits while the clock is wrong. */
export function openByClock(deps: ByClockDeps) {
  const isClockSound = deps.guardsClock ? openClockGuard(deps) : async () => true
  return (name: string, everyMs: number, work: () => Promise<boolean | undefined>): Ticker =>
    startTicker(name, everyMs, deps.log, async () => ((await isClockSound()) ? work() : undefined))
}

const TOPICS: readonly PollTopic[] = [
  ...[PAYMENT_POLLS, REFUND_POLLS, SETTLEMENT_POLLS],
  ...[SWEEP_POLLS, SCREENING_POLLS, KYC_POLLS],
]

/** Rows of one topic in one statement: what is polled does not wait long for their locks. */
const BATCH = 500

/**
 * Brings back what a clock that was ahead put off: to a node that is two hours ahead for a minute, all that is due
 * within two hours is due, and what it polls or tries gets its next time by that clock. No other node would touch it
 * until then. The same holds for leases of a node that died meanwhile.
 * @returns whether there may be more
 */
export async function bringBack(deps: {
  db: Db
  clock: Clock
  log: Pick<FastifyBaseLogger, 'warn'>
}): Promise<boolean> {
  let isMore = false
  const note = (kind: string, count: number): void => {
    if (count === 0) return
    deps.log.warn({ kind, count }, 'a clock that was ahead had put these off: they are due within a minute')
    isMore ||= count >= BATCH
  }
  for (const topic of TOPICS) note(topic.kind, await bringBackPolls(deps, topic, BATCH))
  note('job', await bringBackJobs(deps, BATCH))
  const until = new Date(deps.clock() + PAYOUT_LEASE_MS)
  const latest = new Date(until.getTime() + NODES_DIFFER_MS)
  note('payout', await shortenPayoutLeases(deps.db, { latest, until, limit: BATCH }))
  return isMore
}
