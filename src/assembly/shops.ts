import type { FastifyInstance } from 'fastify'
import { buttonRoutes, buttonSessionRoutes } from '../companies/button-routes.ts'
import { staticLinkRoutes } from '../companies/static-links/static-link-routes.ts'
import { tillRoutes } from '../companies/till-routes.ts'
import { tillDeviceRoutes } from '../tills/device-routes.ts'
import { tillSessionRoutes } from '../tills/till-session-routes.ts'
import type { Accounts } from './accounts.ts'
import type { Commerce } from './commerce.ts'
import type { ServiceBase } from './service-base.ts'

type ShopParts = { base: Pick<ServiceBase, 'config' | 'vault'>; accounts: Accounts; trade: Commerce }

/** Where a company sells: its tills and their devices, its buttons on websites. */
export async function registerShops(scope: FastifyInstance, { base, accounts, trade }: ShopParts): Promise<void> {
  const { auth, tillCookies } = accounts
  const devices = accounts.cookieOwners.device
  await scope.register(tillRoutes, trade.companies)
  await scope.register(tillDeviceRoutes, auth)
  await scope.register(tillSessionRoutes, { ...auth, config: base.config, tillCookies, devices, prefix: '/till' })
  await scope.register(buttonRoutes, trade.companies)
  await scope.register(staticLinkRoutes, trade.companies)
  await registerButtonSessions(scope, { base, trade })
}

/** Also under the older prefix, because closing a dialog there ends its session. */
export async function registerButtonSessions(
  scope: FastifyInstance,
  { base, trade }: Pick<ShopParts, 'base' | 'trade'>,
): Promise<void> {
  await scope.register(buttonSessionRoutes, { ...trade.companies, vault: base.vault })
}
