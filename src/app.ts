import type { FastifyBaseLogger, FastifyInstance, RouteOptions } from 'fastify'
import { Registry } from 'prom-client'
import { checkNetwork, NetworkMismatch } from './chain/network-check.ts'
import { type Network, networkFor } from './chain/networks.ts'
import { createRpc, type Rpc } from './chain/rpc.ts'
import { openCryptoChannel, type PayableNetwork } from './channels/crypto/adapter.ts'
import { openChannels } from './channels/registry.ts'
import type { Clock } from './clock.ts'
import { openSaleCache } from './companies/sale-cache.ts'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import { listMigrations } from './db/migrate.ts'
import { checkSchema } from './http/health-queries.ts'
import { healthRoutes } from './http/health-routes.ts'
import { buildServer } from './http/server.ts'
import { startJobs } from './jobs.ts'
import { openCreateOrder } from './orders/order-create.ts'
import { orderExportRoutes } from './orders/order-export-routes.ts'
import { openOrderExports } from './orders/order-export-service.ts'
import { followEventClock } from './orders/order-feed-queries.ts'
import { orderFeedRoutes } from './orders/order-feed-routes.ts'
import { orderRoutes, orderSchemas } from './orders/order-routes.ts'
import { type OrderSignals, openAnnounce, openTransition } from './orders/order-transition.ts'
import { payerRoutes } from './payers/payer-routes.ts'
import type { PayerDeps } from './payers/payer-service.ts'
import { paymentRoutes } from './payments/payment-routes.ts'
import type { PaymentDeps } from './payments/payment-service.ts'
import { rateRoutes } from './rates/rate-routes.ts'
import { openRates } from './rates/rate-service.ts'
import { refundRoutes, revertRoutes } from './refunds/refund-routes.ts'
import type { RefundDeps } from './refunds/refund-service.ts'
import { openApiKeys } from './sessions/api-key-service.ts'
import { openAuthenticate } from './sessions/authenticate.ts'
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
  const app = await buildServer({
    config,
    db,
    clock,
    metrics,
    authenticate: openAuthenticate({ apiKeys }),
    ...(deps.logStream ? { logStream: deps.logStream } : {}),
  })
  for (const schema of orderSchemas) app.addSchema(schema)
  const { log } = app
  if (await followEventClock(db)) log.warn('the data came from another cluster; the event feed goes on behind them')
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
  const exportOrders = openOrderExports({ db, clock, config, connectionString: db.connectionString })
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
        await scope.register(orderExportRoutes, { exportOrders })
        await scope.register(paymentRoutes, payments)
        await scope.register(payerRoutes, payers)
        await scope.register(revertRoutes, refunds)
        await scope.register(rateRoutes, { rates, fiatAssets: config.fiatAssets })
      },
      { prefix },
    )
  }

  await app.register(refundRoutes, { ...refunds, prefix: '/api/next' })
  await app.register(orderFeedRoutes, { db, clock, config, prefix: '/api/next' })
  const webhooks: WebhookDeps = { db, vault, clock, wake, audit: async () => {} }
  await app.register(deliveryRoutes, { ...webhooks, prefix: '/api/next' })
  await app.register(subscriptionRoutes, { ...webhooks, prefix: '/api/next' })
  await app.register(webhookSecretRoutes, { ...webhooks, prefix: '/api/users' })

  let jobs: { stop(): Promise<void> } | undefined
  return {
    app,
    async startWorkers() {
      for (const { rpc, network } of chains) await checkChain(rpc, network, log)
      sender = await startSender({ db, vault, config, clock, log, metrics })
      jobs = startJobs({ db, clock, log, payments, refunds, chains })
    },
    async stopWorkers() {
      await Promise.all([jobs?.stop(), sender?.stop()])
    },
  }
}
