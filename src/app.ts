import type { FastifyInstance, RouteOptions } from 'fastify'
import { Registry } from 'prom-client'
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
import { orderRoutes, orderSchemas } from './orders/order-routes.ts'
import { type OrderSignals, openAnnounce, openTransition } from './orders/order-transition.ts'
import { openOrderFeed } from './pages/order-feed.ts'
import { payRoutes } from './pages/pay-routes.ts'
import type { ChainWindow } from './pages/pay-service.ts'
import { paymentRoutes } from './payments/payment-routes.ts'
import type { PaymentDeps } from './payments/payment-service.ts'
import { rateRoutes } from './rates/rate-routes.ts'
import { openRates } from './rates/rate-service.ts'
import { openApiKeys } from './sessions/api-key-service.ts'
import { openAuthenticate } from './sessions/authenticate.ts'
import type { Vault } from './vault.ts'

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

/** No chain is watched yet: its number is all that pages can tell of it. */
const NO_CHAIN: ChainWindow = { nameOf: (chainId) => `Chain ${chainId}`, progressOf: async () => null }

function hideFromReference(route: RouteOptions): void {
  route.schema = { ...route.schema, hide: true }
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
  const newest = listMigrations().at(-1)?.id ?? ''
  await app.register(healthRoutes, { metrics, isStopping: deps.isStopping, checkReady: () => checkSchema(db, newest) })

  const feed = openOrderFeed({ db, log })
  const signals: OrderSignals = { onDelivery: () => {}, onChange: feed.changed }
  const rates = openRates({ config: config.rates, db, clock, log })
  const transitionDeps = { clock, vault, payUrl: config.payUrl, signals }
  const announce = openAnnounce(transitionDeps)
  const transition = openTransition(transitionDeps, announce)
  const createOrder = openCreateOrder({ db, clock, config, rates, cache: openSaleCache(db, clock), announce })
  const payments: PaymentDeps = { db, clock, vault, config, channels: openChannels([]), transition }

  for (const { prefix, hide } of PREFIXES) {
    await app.register(
      async (scope) => {
        if (hide) scope.addHook('onRoute', hideFromReference)
        await scope.register(orderRoutes, { db, config, transition, createOrder })
        await scope.register(paymentRoutes, payments)
        await scope.register(rateRoutes, { rates, fiatAssets: config.fiatAssets })
      },
      { prefix },
    )
  }

  await app.register(payRoutes, {
    ...payments,
    config,
    feed,
    chain: NO_CHAIN,
    providersUrl: config.sandbox.providersUrl,
  })

  let jobs: { stop(): Promise<void> } | undefined
  return {
    app,
    async startWorkers() {
      jobs = startJobs({ db, clock, log, payments })
    },
    async stopWorkers() {
      await jobs?.stop()
    },
  }
}
