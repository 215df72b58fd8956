import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok, refTo } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { CompanyChangeBody, CompanyQuery, CompanySchema, IdParams, pageOf } from './company-schemas.ts'
import * as service from './company-service.ts'
import { logoApi } from './logo/logo-api.ts'

const tags = ['companies']
const CompanyRef = refTo(CompanySchema)

/** Companies and associations: their settings and approval. */
export const companyRoutes: FastifyPluginAsyncTypebox<service.CompanyDeps> = async (app, deps) => {
  await app.register(logoApi, deps)
  app.get(
    '/companies',
    {
      config: { permission: 'companies.read' },
      schema: {
        operationId: 'listCompanies',
        summary: 'List companies you can access',
        tags,
        querystring: CompanyQuery,
        response: { 200: Envelope(pageOf('companies', CompanyRef)) },
      },
    },
    async (request) => {
      const page = await service.listCompanies(deps, actorOf(request), request.query)
      return ok({ ...page, companies: page.companies.map((company) => service.viewCompany(deps, company)) })
    },
  )
  app.get(
    '/companies/:id',
    {
      config: { permission: 'companies.read' },
      schema: {
        operationId: 'getCompany',
        summary: 'One company',
        tags,
        params: IdParams,
        response: { 200: Envelope(CompanyRef) },
      },
    },
    async (request) =>
      ok(service.viewCompany(deps, await service.readCompany(deps, actorOf(request), request.params.id))),
  )
  app.put(
    '/companies/:id',
    {
      config: { permission: 'companies.change', keepNulls: true },
      schema: {
        operationId: 'changeCompany',
        summary: 'Change a company',
        description:
          'Changes only the fields you send; null clears a field. Changing the payout address, the refund limits or ' +
          'what only a SuperAdmin sets needs a fresh second factor.',
        tags,
        params: IdParams,
        body: CompanyChangeBody,
        response: { 200: Envelope(CompanyRef) },
      },
    },
    async (request) => {
      const change = request.body
      const company = await service.changeCompany(deps, contextOf(request), request.params.id, change)
      return ok(service.viewCompany(deps, company))
    },
  )
  app.post(
    '/companies/:id/approve',
    {
      config: { permission: 'companies.approve' },
      schema: {
        operationId: 'approveCompany',
        summary: 'Approve a company, so that it can sell',
        tags,
        params: IdParams,
        response: { 200: Envelope(CompanyRef) },
      },
    },
    async (request) => {
      const company = await service.approveCompany(deps, contextOf(request), request.params.id)
      return ok(service.viewCompany(deps, company))
    },
  )
}
