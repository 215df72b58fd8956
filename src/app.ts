import type { FastifyBaseLogger, FastifyInstance, RouteOptions } from 'fastify'
import { Registry } from 'prom-client'
import { auditRoutes } from './audit/audit-routes.ts'
import { checkNetwork, NetworkMismatch } from './chain/network-check.ts'
import type { Network } from './chain/networks.ts'
import type { Rpc } from './chain/rpc.ts'
import { buttonRoutes, buttonSessionRoutes } from './companies/button-routes.ts'
import { companyRoutes } from './companies/company-routes.ts'
import { COMPANY_SCHEMAS } from './companies/company-schemas.ts'
import { tillRoutes } from './companies/till-routes.ts'
import { kycCallbackRoutes, kycRoutes } from './compliance/kyc-routes.ts'
import { KycSchema } from './compliance/kyc-schemas.ts'
import { openJobRunner } from './db/job-runner.ts'
import { listMigrations } from './db/migrate.ts'
import { checkSchema } from './http/health-queries.ts'
import { healthRoutes } from './http/health-routes.ts'
import { addOldState, takeOldInput } from './http/old-clients.ts'
import { buildServer } from './http/server.ts'
import { startJobs } from './jobs.ts'
import { settlementRoutes } from './ledger/settlement-routes.ts'
import { MAIL_JOB } from './mail/mail.ts'
import { keepsMails, openMailJob } from './mail/mail-jobs.ts'
import { orderExportRoutes } from './orders/export/export-routes.ts'
import { orderFeedRoutes } from './orders/feed/event-feed-routes.ts'
import { orderRoutes, orderSchemas } from './orders/order-routes.ts'
import { storyRoutes } from './orders/story/story-routes.ts'
import { verifyRoutes } from './pages/account/verify-routes.ts'
import { docsRoutes } from './pages/docs/docs-routes.ts'
import { kycPageRoutes } from './pages/identity/kyc-page-routes.ts'
import { mailboxRoutes } from './pages/mailbox/mailbox-routes.ts'
import { payRoutes } from './pages/pay/pay-routes.ts'
import { refundPageRoutes } from './pages/refund/refund-page-routes.ts'
import { type Accounts, type Ground, openAccounts, openTrade, type Trade } from './parts.ts'
import { payerRoutes } from './payers/payer-routes.ts'
import { channelRoutes } from './payments/accounts/channel-routes.ts'
import { callbackRoutes } from './payments/callback-routes.ts'
import { mispaymentRoutes } from './payments/mispayments/mispayment-routes.ts'
import { paymentRoutes } from './payments/payment-routes.ts'
import { rateRoutes } from './rates/rate-routes.ts'
import { refundRoutes, revertRoutes } from './refunds/refund-routes.ts'
import { apiKeyRoutes } from './sessions/api-keys/api-key-routes.ts'
import { authRoutes } from './sessions/auth-routes.ts'
import { passwordRoutes } from './sessions/password-routes.ts'
import { NO_MAIL_JOB } from './sessions/reset-service.ts'
import { sessionRoutes } from './sessions/session-routes.ts'
import { userRoutes } from './users/user-routes.ts'
import { UserSchema } from './users/user-schemas.ts'
import { deliveryRoutes } from './webhooks/api/delivery-routes.ts'
import { subscriptionRoutes, webhookRotationRoutes, webhookSecretRoutes } from './webhooks/api/subscription-routes.ts'
import { startSender } from './webhooks/sender/sender.ts'

export type ServiceDeps = Pick<Ground, 'config' | 'db' | 'vault' | 'clock'> & {
  logStream?: { write(line: string): void }
  isStopping(): boolean
}

export type Service = {
  app: FastifyInstance
  startWorkers(): Promise<void>
  stopWorkers(): Promise<void>
}

/** Prefixes of the conversion endpoints: the canonical one, and the older one, which the reference does not show. */
const PREFIXES = [
  { prefix: '/api/next/confirm_conversion', hide: false },
  { prefix: '/api/confirm_conversion', hide: true },
] as const

function hideFromReference(route: RouteOptions): void {
  route.schema = { ...route.schema, hide: true }
}

/** What is being sent may end for this long; the rest is due again at the next start. */
const STOP_MS = 4000

/** Every route of the API, by name. */
async function registerApi(
  app: FastifyInstance,
  { config, db, clock }: Ground,
  accounts: Accounts,
  trade: Trade,
): Promise<void> {
  const { auth } = accounts
  const { companies } = trade
  for (const { prefix, hide } of PREFIXES) {
    await app.register(
      async (scope) => {
        takeOldInput(scope)
        if (hide) {
          scope.addHook('onRoute', hideFromReference)
          addOldState(scope)
        }
        const { transition, createOrder, exportOrders, rates } = trade
        await scope.register(orderRoutes, { db, config, transition, createOrder })
        await scope.register(storyRoutes, { db })
        await scope.register(orderExportRoutes, { exportOrders })
        await scope.register(paymentRoutes, trade.payments)
        await scope.register(payerRoutes, trade.payers)
        await scope.register(revertRoutes, trade.refunds)
        await scope.register(rateRoutes, { rates, fiatAssets: config.fiatAssets })
      },
      { prefix },
    )
  }
  await app.register(
    async (scope) => {
      await scope.register(refundRoutes, trade.refunds)
      await scope.register(mispaymentRoutes, trade.mispayments)
      await scope.register(channelRoutes, trade.channelDesk)
      await scope.register(callbackRoutes, trade.callbacks)
      await scope.register(kycRoutes, trade.kyc)
      await scope.register(kycCallbackRoutes, { ...trade.kyc, live: config.mode === 'live' })
      await scope.register(orderFeedRoutes, { db, clock, config })
      await scope.register(settlementRoutes, trade.settlements)
      await scope.register(deliveryRoutes, trade.webhooks)
      await scope.register(subscriptionRoutes, trade.webhooks)
      await scope.register(authRoutes, { ...auth, prefix: '/auth' })
      await scope.register(sessionRoutes, { ...auth, prefix: '/auth' })
      await scope.register(passwordRoutes, { ...auth, prefix: '/auth' })
      await scope.register(userRoutes, accounts.users)
      await scope.register(apiKeyRoutes, accounts.apiKeyDeps)
      await scope.register(auditRoutes, { db })
      await scope.register(companyRoutes, companies)
      await scope.register(tillRoutes, companies)
      await scope.register(buttonRoutes, companies)
      await scope.register(buttonSessionRoutes, companies)
    },
    { prefix: '/api/next' },
  )
  await app.register(
    async (scope) => {
      scope.addHook('onRoute', hideFromReference)
      await scope.register(buttonSessionRoutes, companies)
    },
    { prefix: '/api' },
  )
  await app.register(webhookSecretRoutes, { ...trade.webhooks, prefix: '/api/users' })
  await app.register(webhookRotationRoutes, { ...trade.rotation, prefix: '/api/users' })
}

/** Every page, by name. */
async function registerPages(
  app: FastifyInstance,
  { config, db }: Ground,
  { auth }: Accounts,
  trade: Trade,
): Promise<void> {
  const { networkName } = trade
  const { providersUrl } = config.sandbox
  await app.register(payRoutes, { ...trade.payments, config, feed: trade.feed, networkName, providersUrl })
  const tokens = trade.chains.map(({ network }) => network.usdcAddress.toLowerCase())
  await app.register(refundPageRoutes, { ...trade.refunds, payUrl: config.payUrl, networkName, tokens })
  await app.register(kycPageRoutes, { ...trade.kyc, payUrl: config.payUrl })
  await app.register(docsRoutes)
  await app.register(verifyRoutes, auth)
  if (keepsMails(config)) await app.register(mailboxRoutes, { db })
}

/** A chain that is not what was configured stops the start; one that does not answer is scanned as soon as it does. */
async function checkChain(rpc: Rpc, network: Network, log: FastifyBaseLogger): Promise<void> {
  try {
    await checkNetwork(rpc, network)
  } catch (error) {
    if (error instanceof NetworkMismatch) throw error
    log.warn({ err: error, chainId: network.chainId }, 'the chain does not answer; it is asked again')
  }
}

async function startWorkers(ground: Ground, accounts: Accounts, trade: Trade): Promise<{ stop(): Promise<void> }> {
  const { config, db, vault, clock, log, metrics } = ground
  for (const { rpc, network } of trade.chains) await checkChain(rpc, network, log)
  const sender = await startSender({ db, vault, config, clock, log, metrics })
  trade.seat.sender = sender
  const handlers = { [MAIL_JOB]: openMailJob({ db, vault, clock, config }), [NO_MAIL_JOB]: { run: async () => {} } }
  const runner = openJobRunner({ db, clock, log, handlers })
  const { payments, refunds, settlements, chains, failures, kyc } = trade
  const jobs = startJobs({
    db,
    clock,
    log,
    payments,
    refunds,
    settlements,
    kyc,
    chains,
    failures,
    payerRetentionDays: config.payerRetentionDays,
    exchangeRetentionDays: config.exchangeRetentionDays,
    rounds: trade.rounds,
    runner,
    jobQueue: accounts.jobs,
  })
  return {
    async stop() {
      await Promise.all([jobs.stop(), sender.stop(STOP_MS)])
    },
  }
}

/** Builds the parts, gives them their addresses, and starts the workers when asked to. */
export async function buildService(deps: ServiceDeps): Promise<Service> {
  const { config, db, vault, clock } = deps
  const metrics = new Registry()
  const accounts = openAccounts({ config, db, vault, clock })
  const { authenticate, limits } = accounts
  const logStream = deps.logStream ? { logStream: deps.logStream } : {}
  const app = await buildServer({ config, db, clock, vault, metrics, limits, authenticate, ...logStream })
  for (const schema of [...orderSchemas, ...COMPANY_SCHEMAS, UserSchema, KycSchema]) app.addSchema(schema)
  // without its database a node starts, says so at /readyz, and gets ready when the database is back
  await accounts.keys.prepare().catch((error: unknown) => app.log.warn({ err: error }, 'the keys cannot be read yet'))
  const ground: Ground = { config, db, vault, clock, metrics, log: app.log }
  const trade = openTrade(ground, accounts)
  app.addHook('onClose', async () => {
    await Promise.all([trade.rotation.attempts.close(), trade.channels.close()])
  })
  const newest = listMigrations().at(-1)?.id ?? ''
  await app.register(healthRoutes, { metrics, isStopping: deps.isStopping, checkReady: () => checkSchema(db, newest) })
  await registerApi(app, ground, accounts, trade)
  await registerPages(app, ground, accounts, trade)
  let workers: { stop(): Promise<void> } | undefined
  return {
    app,
    async startWorkers() {
      workers = await startWorkers(ground, accounts, trade)
    },
    async stopWorkers() {
      await workers?.stop()
    },
  }
}
