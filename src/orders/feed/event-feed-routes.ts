import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok, refTo } from '../../http/envelope.ts'
import { Type } from '../../kernel/schema.ts'
import { OrderSchema } from '../order-schemas.ts'
import { type FeedDeps, readFeed, readLatest } from './event-feed-service.ts'

const Event = Type.Object({
  cursor: Type.String({ description: 'The position after this event.' }),
  event: Type.String({ examples: ['order.paid'] }),
  createdAt: Type.String({ format: 'date-time', description: 'When it happened.' }),
  order: refTo(OrderSchema),
})

const CompanyId = Type.Optional(
  Type.String({ maxLength: 24, description: 'For accounts that see more than one company.' }),
)

/** The catch-up feed, under `/events`. */
export const orderFeedRoutes: FastifyPluginAsyncTypebox<FeedDeps> = async (app, deps) => {
  app.get(
    '/events',
    {
      // a program that lost its cursor would read all of 90 days again
      config: { permission: 'orders.events', allWithout: ['after'] },
      schema: {
        operationId: 'listEvents',
        summary: 'Catch-up feed of all events of orders',
        description:
          'Every `order.*` event of the company, subscribed or not, exactly once and in a fixed order, with the order as it was then; kept 90 days. Store `nextCursor` with your own changes and send it as `after` next time. Identity checks are read with `GET /kyc`. After the operator restores a backup some events may repeat: drop duplicates by order, event and `updatedAt`.',
        tags: ['webhooks'],
        querystring: Type.Object({
          after: Type.Optional(
            Type.String({
              maxLength: 200,
              description: '`nextCursor`, or the `cursor` of an event; `latest` to begin behind the newest event.',
            }),
          ),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
          companyId: CompanyId,
        }),
        response: { 200: Envelope(Type.Object({ events: Type.Array(Event), nextCursor: Type.String() })) },
      },
    },
    async (request) => ok(await readFeed(deps, actorOf(request), request.query)),
  )
  app.get(
    '/events/latest',
    {
      config: { permission: 'orders.events' },
      schema: {
        operationId: 'listLatestEvents',
        summary: 'The latest events, newest first',
        description: 'For people who look at what just happened. Programs that must miss nothing read `GET /events`.',
        tags: ['webhooks'],
        querystring: Type.Object({
          before: Type.Optional(
            Type.String({
              maxLength: 200,
              description: '`nextBefore` of the answer before, or the `cursor` of an event.',
            }),
          ),
          event: Type.Optional(Type.String({ maxLength: 40, description: 'Only events of this kind.' })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
          companyId: CompanyId,
        }),
        response: {
          200: Envelope(
            Type.Object({ events: Type.Array(Event), nextBefore: Type.Union([Type.String(), Type.Null()]) }),
          ),
        },
      },
    },
    async (request) => ok(await readLatest(deps, actorOf(request), request.query)),
  )
}
