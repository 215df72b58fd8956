import type { FastifyBaseLogger, FastifyInstance, RouteOptions } from 'fastify'
import { Registry } from 'prom-client'
import { auditOf, openAudit } from './audit/audit.ts'
import { checkNetwork, NetworkMismatch } from './chain/network-check.ts'
import { type Network, networkFor } from './chain/networks.ts'
import { createRpc, type Rpc } from './chain/rpc.ts'
import { openCryptoChannel, type PayableNetwork } from './channels/crypto/adapter.ts'
import { openChannels } from './channels/registry.ts'
import type { Clock } from './clock.ts'
import { openSaleCache } from './companies/sale-cache.ts'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import { openJobQueue, openJobRunner } from './db/job-runner.ts'
import { listMigrations } from './db/migrate.ts'
import { checkSchema } from './http/health-queries.ts'
import { healthRoutes } from './http/health-routes.ts'
import { openRateLimits } from './http/rate-limits.ts'
import { buildServer } from './http/server.ts'
import { startJobs } from './jobs.ts'
import { auditKeysOf, openServerKeys } from './keys/server-key-service.ts'
import { MAIL_JOB, openMailer } from './mail/mail.ts'
import { keepsMails, openMailJob } from './mail/mail-jobs.ts'
import { openCreateOrder } from './orders/order-create.ts'
import { orderRoutes, orderSchemas } from './orders/order-routes.ts'
import { type OrderSignals, openAnnounce, openTransition } from './orders/order-transition.ts'
import { mailboxRoutes } from './pages/mailbox-routes.ts'
import { verifyRoutes } from './pages/verify-routes.ts'
import { payerRoutes } from './payers/payer-routes.ts'
import type { PayerDeps } from './payers/payer-service.ts'
import { paymentRoutes } from './payments/payment-routes.ts'
import type { PaymentDeps } from './payments/payment-service.ts'
import { rateRoutes } from './rates/rate-routes.ts'
import { openRates } from './rates/rate-service.ts'
import { refundRoutes, revertRoutes } from './refunds/refund-routes.ts'
import type { RefundDeps } from './refunds/refund-service.ts'
import { openAccessTokens } from './sessions/access-token.ts'
import { openApiKeys } from './sessions/api-key-service.ts'
import { authRoutes } from './sessions/auth-routes.ts'
import { openAuth } from './sessions/auth-service.ts'
import { openAuthenticate } from './sessions/authenticate.ts'
import { passwordRoutes } from './sessions/password-routes.ts'
import { NO_MAIL_JOB } from './sessions/reset-service.ts'
import { sessionRoutes } from './sessions/session-routes.ts'
import { openSessions } from './sessions/session-service.ts'
import { openPasswords } from './users/password.ts'
import { readRefusedPasswords } from './users/refused-passwords.ts'
import { userRoutes } from './users/user-routes.ts'
import { UserSchema } from './users/user-schemas.ts'
import type { SessionHooks } from './users/user-service.ts'
import type { Vault } from './vault.ts'
import { subscriptionRoutes, webhookSecretRoutes } from './webhooks/account-routes.ts'
import { deliveryRoutes } from './webhooks/delivery-routes.ts'
import type { WebhookDeps } from './webhooks/delivery-service.ts'
import { type Sender, startSender } from './webhooks/sender.ts'

export type ServiceDeps = {
  config: Config
  db: Db
  vault: Vault
  clock: Clock
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

function openChains(config: Config) {
  return config.chains.map((chain) => ({
    network: networkFor(chain),
    rpc: createRpc({ url: chain.rpcUrl }),
    xpub: chain.xpub,
  }))
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

/** Builds the parts and joins them: every plugin, route and worker by name. */
export async function buildService(deps: ServiceDeps): Promise<Service> {
  const { config, db, vault, clock } = deps
  const metrics = new Registry()
  const apiKeys = openApiKeys({ db, clock })
  const limits = openRateLimits({ db, clock, limits: config.limits })
  const jobQueue = openJobQueue({ clock })
  const mailer = openMailer({ jobs: jobQueue, vault, clock })
  const serverKeys = openServerKeys({ db, vault, clock })
  const audit = openAudit({ db, clock, keys: auditKeysOf(serverKeys) })
  const tokens = openAccessTokens({ keys: serverKeys, clock, issuer: config.baseUrl })
  const sessions = openSessions({ db, clock, vault, tokens, audit, mailer })
  const app = await buildServer({
    config,
    db,
    clock,
    vault,
    metrics,
    limits,
    authenticate: openAuthenticate({ apiKeys, sessions }),
    ...(deps.logStream ? { logStream: deps.logStream } : {}),
  })
  for (const schema of [...orderSchemas, UserSchema]) app.addSchema(schema)
  const { log } = app
  const newest = listMigrations().at(-1)?.id ?? ''
  await app.register(healthRoutes, { metrics, isStopping: deps.isStopping, checkReady: () => checkSchema(db, newest) })

  let sender: Sender | undefined
  const wake = (companyId?: string): void => sender?.wake(companyId)
  const signals: OrderSignals = { onDelivery: wake, onChange: () => {} }
  const chains = openChains(config)
  const payable = chains.filter((chain): chain is typeof chain & PayableNetwork => chain.xpub !== null)
  const rates = openRates({ config: config.rates, db, clock, log })
  const transitionDeps = { clock, vault, payUrl: config.payUrl, signals }
  const announce = openAnnounce(transitionDeps)
  const transition = openTransition(transitionDeps, announce)
  const createOrder = openCreateOrder({ db, clock, config, rates, cache: openSaleCache(db, clock), announce })
  const payers: PayerDeps = { db, vault, clock, rates }
  const payments: PaymentDeps = {
    payers,
    db,
    clock,
    vault,
    config,
    channels: openChannels(payable.length > 0 ? [openCryptoChannel({ db, payable })] : []),
    transition,
  }

  const refunds: RefundDeps = {
    db,
    clock,
    channels: payments.channels,
    transition,
    payers,
    askForAddress: async () => {},
  }

  for (const { prefix, hide } of PREFIXES) {
    await app.register(
      async (scope) => {
        if (hide) scope.addHook('onRoute', hideFromReference)
        await scope.register(orderRoutes, { db, config, transition, createOrder })
        await scope.register(paymentRoutes, payments)
        await scope.register(payerRoutes, payers)
        await scope.register(revertRoutes, refunds)
        await scope.register(rateRoutes, { rates, fiatAssets: config.fiatAssets })
      },
      { prefix },
    )
  }

  const passwords = openPasswords()
  const refusedPasswords = readRefusedPasswords(config.passwordListFile)
  const base = { db, clock, vault, config, sessions, mailer, jobs: jobQueue, audit, limits }
  const auth = openAuth({ ...base, passwords, refusedPasswords })
  await app.register(
    async (scope) => {
      await scope.register(authRoutes, auth)
      await scope.register(sessionRoutes, auth)
      await scope.register(passwordRoutes, auth)
    },
    { prefix: '/api/next/auth' },
  )
  const hooks: SessionHooks = {
    endSessions: (tx, userId, reason) => sessions.endAll(tx, userId, reason),
    forgetSessions: sessions.forget,
    sendInvitation: auth.resets.invite,
    removeTwoFactor: auth.twoFactor.remove,
  }
  await app.register(userRoutes, { db, clock, audit, mailer, config, hooks, prefix: '/api/next' })
  await app.register(verifyRoutes, auth)
  if (keepsMails(config)) await app.register(mailboxRoutes, { db })

  await app.register(refundRoutes, { ...refunds, prefix: '/api/next' })
  const webhooks: WebhookDeps = { db, vault, clock, wake, audit: auditOf(audit) }
  await app.register(deliveryRoutes, { ...webhooks, prefix: '/api/next' })
  await app.register(subscriptionRoutes, { ...webhooks, prefix: '/api/next' })
  await app.register(webhookSecretRoutes, { ...webhooks, prefix: '/api/users' })

  let jobs: { stop(): Promise<void> } | undefined
  return {
    app,
    async startWorkers() {
      for (const { rpc, network } of chains) await checkChain(rpc, network, log)
      sender = await startSender({ db, vault, config, clock, log, metrics })
      const handlers = { [MAIL_JOB]: openMailJob({ db, vault, clock, config }), [NO_MAIL_JOB]: { run: async () => {} } }
      const runner = openJobRunner({ db, clock, log, handlers })
      jobs = startJobs({ db, clock, log, payments, refunds, chains, runner, jobQueue })
    },
    async stopWorkers() {
      await Promise.all([jobs?.stop(), sender?.stop()])
    },
  }
}
