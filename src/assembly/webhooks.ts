import type { FastifyInstance } from 'fastify'
import { deliveryRoutes } from '../webhooks/api/delivery-routes.ts'
import { subscriptionRoutes } from '../webhooks/api/subscription-routes.ts'
import { testEventRoutes } from '../webhooks/api/test-event-routes.ts'
import type { Accounts } from './accounts.ts'
import type { Commerce } from './commerce.ts'

/** The API for webhook deliveries, addresses, subscriptions and test events. */
export async function registerWebhooks(
  scope: FastifyInstance,
  { webhooks, rotation }: Pick<Commerce, 'webhooks' | 'rotation'>,
  { limits }: Pick<Accounts, 'limits'>,
): Promise<void> {
  await scope.register(deliveryRoutes, webhooks)
  await scope.register(testEventRoutes, { ...rotation, limits })
  await scope.register(subscriptionRoutes, webhooks)
}
