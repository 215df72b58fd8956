import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok, refTo } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import * as schemas from './company-schemas.ts'
import type { CompanyDeps } from './company-service.ts'
import * as service from './till-service.ts'

const tags = ['companies']
const PointRef = refTo(schemas.SalesPointSchema)
const CollectorRef = refTo(schemas.CollectorSchema)

/** Shops and their tills. */
export const tillRoutes: FastifyPluginAsyncTypebox<CompanyDeps> = async (app, deps) => {
  app.get(
    '/sales-points',
    {
      config: { permission: 'tills.read' },
      schema: {
        operationId: 'listSalesPoints',
        summary: 'List shops',
        tags,
        querystring: Type.Object({ ...schemas.ChoiceQuery, ...schemas.PageQuery }),
        response: { 200: Envelope(schemas.pageOf('salesPoints', PointRef)) },
      },
    },
    async (request) => {
      const page = await service.listSalesPoints(deps, actorOf(request), request.query)
      return ok({ ...page, salesPoints: page.salesPoints.map(service.viewSalesPoint) })
    },
  )
  app.post(
    '/sales-points',
    {
      config: { permission: 'tills.write' },
      schema: {
        operationId: 'createSalesPoint',
        summary: 'Add a shop',
        tags,
        querystring: schemas.ChoiceOnly,
        body: schemas.SalesPointBody,
        response: { 200: Envelope(PointRef) },
      },
    },
    async (request) => {
      const { query, body } = request
      const point = await service.createSalesPoint(deps, contextOf(request), query, body)
      return ok(service.viewSalesPoint(point))
    },
  )
  app.get(
    '/sales-points/:id',
    {
      config: { permission: 'tills.read' },
      schema: {
        operationId: 'getSalesPoint',
        summary: 'One shop',
        tags,
        params: schemas.IdParams,
        response: { 200: Envelope(PointRef) },
      },
    },
    async (request) =>
      ok(service.viewSalesPoint(await service.readSalesPoint(deps, actorOf(request), request.params.id))),
  )
  app.put(
    '/sales-points/:id',
    {
      config: { permission: 'tills.write', keepNulls: true },
      schema: {
        operationId: 'changeSalesPoint',
        summary: 'Change a shop',
        description: 'Changes only the fields you send; null clears a field.',
        tags,
        params: schemas.IdParams,
        body: schemas.SalesPointChange,
        response: { 200: Envelope(PointRef) },
      },
    },
    async (request) => {
      const fields = request.body
      const { id } = request.params
      const point = await service.changeSalesPoint(deps, contextOf(request), id, fields)
      return ok(service.viewSalesPoint(point))
    },
  )

  app.get(
    '/collectors/list',
    {
      config: { permission: 'tills.read' },
      schema: {
        operationId: 'listCollectors',
        summary: 'List tills',
        tags,
        querystring: schemas.CollectorQuery,
        response: { 200: Envelope(schemas.pageOf('collectors', CollectorRef)) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      const page = await service.listCollectors(deps, actor, request.query)
      return ok({ ...page, collectors: page.collectors.map((one) => service.viewCollector(actor, one)) })
    },
  )
  app.get(
    '/collectors/:id',
    {
      config: { permission: 'tills.read' },
      schema: {
        operationId: 'getCollector',
        summary: 'One till',
        tags,
        params: schemas.IdParams,
        response: { 200: Envelope(CollectorRef) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      return ok(service.viewCollector(actor, await service.readCollector(deps, actor, request.params.id)))
    },
  )
  app.post(
    '/collectors/add',
    {
      config: { permission: 'tills.write' },
      schema: {
        operationId: 'addCollector',
        summary: 'Add a till to a shop',
        tags,
        body: schemas.CollectorBody,
        response: { 200: Envelope(CollectorRef) },
      },
    },
    async (request) => {
      const body = request.body
      const collector = await service.createCollector(deps, contextOf(request), body)
      return ok(service.viewCollector(actorOf(request), collector))
    },
  )
  app.put(
    '/collectors/:id',
    {
      config: { permission: 'tills.write', keepNulls: ['webhookUrl'] },
      schema: {
        operationId: 'changeCollector',
        summary: 'Rename, close or open a till, or assign cashiers',
        tags,
        params: schemas.IdParams,
        body: schemas.CollectorChange,
        response: { 200: Envelope(CollectorRef) },
      },
    },
    async (request) => {
      const { id } = request.params
      const change = request.body
      const collector = await service.changeCollector(deps, contextOf(request), id, change)
      return ok(service.viewCollector(actorOf(request), collector))
    },
  )
}
