import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { type Accounts, openAccounts } from './assembly/accounts.ts'
import { registerApi } from './assembly/api.ts'
import { type Commerce, openCommerce } from './assembly/commerce.ts'
import { openExamine } from './assembly/examine.ts'
import { registerPages } from './assembly/pages.ts'
import type { ServiceBase } from './assembly/service-base.ts'
import { openDailyAlarm } from './assembly/upkeep/daily-alarm.ts'
import { startUpkeep } from './assembly/upkeep/upkeep.ts'
import { openAnchor } from './audit/anchor.ts'
import { checkEndpoints } from './chain/endpoints/start-check.ts'
import { checkReady, listChainChecks } from './checks/ready-checks.ts'
import { openButtonOrigins } from './companies/button-origins.ts'
import { COMPANY_SCHEMAS } from './companies/company-schemas.ts'
import { StaticLinkSchema } from './companies/static-links/static-link-schemas.ts'
import { KycSchema } from './compliance/kyc-schemas.ts'
import { openKnownBackups } from './db/backup/newest-backup.ts'
import { openJobRunner } from './db/job-runner.ts'
import { registerDbMetrics } from './db/metrics/db-metrics.ts'
import { listMigrations } from './db/migrate.ts'
import { partitionedTables } from './db/partitioned-tables.ts'
import { openReads } from './db/stale-reads.ts'
import { healthRoutes } from './http/health/health-routes.ts'
import { buildServer } from './http/server.ts'
import { traceService } from './http/tracing/service-traces.ts'
import { type JobDeps, startChainJobs, startJobs } from './jobs.ts'
import { MAIL_JOB, type MailOrder } from './mail/mail.ts'
import { openMailJob } from './mail/mail-jobs.ts'
import { orderSchemas } from './orders/order-routes.ts'
import { sendErrorPage } from './pages/shared/error-page.ts'
import { noteUnasked } from './refunds/destination/refund-address.ts'
import { type RequestLog, registerRequestLog } from './request-log/request-log.ts'
import { NO_MAIL_JOB } from './sessions/reset-service.ts'
import { DeviceSchema } from './tills/till-schemas.ts'
import { UserSchema } from './users/user-schemas.ts'
import { startSender } from './webhooks/sender/sender.ts'

export type ServiceDeps = Pick<ServiceBase, 'config' | 'db' | 'vault' | 'clock' | 'demoButtonId'> & {
  logStream?: { write(line: string): void }
  isStopping(): boolean
  /** `clock` is the machine's, which may be wrong: jobs delete and expire only while it agrees with the database's. */
  guardsClock?: boolean
  /** The database is a copy for a rehearsal: no worker starts, and only reads are answered. */
  isRehearsal?: boolean
  /** One of several processes: its series carry its name, and its `/metrics` shows the metrics of all. */
  process?: { name: string; scrapeAll(): Promise<string> }
}

export type Service = {
  app: FastifyInstance
  metrics: Registry
  /** Resolves when all of them run. @throws NetworkMismatch when a chain's token is not USDC; then none runs */
  startWorkers(): Promise<void>
  stopWorkers(): Promise<void>
}

/** Time for webhook attempts in progress to end; the rest is due again at the next start. */
const STOP_MS = 4000

type Workers = {
  /** @throws NetworkMismatch */
  chainsStarted: Promise<void>
  stop(): Promise<void>
}

/** Nodes of chains that hang, or are down, hold up nothing but the jobs of chains and payouts. */
async function startWorkers(
  base: ServiceBase,
  accounts: Accounts,
  trade: Commerce & { requestLog: RequestLog; guardsClock: boolean },
): Promise<Workers> {
  const { config, db, vault, clock, log, metrics } = base
  const mailParked = openDailyAlarm({ db, clock, alarm: trade.alarm }, 'A webhook was parked')
  const sender = await startSender({
    ...{ db, vault, config, clock, log, metrics, tracer: base.tracer },
    onParked: (deliveryId) =>
      mailParked([
        `The process that sent the delivery ${deliveryId} ended three times in a row, so it is not tried again by itself.`,
        'Look for the reason in the log, then send it again under Webhooks. This mail comes once a day at most; all that ' +
          'are parked are listed there.',
      ]),
  })
  trade.senderHandle.sender = sender
  const onDropped = async ({ refundId }: MailOrder): Promise<void> => {
    if (refundId !== undefined) await noteUnasked(trade.refunds, refundId)
  }
  const handlers = {
    [MAIL_JOB]: openMailJob({ db, vault, clock, log, metrics, config, onDropped }),
    [NO_MAIL_JOB]: { run: async () => {} },
  }
  const runner = openJobRunner({ db, clock, log, handlers })
  const { refunds, settlements, chains, shopMails, kyc, screening } = trade
  const payments = { ...trade.payments, deposits: trade.deposits }
  const jobDeps: JobDeps = {
    db,
    clock,
    log,
    metrics,
    payments,
    refunds,
    settlements,
    kyc,
    screening,
    chains,
    chainPollMs: config.chainPollMs,
    shopMails,
    alarm: trade.alarm,
    anchor: openAnchor({ db, clock, log, metrics, file: config.auditAnchorFile }),
    payerRetentionDays: config.payerRetentionDays,
    partitions: partitionedTables(config),
    requestLog: trade.requestLog,
    wakes: trade.wakes,
    runner,
    jobQueue: accounts.jobs,
    config,
    guardsClock: trade.guardsClock,
  }
  const started = [startJobs(jobDeps), startUpkeep({ ...base, alarm: trade.alarm })]
  let isStopped = false
  const startChains = async (): Promise<void> => {
    await Promise.all(chains.map((chain) => checkEndpoints(chain, log)))
    if (!isStopped) started.push(startChainJobs(jobDeps))
  }
  return {
    chainsStarted: startChains(),
    async stop() {
      isStopped = true
      await Promise.all([...started.map((one) => one.stop()), sender.stop(STOP_MS)])
    },
  }
}

/** Builds the parts, registers their routes, and starts the workers if configured. */
export async function buildService(deps: ServiceDeps): Promise<Service> {
  const { config, db, vault, clock, demoButtonId, isRehearsal = false } = deps
  const metrics = new Registry()
  registerDbMetrics(db, metrics, MAIL_JOB)
  if (deps.process) metrics.setDefaultLabels({ process: deps.process.name })
  const accounts = openAccounts({ config, db, vault, clock })
  const { authenticate, limits, cookieOwners } = accounts
  const logStream = deps.logStream ? { logStream: deps.logStream } : {}
  const isShop = openButtonOrigins(db, clock)
  const app = await buildServer({
    config,
    db,
    clock,
    vault,
    metrics,
    limits,
    cookieOwners,
    authenticate,
    isShop,
    errorPage: sendErrorPage,
    isRehearsal,
    ...logStream,
  })
  const requestLog = registerRequestLog(app, {
    ...{ db, clock, days: config.requestLogDays, perCompany: config.requestLogPerCompany },
  })
  for (const schema of [...orderSchemas, ...COMPANY_SCHEMAS, StaticLinkSchema, DeviceSchema, UserSchema, KycSchema])
    app.addSchema(schema)
  // without its database a node starts, reports it at /readyz, and becomes ready when the database is back
  await accounts.keys.prepare().catch((error: unknown) => app.log.warn({ err: error }, 'the keys cannot be read yet'))
  const tracer = traceService(app, config, metrics)
  const reads = openReads(db, { config, metrics, log: app.log })
  app.addHook('onClose', () => reads.stop())
  const backups = openKnownBackups(config)
  const base: ServiceBase = { config, db, vault, clock, demoButtonId, metrics, log: app.log, tracer, reads, backups }
  const trade = openCommerce(base, accounts)
  app.addHook('onClose', async () => {
    await Promise.all([trade.rotation.attempts.close(), trade.channels.close(), trade.screening.close()])
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (deps.isStopping()) reply.header('connection', 'close')
    done()
  })
  const newest = listMigrations().at(-1)?.id ?? ''
  const isReady = () => checkReady(db, newest, isRehearsal)
  await app.register(healthRoutes, {
    metrics: deps.process ? { contentType: metrics.contentType, metrics: deps.process.scrapeAll } : metrics,
    ...{ baseUrl: config.baseUrl, authenticate, isStopping: deps.isStopping, checkReady: isReady },
    listChecks: () => listChainChecks(trade.chainHealth),
    ...{ metricsToken: config.metricsToken, showMetrics: config.metricsPort === null },
  })
  const examine = openExamine(base, [isReady, async () => listChainChecks(trade.chainHealth)])
  await registerApi(app, base, accounts, { ...trade, requestLog, examine })
  await registerPages(app, base, accounts, trade)
  let workers: Workers | undefined
  return {
    app,
    metrics,
    async startWorkers() {
      if (isRehearsal) return
      workers = await startWorkers(base, accounts, { ...trade, requestLog, guardsClock: deps.guardsClock === true })
      try {
        await workers.chainsStarted
      } catch (error) {
        await workers.stop()
        throw error
      }
    },
    async stopWorkers() {
      await workers?.stop()
    },
  }
}
