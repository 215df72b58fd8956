import type { FastifyInstance, RouteOptions } from 'fastify'
import { companyRoutes } from '../companies/company-routes.ts'
import { kycCallbackRoutes, kycRoutes } from '../compliance/kyc-routes.ts'
import { readsFrom } from '../db/stale-reads.ts'
import { addOldState, takeOldInput } from '../http/old-clients.ts'
import type { OperatorDeps } from '../operator/operator-routes.ts'
import { orderExportRoutes } from '../orders/export/export-routes.ts'
import { orderFeedRoutes } from '../orders/feed/event-feed-routes.ts'
import { orderRoutes } from '../orders/order-routes.ts'
import { storyRoutes } from '../orders/story/story-routes.ts'
import { summaryRoutes } from '../orders/summary/summary-routes.ts'
import { channelRoutes } from '../payments/accounts/channel-routes.ts'
import { callbackRoutes } from '../payments/callbacks/callback-routes.ts'
import { paymentRoutes } from '../payments/payment-routes.ts'
import { startReadings } from '../rates/rate-readings.ts'
import { rateRoutes } from '../rates/rate-routes.ts'
import { revertRoutes } from '../refunds/refund-routes.ts'
import type { RequestLog } from '../request-log/request-log.ts'
import { requestLogRoutes } from '../request-log/request-log-routes.ts'
import { screeningRoutes } from '../screening/screening-routes.ts'
import { apiKeyRoutes } from '../sessions/api-keys/api-key-routes.ts'
import { authRoutes } from '../sessions/auth-routes.ts'
import { deviceLoginRoutes } from '../sessions/device-login/device-login-routes.ts'
import { passkeyRoutes } from '../sessions/passkey-routes.ts'
import { passwordRoutes } from '../sessions/password-routes.ts'
import { sessionRoutes } from '../sessions/session-routes.ts'
import { userRoutes } from '../users/user-routes.ts'
import { webhookRotationRoutes, webhookSecretRoutes } from '../webhooks/api/subscription-routes.ts'
import type { Accounts } from './accounts.ts'
import type { Commerce } from './commerce.ts'
import { registerOperation } from './operation.ts'
import { registerMoney, registerPayers } from './payments.ts'
import type { ServiceBase } from './service-base.ts'
import { registerButtonSessions, registerShops } from './shops.ts'
import { registerWebhooks } from './webhooks.ts'

/** Prefixes of the conversion endpoints: the canonical one, and the older one, which the reference does not show. */
const PREFIXES = [
  { prefix: '/api/next/confirm_conversion', hide: false },
  { prefix: '/api/confirm_conversion', hide: true },
] as const

function hideFromReference(route: RouteOptions): void {
  route.schema = { ...route.schema, hide: true }
}

/** Every route of the API, by name. */
export async function registerApi(
  app: FastifyInstance,
  { config, db, reads = readsFrom(db), clock, vault }: ServiceBase,
  accounts: Accounts,
  trade: Commerce & { requestLog: RequestLog; examine: OperatorDeps['examine'] },
): Promise<void> {
  const { auth, limits } = accounts
  const { companies } = trade
  if (config.roles.includes('api')) startReadings(app, trade.rates)
  for (const { prefix, hide } of PREFIXES) {
    await app.register(
      async (scope) => {
        takeOldInput(scope)
        if (hide) {
          scope.addHook('onRoute', hideFromReference)
          addOldState(scope)
        }
        const { transition, createOrder, exportOrders, rates } = trade
        await scope.register(orderRoutes, { db, reads, config, transition, createOrder, limits })
        await scope.register(storyRoutes, { db })
        await scope.register(orderExportRoutes, { exportOrders })
        await scope.register(paymentRoutes, { ...trade.payments, deposits: trade.deposits, limits })
        await registerPayers(scope, { reads, config }, trade)
        await scope.register(revertRoutes, trade.refunds)
        await scope.register(rateRoutes, { rates, fiatAssets: config.fiatAssets })
      },
      { prefix },
    )
  }
  await app.register(
    async (scope) => {
      await registerMoney(scope, trade)
      await scope.register(channelRoutes, trade.channelDesk)
      await scope.register(callbackRoutes, { ...trade.callbacks, limits })
      await scope.register(kycRoutes, trade.kyc)
      await scope.register(kycCallbackRoutes, { ...trade.kyc, live: config.mode === 'live' })
      await scope.register(screeningRoutes, trade.screening.decisions)
      await scope.register(orderFeedRoutes, { db, clock, config })
      await scope.register(summaryRoutes, { db, reads, clock })
      await registerWebhooks(scope, trade, accounts)
      await scope.register(authRoutes, { ...auth, prefix: '/auth' })
      await scope.register(sessionRoutes, { ...auth, prefix: '/auth' })
      await scope.register(passkeyRoutes, { ...auth, prefix: '/auth' })
      await scope.register(passwordRoutes, { ...auth, prefix: '/auth' })
      await scope.register(userRoutes, accounts.users)
      await scope.register(apiKeyRoutes, accounts.apiKeyDeps)
      await scope.register(deviceLoginRoutes, { ...accounts.deviceLogins, prefix: '/auth' })
      await registerOperation(scope, { config, db, clock }, { ...trade, audit: accounts.audit })
      await scope.register(requestLogRoutes, { db, requestLog: trade.requestLog })
      await scope.register(companyRoutes, companies)
      await registerShops(scope, { base: { config, vault }, accounts, trade })
    },
    { prefix: '/api/next' },
  )
  await app.register(
    async (scope) => {
      scope.addHook('onRoute', hideFromReference)
      await registerButtonSessions(scope, { base: { vault, config }, trade })
    },
    { prefix: '/api' },
  )
  await app.register(webhookSecretRoutes, { ...trade.webhooks, prefix: '/api/users' })
  await app.register(webhookRotationRoutes, { ...trade.rotation, prefix: '/api/users' })
}
