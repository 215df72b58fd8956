import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '../../db/db.ts'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { CodeParams } from '../order-schemas.ts'
import { readStory, StorySchema } from './order-history.ts'

/** The history of one order, under the conversion endpoints. */
export const orderStoryRoutes: FastifyPluginAsyncTypebox<{ db: Db }> = async (app, { db }) => {
  app.get(
    '/history/:code',
    {
      config: { permission: 'orders.history' },
      schema: {
        operationId: 'getOrderHistory',
        summary: 'Everything that happened to an order',
        description:
          'States with who caused them, payments, transfers on the chain, webhooks, refunds, and the proof of the rate.',
        tags: ['orders'],
        params: CodeParams,
        response: { 200: Envelope(StorySchema) },
      },
    },
    async (request) => ok(await readStory(db, actorOf(request), request.params.code)),
  )
}
