import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { companiesFor } from '../companies/company-scope.ts'
import type { Db } from '../db/db.ts'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { Type } from '../kernel/schema.ts'
import type { RequestLog } from './request-log.ts'
import { listRequests } from './request-log-queries.ts'

const Nullable = Type.Union([Type.String(), Type.Null()])
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

const RequestSchema = Type.Object({
  _id: Type.String(),
  requestId: Type.String({ description: 'The `X-Request-Id` of the answer.' }),
  at: Type.String({ format: 'date-time', description: 'When it was answered.' }),
  method: Type.String(),
  path: Type.String({ description: 'Without the query.' }),
  status: Type.Integer({ description: 'HTTP status of the answer.', examples: [422] }),
  errorCode: Nullable,
  durationMs: Type.Integer(),
  ip: Type.String(),
  userAgent: Nullable,
  actor: Type.String({ description: '`apiKey:<id>`, `user:<id>` or `payer:<code>`.' }),
  name: Type.Union([Type.String(), Type.Null()], { description: 'Of the API key or the person.' }),
})

export type RequestLogRouteDeps = { db: Db; requestLog: RequestLog }

/** Requests to the API by id, for their company's developers. */
export const requestLogRoutes: FastifyPluginAsyncTypebox<RequestLogRouteDeps> = async (app, { db, requestLog }) => {
  app.get(
    '/request-log',
    {
      config: { permission: 'requests.read' },
      schema: {
        operationId: 'listRequests',
        summary: 'Requests to the API of the last days, newest first',
        tags: ['developers'],
        querystring: Type.Object({
          requestId: Type.Optional(Type.String({ maxLength: 64, description: 'Only this request.' })),
          failed: Type.Optional(Type.Boolean({ description: 'Only refused and failed ones: status 400 and above.' })),
          method: Type.Optional(Type.String({ enum: METHODS })),
          before: Type.Optional(
            Type.String({ pattern: '^[0-9a-f]{24}$', description: '`nextBefore` of the answer before.' }),
          ),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
          companyId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{24}$', description: 'Operators: this company.' })),
        }),
        response: { 200: Envelope(Type.Object({ requests: Type.Array(RequestSchema), nextBefore: Nullable })) },
      },
    },
    async (request) => {
      const { requestId, failed, method, before, limit = 50, companyId } = request.query
      const companyIds = await companiesFor(db, actorOf(request), { companyId })
      // rows that this node has not written yet would look like a gap
      await requestLog.flush()
      const rows = await listRequests(db, {
        companyIds,
        requestId: requestId ?? null,
        isFailed: failed ?? false,
        method: method ?? null,
        beforeId: before ?? null,
        limit,
      })
      const requests = rows.map(({ id, companyId: _, at, ...row }) => ({ ...row, _id: id, at: at.toISOString() }))
      return ok({ requests, nextBefore: rows.length === limit ? (rows.at(-1)?.id ?? null) : null })
    },
  )
}
