import { startResealing } from './assembly/accounts.ts'
import { type ChainJobDeps, type Stoppable, startChain } from './assembly/chain-jobs.ts'
import { startChainChecks, startMoneyChecks } from './assembly/money-checks.ts'
import type { PollWakes, ServiceBase } from './assembly/service-base.ts'
import { bookedSweepPolls } from './assembly/sweeps.ts'
import { bringBack, openByClock } from './assembly/upkeep/by-clock.ts'
import { ANCHOR_EVERY_MS, type Anchor } from './audit/anchor.ts'
import { CALLBACK_AGE_MS } from './compliance/kyc-callback.ts'
import { kycPolls } from './compliance/kyc-polls.ts'
import { deleteOldKycCallbacks } from './compliance/kyc-queries.ts'
import type { KycDeps } from './compliance/kyc-service.ts'
import { eraseKycsOlderThan } from './compliance/payer-erasure.ts'
import type { JobQueue } from './db/job-runner.ts'
import { keepPartitions, type Partitioned } from './db/partitions.ts'
import { type PollSpec, pollSource } from './db/polling.ts'
import { IDEMPOTENCY_RETENTION_MS } from './http/idempotency/idempotency.ts'
import { deleteOldIdempotencyKeys } from './http/idempotency/idempotency-queries.ts'
import { deleteOldCounters } from './http/limits/rate-limit-queries.ts'
import { DAY, HOUR, MINUTE } from './kernel/clock.ts'
import { type PollLimits, startPolling } from './kernel/polling.ts'
import { startTicker } from './kernel/ticker.ts'
import { settlementPolls } from './ledger/settlements/settlement-jobs.ts'
import type { SettlementDeps } from './ledger/settlements/settlement-service.ts'
import { deleteExpiredMails, deleteKeptMails, deleteOldNotices } from './mail/mailbox-queries.ts'
import type { RaiseAlarm } from './mail/operator-alarm.ts'
import { trimFeed } from './orders/feed/event-feed-service.ts'
import {
  type ExpiryChecks,
  eraseNotesOlderThan,
  expireOrders,
  keepTotals,
  openStuckExpiries,
} from './orders/order-jobs.ts'
import { erasePayersOlderThan } from './payers/payer-service.ts'
import { auditEndedDeposits, checkBeforeEnd, type DepositCheckDeps } from './payments/deposit-checks.ts'
import { eraseUserAddressesOlderThan, paymentPolls, wakeWaitingPayments } from './payments/payment-jobs.ts'
import type { RefundDeps } from './refunds/refund-deps.ts'
import { eraseProofsOlderThan, refundPolls, wakeWaitingRefunds } from './refunds/refund-jobs.ts'
import type { RequestLog } from './request-log/request-log.ts'
import { type ScreeningDeps, screeningPolls } from './screening/screening-polls.ts'
import { deleteEndedSessions } from './sessions/session-queries.ts'

/**
 * Per provider account and in total. A hanging call costs a socket: many accounts may hang before others have to wait.
 */
const POLL_LIMITS: PollLimits = { perLane: 8, perNode: 200 }

export type JobDeps = ChainJobDeps & {
  payments: DepositCheckDeps
  settlements: SettlementDeps
  refunds: RefundDeps
  /** Alerts the operator. */
  alarm: RaiseAlarm
  /** The polling rounds that callbacks wake. */
  wakes: PollWakes
  partitions: readonly Partitioned[]
  requestLog: RequestLog
  kyc: KycDeps
  screening: { polls: ScreeningDeps; watch(): Promise<undefined> }
  /** Mails and other durable work. */
  runner: { runDue(): Promise<boolean> }
  jobQueue: JobQueue
  /** Mails to the people of a shop; `send` returns whether there may be more. `isTimed`: the clock says what is due. */
  shopMails: readonly { name: string; everyMs: number; isTimed: boolean; send(nowMs: number): Promise<boolean> }[]
  anchor: Anchor
  payerRetentionDays: number
  config: Pick<ServiceBase['config'], 'databaseUrl'>
  metrics: ServiceBase['metrics']
  /** Jobs delete and expire only while the clock agrees with the database's. */
  guardsClock: boolean
}

const startPolls = ({ db, clock, log }: JobDeps, spec: PollSpec) =>
  startPolling(pollSource({ db, clock, log }, spec), POLL_LIMITS, log)

/**
 * The jobs that read the chains, and those that send money: once the chains' tokens were looked at, so that none is
 * sent in another token, and nothing is concluded from one.
 */
export function startChainJobs(deps: JobDeps): Stoppable {
  const { log, payments } = deps
  const [refunds, settlements, sweeps] = [
    startPolls(deps, refundPolls(deps.refunds)),
    startPolls(deps, settlementPolls(deps.settlements)),
    startPolls(deps, bookedSweepPolls(deps)),
  ]
  deps.wakes.pollRefunds = () => refunds.wake()
  void wakeWaitingRefunds(deps.refunds).catch((error: unknown) =>
    log.warn({ err: error }, 'refunds that wait for a channel were not woken; each is polled within five minutes'),
  )
  const tickers: Stoppable[] = [
    ...deps.chains.flatMap((chain) => startChain(deps, chain)),
    startTicker('deposits.audit', 5000, log, () => auditEndedDeposits(payments)),
    ...startChainChecks(deps),
    ...[refunds, settlements, sweeps],
  ]
  return {
    async stop() {
      deps.wakes.pollRefunds = () => {}
      await Promise.all(tickers.map((ticker) => ticker.stop()))
    },
  }
}

/** Every other periodic job, by name, with its period. Each may run on any number of nodes concurrently. */
export function startJobs(deps: JobDeps): Stoppable {
  const { db, clock, log, payments } = deps
  const daysAgo = (days: number): Date => new Date(clock() - days * DAY)
  const byClock = openByClock(deps)
  const durable = startTicker('jobs.run', 500, log, () => deps.runner.runDue())
  deps.jobQueue.wake = () => durable.wake()
  const polls = {
    payments: startPolls(deps, paymentPolls(payments)),
    kycs: startPolls(deps, kycPolls(deps.kyc)),
    screenings: startPolls(deps, screeningPolls(deps.screening.polls)),
  }
  deps.wakes.pollPayments = () => polls.payments.wake()
  deps.wakes.pollScreenings = () => polls.screenings.wake()
  deps.kyc.signals.look = () => polls.kycs.wake()
  void wakeWaitingPayments(payments).catch((error: unknown) =>
    log.warn({ err: error }, 'payments that wait for a channel were not woken; each is polled within a day'),
  )
  const expiry: ExpiryChecks = {
    chains: deps.chains.map(({ network }) => network.chainId),
    beforeEnd: (orders) => checkBeforeEnd(payments, orders),
    stuck: openStuckExpiries(deps),
  }
  const tickers: Stoppable[] = [
    byClock('orders.expire', 1000, async () => {
      return (await expireOrders(db, payments.transition, clock(), expiry)) > 0
    }),
    startTicker('orders.totals', 1000, log, () => keepTotals(db)),
    ...Object.values(polls),
    durable,
    byClock('clock.leaps', 5 * MINUTE, () => bringBack({ db, clock, log })),
    startTicker('screening.denyList', 2000, log, () => deps.screening.watch()),
    ...startMoneyChecks(deps),
    byClock('sessions.clean', HOUR, async () => (await deleteEndedSessions(db, daysAgo(30))) > 0),
    byClock('mailbox.clean', HOUR, async () => (await deleteKeptMails(db, daysAgo(7))) > 0),
    byClock('mails.clean', HOUR, async () => (await deleteExpiredMails(db, new Date(clock()))) > 0),
    byClock('notices.clean', HOUR, async () => (await deleteOldNotices(db, daysAgo(30))) > 0),
    byClock('limits.clean', MINUTE, async () => (await deleteOldCounters(db, new Date(clock()))) > 0),
    byClock('payers.retention', HOUR, async () => {
      return (await erasePayersOlderThan(payments.payers, deps.payerRetentionDays)) > 0
    }),
    byClock('notes.retention', HOUR, async () => {
      return (await eraseNotesOlderThan(payments, deps.payerRetentionDays)) > 0
    }),
    byClock('proofs.retention', HOUR, async () => {
      return (await eraseProofsOlderThan(deps.refunds, deps.payerRetentionDays)) > 0
    }),
    byClock('wallets.retention', HOUR, async () => {
      return (await eraseUserAddressesOlderThan(payments, deps.payerRetentionDays)) > 0
    }),
    ...startResealing(deps),
    byClock('kyc.retention', HOUR, async () => (await eraseKycsOlderThan(deps.kyc, deps.payerRetentionDays)) > 0),
    byClock('kyc.clean', HOUR, async () => {
      return void (await deleteOldKycCallbacks(db, new Date(clock() - 2 * CALLBACK_AGE_MS)))
    }),
    ...deps.shopMails.map(({ name, everyMs, isTimed, send }) => {
      const work = () => send(clock())
      return isTimed ? byClock(name, everyMs, work) : startTicker(name, everyMs, log, work)
    }),
    ...deps.partitions.map((spec) =>
      byClock(`partitions.${spec.table}`, HOUR, async () => void (await keepPartitions(db, spec, clock()))),
    ),
    startTicker('requests.trim', 10 * MINUTE, log, () => deps.requestLog.trim()),
    byClock('events.trim', HOUR, () => trimFeed({ db, clock })),
    startTicker('audit.anchor', ANCHOR_EVERY_MS, log, () => deps.anchor.note()),
    byClock('idempotency.clean', HOUR, async () => {
      const before = new Date(clock() - IDEMPOTENCY_RETENTION_MS)
      return (await deleteOldIdempotencyKeys(db, before)) > 0
    }),
  ]
  return {
    async stop() {
      deps.jobQueue.wake = () => {}
      deps.wakes.pollPayments = () => {}
      deps.wakes.pollScreenings = () => {}
      deps.kyc.signals.look = () => {}
      await Promise.all(tickers.map((ticker) => ticker.stop()))
    },
  }
}
