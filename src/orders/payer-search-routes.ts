import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { OrderPage, PayerOrdersBody } from './order-schemas.ts'
import { findPayerOrders, type ListDeps } from './order-service.ts'
import type { PayerSearch } from './payer-search.ts'

const Found = Type.Object({
  ...OrderPage.properties,
  complete: Type.Boolean({
    description: 'False: some payers are not indexed yet, after an upgrade. Ask again in some minutes.',
  }),
})

/** A route of its own: a node of an earlier version refuses it, where it would ignore one more filter of the list. */
export const payerSearchRoutes: FastifyPluginAsyncTypebox<ListDeps & { payers: PayerSearch }> = async (app, deps) => {
  app.post(
    '/search',
    {
      // changes nothing but the audit log, which names each call
      config: { permission: 'payers.read', ownIdempotency: true },
      schema: {
        operationId: 'findPayerOrders',
        summary: 'Find the orders of a payer',
        tags: ['orders'],
        body: PayerOrdersBody,
        response: { 200: Envelope(Found) },
      },
    },
    async (request) => ok(await findPayerOrders(deps, contextOf(request), request.body)),
  )
}
