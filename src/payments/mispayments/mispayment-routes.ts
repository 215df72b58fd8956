import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import {
  AcceptMispaymentBody,
  BearLossBody,
  IgnoreMispaymentBody,
  MispaymentList,
  MispaymentListQuery,
} from './mispayment-schemas.ts'
import {
  acceptMispayment,
  bearLoss,
  ignoreMispayment,
  listVisibleMispayments,
  type MispaymentDeps,
} from './mispayment-service.ts'

const tags = ['payments']
const IdParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

/** Mispayments: list and decide. */
export const mispaymentRoutes: FastifyPluginAsyncTypebox<MispaymentDeps> = async (app, deps) => {
  app.get(
    '/mispayments',
    {
      config: { permission: 'mispayments.read' },
      schema: {
        operationId: 'listMispayments',
        summary: 'List money that does not fit its order',
        tags,
        querystring: MispaymentListQuery,
        response: { 200: Envelope(MispaymentList) },
      },
    },
    async (request) => ok(await listVisibleMispayments(deps, actorOf(request), request.query)),
  )
  app.post(
    '/mispayments/:id/accept',
    {
      config: { permission: 'mispayments.decide' },
      schema: {
        operationId: 'acceptMispayment',
        summary: 'Accept underpaid or late money as the payment',
        description:
          'The order becomes PAID. Less than its price becomes the price. After the order ended its payer must pass the ' +
          'same identity checks and limits as at accept. 409 while another order of its alias or of its buy button’s ' +
          'reference is paid, confirmed or under review; of its alias, unless `reason` has that order’s code.',
        tags,
        params: IdParams,
        body: Type.Optional(AcceptMispaymentBody),
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await acceptMispayment(deps, contextOf(request), request.params.id, request.body ?? {})
      return ok(null)
    },
  )
  app.post(
    '/mispayments/:id/ignore',
    {
      config: { permission: 'mispayments.decide' },
      schema: {
        operationId: 'ignoreMispayment',
        summary: 'Leave it as it stands, with a reason',
        tags,
        params: IdParams,
        body: IgnoreMispaymentBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await ignoreMispayment(deps, contextOf(request), request.params.id, request.body)
      return ok(null)
    },
  )
  app.post(
    '/mispayments/:id/bear',
    {
      config: { permission: 'mispayments.bear' },
      schema: {
        operationId: 'bearLoss',
        summary: 'Say who pays for money that left the chain',
        description:
          'Until this is decided, the order cannot be refunded, and the amount is kept back from settlements. When the ' +
          'money comes back, the decision is undone.',
        tags,
        params: IdParams,
        body: BearLossBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await bearLoss(deps, contextOf(request), request.params.id, request.body)
      return ok(null)
    },
  )
}
