import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { pageOf } from '../companies/company-schemas.ts'
import { companiesFor } from '../companies/company-scope.ts'
import { actorOf, sees } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { Type } from '../kernel/schema.ts'
import type { Purpose, ScreeningStatus } from './screening.ts'
import { type DecisionDeps, decideScreening, decisionsOf } from './screening-decisions.ts'
import {
  countScreenings,
  findListedScreening,
  type ListedScreening,
  listAnswers,
  listScreenings,
} from './screening-queries.ts'
import {
  DecideBody,
  ScreeningDetailSchema,
  ScreeningListQuery,
  ScreeningParams,
  ScreeningSchema,
} from './screening-schemas.ts'

const tags = ['screening']
const params = ScreeningParams

const viewScreening = (row: ListedScreening) => ({
  _id: row.id,
  companyId: row.companyId,
  code: row.orderCode,
  shortCode: row.orderShortCode,
  orderStatus: row.orderStatus,
  purpose: row.purpose,
  subjectId: row.subjectId,
  network: row.network,
  address: row.address,
  status: row.status,
  isWhole: row.isWhole,
  answers: row.answers.map((answer) => ({ ...answer, at: new Date(answer.at).toISOString() })),
  decidedBy: row.decidedBy,
  reason: row.reason,
  openedAt: row.openedAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

/** Screening of addresses: the queue, the record with its evidence, the decisions. */
export const screeningRoutes: FastifyPluginAsyncTypebox<DecisionDeps> = async (app, deps) => {
  app.get(
    '/screenings',
    {
      config: { permission: 'screenings.read' },
      schema: {
        operationId: 'listScreenings',
        summary: 'List screenings of addresses',
        tags,
        querystring: ScreeningListQuery,
        response: { 200: Envelope(pageOf('screenings', ScreeningSchema)) },
      },
    },
    async (request) => {
      const { page, limit, status, purpose, code, ...choice } = request.query
      const companyIds = await companiesFor(deps.db, actorOf(request), choice)
      const filter = {
        ...{ companyIds, code: code ?? null },
        status: (status ?? null) as ScreeningStatus | 'open' | null,
        purpose: (purpose ?? null) as Purpose | null,
      }
      const [rows, total] = await Promise.all([
        listScreenings(deps.db, filter, { limit, offset: (page - 1) * limit }),
        countScreenings(deps.db, filter),
      ])
      return ok({ screenings: rows.map(viewScreening), total, page, limit })
    },
  )
  app.get(
    '/screenings/:id',
    {
      config: { permission: 'screenings.read' },
      schema: {
        operationId: 'getScreening',
        summary: 'One screening with its evidence',
        tags,
        params,
        response: { 200: Envelope(ScreeningDetailSchema) },
      },
    },
    async (request, reply) => {
      const row = await findListedScreening(deps.db, request.params.id)
      if (!row || !sees(actorOf(request), row.companyId)) throw new AppError('OBJECT_NOT_FOUND')
      void reply.header('cache-control', 'no-store')
      const { answers, leftOut } = await listAnswers(deps.db, row)
      return ok({
        ...viewScreening(row),
        decisions: decisionsOf(actorOf(request), row),
        evidence: answers.map(({ id: _, at, ...answer }) => ({ ...answer, at: at.toISOString() })),
        evidenceLeftOut: leftOut,
      })
    },
  )
  app.post(
    '/screenings/:id/release',
    {
      config: { permission: 'screenings.decide' },
      schema: {
        operationId: 'releaseScreening',
        summary: 'Let a held address pass, with a reason',
        description:
          'For an address that is held because a source does not answer, or wants a person to look. What a source blocks ' +
          'cannot be released. Only a SuperAdmin releases a settlement or a sweep.',
        tags,
        params,
        body: DecideBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await decideScreening(deps, contextOf(request), request.params.id, { ...request.body, decision: 'release' })
      return ok(null)
    },
  )
  app.post(
    '/screenings/:id/return',
    {
      config: { permission: 'screenings.decide' },
      schema: {
        operationId: 'returnScreening',
        summary: 'Return a payment that is held or blocked, with a reason',
        description:
          'The order becomes KYT_FAILED if it is not yet. No money moves by this: it waits as a mispayment of the kind `held`, ' +
          'which may be refunded from now on. The refund’s destination is screened too.',
        tags,
        params,
        body: DecideBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await decideScreening(deps, contextOf(request), request.params.id, { ...request.body, decision: 'return' })
      return ok(null)
    },
  )
}
