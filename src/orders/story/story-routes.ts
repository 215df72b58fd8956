import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type Actor, actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { ruleOf } from '../../http/permissions.ts'
import { CodeParams } from '../order-schemas.ts'
import { findReachableOrder, type OrderDeps } from '../order-service.ts'
import { listStory, type StoryRow } from './story-queries.ts'

const KINDS = [
  ...['state', 'payment', 'provider', 'transfer', 'mispayment'],
  ...['refund', 'webhook', 'attempt', 'booking', 'identity', 'screening'],
]
/** More than any order has, unless someone plays with it. */
const MOST = 1000

const Entry = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When it began. UTC, with milliseconds.' }),
  kind: Type.String({ enum: KINDS, description: 'What kind of thing happened.' }),
  facts: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()]), {
    description: 'What is known of it, by kind. Amounts are in the smallest units of their asset.',
    examples: [{ trigger: 'create', from: null, to: 'INITIAL', event: 'order.initial' }],
  }),
})

/** A buyer's own account must not learn why a payment waits; a shop's server may, it explains orders to its people. */
const mayShow =
  ({ role }: Actor) =>
  ({ kind, facts }: StoryRow): boolean => {
    const isAbout = kind === 'screening' || (kind === 'mispayment' && facts.kind === 'held')
    return !isAbout || role === 'Service' || ruleOf('screenings.read').roles.includes(role)
  }

/** One order's whole story, for people who look for what went wrong. */
export const storyRoutes: FastifyPluginAsyncTypebox<Pick<OrderDeps, 'db'>> = async (app, { db }) => {
  app.get(
    '/story/:code',
    {
      config: { permission: 'orders.list' },
      schema: {
        operationId: 'getOrderStory',
        summary: 'Everything that happened to an order',
        description:
          'Every state, payment, call to a provider, transfer, refund, webhook with its attempts, booking, identity check and screening, oldest first. `comptoir explain` turns it into words.',
        tags: ['orders'],
        params: CodeParams,
        response: { 200: Envelope(Type.Object({ code: Type.String(), entries: Type.Array(Entry) })) },
      },
    },
    async (request) => {
      const order = await findReachableOrder(db, actorOf(request), request.params.code)
      const rows = (await listStory(db, order.companyId, order.id, MOST)).filter(mayShow(actorOf(request)))
      return ok({
        code: order.code,
        entries: rows.map(({ at, kind, facts }) => ({ at: at.toISOString(), kind, facts })),
      })
    },
  )
}
