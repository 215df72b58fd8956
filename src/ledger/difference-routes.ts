import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf, CompanyIdQuery } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { type TSchema, Type } from '../kernel/schema.ts'
import { DIFFERENCE_SOURCES, DIFFERENCE_STATUSES } from './difference-queries.ts'
import { type DifferenceDeps, explainDifference, listVisibleDifferences } from './difference-service.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

const DifferenceSchema = Type.Object(
  {
    _id: Type.String(),
    companyId: Nullable(Type.String({ description: 'Null: a wallet of the operator, which stops every company.' })),
    source: Type.String({ enum: [...DIFFERENCE_SOURCES], description: 'What the books were compared with.' }),
    subject: Type.String({ description: 'The order, refund, settlement, journal or address.' }),
    partRefundedOf: Nullable(
      Type.String({
        description:
          'Code of the order of which a part was refunded in the provider’s console, while the provider does not say how ' +
          'much: POST /ledger/differences/{id}/refunded records it. Null: the difference is about something else.',
        examples: ['2xQm7VfLrT9cKb4WnZs8Ya'],
      }),
    ),
    what: Type.String(),
    booked: Type.String({ description: 'USDC units, or text.' }),
    expected: Type.String({ description: 'What it should be.' }),
    status: Type.String({ enum: [...DIFFERENCE_STATUSES], description: '`open` stops refunds and settlements.' }),
    explainedBy: Nullable(Type.String()),
    reason: Nullable(Type.String()),
    foundAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { description: 'Where the books and the facts differ.' },
)

const tags = ['ledger']

/** Differences between the books and the facts, and who explained them. */
export const differenceRoutes: FastifyPluginAsyncTypebox<DifferenceDeps> = async (app, deps) => {
  app.get(
    '/ledger/differences',
    {
      config: { permission: 'ledger.read' },
      schema: {
        operationId: 'listDifferences',
        summary: 'Differences between the books and what happened',
        tags,
        querystring: Type.Object({
          companyId: CompanyIdQuery,
          status: Type.Optional(Type.String({ enum: [...DIFFERENCE_STATUSES] })),
          page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
        }),
        response: { 200: Envelope(Type.Array(DifferenceSchema)) },
      },
    },
    async (request) => ok(await listVisibleDifferences(deps, actorOf(request), request.query)),
  )
  app.post(
    '/ledger/differences/:id/explain',
    {
      config: { permission: 'ledger.explain' },
      schema: {
        operationId: 'explainDifference',
        summary: 'Explain a difference',
        description:
          'The company’s refunds and settlements resume unless another difference is open. Nothing is booked: a refund from ' +
          'a provider’s console is recorded with POST /ledger/differences/{id}/refunded instead.',
        tags,
        params: Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) }),
        body: Type.Object({ reason: Type.String({ minLength: 10, maxLength: 500 }) }),
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await explainDifference(deps, contextOf(request), request.params.id, request.body)
      return ok(null)
    },
  )
}
