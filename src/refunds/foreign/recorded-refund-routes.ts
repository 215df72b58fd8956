import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import type { RefundDeps } from '../refund-deps.ts'
import { recordRefund } from './recorded-refund.ts'

/** Refunds of a provider's console that a person looks up. */
export const recordedRefundRoutes: FastifyPluginAsyncTypebox<RefundDeps> = async (app, deps) => {
  app.post(
    '/ledger/differences/:id/refunded',
    {
      config: { permission: 'refunds.record' },
      schema: {
        operationId: 'recordRefund',
        summary: 'Record a refund from a provider’s console',
        description:
          'For a difference that names an order in `partRefundedOf`, also one that was explained: the provider said that a ' +
          'part was refunded, and not how much. Books it as settled and ends the difference. No money moves: what the ' +
          'company is owed and what is left to refund become less. It cannot be taken back.',
        tags: ['ledger'],
        params: Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) }),
        body: Type.Object({
          amount: Type.String({
            maxLength: 40,
            description:
              'USDC, decimal text: what the console sent besides every refund of the order that is listed here.',
            examples: ['10.5'],
          }),
          reason: Type.String({
            minLength: 10,
            maxLength: 500,
            description: 'Where you looked it up. The company sees it with the refund.',
          }),
          reference: Type.Optional(
            Type.String({ minLength: 4, maxLength: 200, description: 'The provider’s id of that refund.' }),
          ),
        }),
        response: { 200: Envelope(Type.Object({ refundId: Type.String({ description: 'See GET /refunds/{id}.' }) })) },
      },
    },
    async (request) => ok(await recordRefund(deps, contextOf(request), request.params.id, request.body)),
  )
}
