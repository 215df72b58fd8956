import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../../http/envelope.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import { EVENTS } from '../outbox/events.ts'
import { TestBody, TestResultSchema } from './delivery-schemas.ts'
import type { RotationDeps } from './subscription-service.ts'
import { sendTestEvent } from './test-event.ts'

const Body = Type.Object({
  ...TestBody.properties,
  event: Type.Optional(Type.Enum(Object.fromEntries(EVENTS.map((event) => [event, event])))),
})
const Result = Type.Object({
  id: Type.String({ description: 'The Service-Webhook-Id.' }),
  ...TestResultSchema.properties,
  responseBody: Type.Union([Type.String(), Type.Null()], { description: 'The first 1024 bytes of the answer.' }),
  body: Type.String({ description: 'What was sent.' }),
})

/** Sends a webhook to test a receiver with, under `/webhook-deliveries`. */
export const testEventRoutes: FastifyPluginAsyncTypebox<RotationDeps & { limits: RateLimits }> = async (app, deps) => {
  app.post(
    '/webhook-deliveries/test',
    {
      // each call sends again, and nothing else changes
      config: { permission: 'webhooks.test', ownIdempotency: true },
      schema: {
        operationId: 'sendTestWebhook',
        summary: 'Send a test event to a receiver',
        description:
          'One webhook with a made-up order, signed with your secret, sent once and at once. Its body holds `"test": true` and the code `TEST-ORDER`. At most ten a minute.',
        tags: ['webhooks'],
        body: Body,
        response: { 200: Envelope(Result) },
      },
    },
    async (request, reply) => {
      const context = contextOf(request)
      await deps.limits.checkAccount(request, reply, context.actor.companyId ?? context.actor.id)
      return ok(await sendTestEvent(deps, context, request.body))
    },
  )
}
