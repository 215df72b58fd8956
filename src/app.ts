import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import type { Clock } from './clock.ts'
import { openSaleCache } from './companies/sale-cache.ts'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import { listMigrations } from './db/migrate.ts'
import { checkSchema } from './http/health-queries.ts'
import { healthRoutes } from './http/health-routes.ts'
import { buildServer } from './http/server.ts'
import { openCreateOrder } from './orders/order-create.ts'
import { orderRoutes, orderSchemas } from './orders/order-routes.ts'
import { openAnnounce, openTransition, type OrderSignals } from './orders/order-transition.ts'
import { rateRoutes } from './rates/rate-routes.ts'
import { openRates } from './rates/rate-service.ts'
import { openApiKeys } from './sessions/api-key-service.ts'
import { openAuthenticate } from './sessions/authenticate.ts'
import type { Vault } from './vault.ts'

export type AppDeps = {
  config: Config
  db: Db
  vault: Vault
  clock: Clock
  signals: OrderSignals
  logStream?: { write(line: string): void }
  isStopping(): boolean
}

/** Prefixes of the conversion endpoints: the canonical one, and the older one, which the reference does not show. */
const PREFIXES = [
  { prefix: '/api/next/confirm_conversion', hide: false },
  { prefix: '/api/confirm_conversion', hide: true },
] as const

/** Every plugin and every route, by name. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { config, db, vault, clock, signals } = deps
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

  const newest = listMigrations().at(-1)?.id ?? ''
  await app.register(healthRoutes, { metrics, isStopping: deps.isStopping, checkReady: () => checkSchema(db, newest) })

  const rates = openRates({ config: config.rates, db, clock, log: app.log })
  const transitionDeps = { clock, vault, payUrl: config.payUrl, signals }
  const announce = openAnnounce(transitionDeps)
  const transition = openTransition(transitionDeps, announce)
  const createOrder = openCreateOrder({ db, clock, config, rates, cache: openSaleCache(db, clock), announce })

  for (const { prefix, hide } of PREFIXES) {
    await app.register(
      async (scope) => {
        if (hide) scope.addHook('onRoute', (route) => void (route.schema = { ...route.schema, hide: true }))
        await scope.register(orderRoutes, { db, config, transition, createOrder })
        await scope.register(rateRoutes, { rates, fiatAssets: config.fiatAssets })
      },
      { prefix },
    )
  }
  return app
}
