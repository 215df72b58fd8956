import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok, refTo } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import { ChoiceOnly, ChoiceQuery, IdParams, PageQuery, pageOf } from '../company-schemas.ts'
import { StaticLinkBody, StaticLinkChange, StaticLinkSchema } from './static-link-schemas.ts'
import * as service from './static-link-service.ts'

const tags = ['companies']
const LinkRef = refTo(StaticLinkSchema)

/** Addresses that make a new order at each visit. Their page is `src/pages/link`. */
export const staticLinkRoutes: FastifyPluginAsyncTypebox<service.StaticLinkDeps> = async (app, deps) => {
  app.get(
    '/static-links',
    {
      config: { permission: 'staticLinks.read' },
      schema: {
        operationId: 'listStaticLinks',
        summary: 'List static links',
        tags,
        querystring: Type.Object({ ...ChoiceQuery, ...PageQuery }),
        response: { 200: Envelope(pageOf('staticLinks', LinkRef)) },
      },
    },
    async (request) => ok(await service.listStaticLinks(deps, actorOf(request), request.query)),
  )
  app.post(
    '/static-links',
    {
      config: { permission: 'staticLinks.write' },
      schema: {
        operationId: 'createStaticLink',
        summary: 'Add a static link',
        tags,
        querystring: ChoiceOnly,
        body: StaticLinkBody,
        response: { 200: Envelope(LinkRef) },
      },
    },
    async (request) => ok(await service.createStaticLink(deps, contextOf(request), request.query, request.body)),
  )
  app.get(
    '/static-links/:id',
    {
      config: { permission: 'staticLinks.read' },
      schema: {
        operationId: 'getStaticLink',
        summary: 'One static link',
        tags,
        params: IdParams,
        response: { 200: Envelope(LinkRef) },
      },
    },
    async (request) => ok(await service.readStaticLink(deps, actorOf(request), request.params.id)),
  )
  app.put(
    '/static-links/:id',
    {
      config: { permission: 'staticLinks.write', keepNulls: true },
      schema: {
        operationId: 'changeStaticLink',
        summary: 'Change a static link, or turn it off',
        description: 'Changes only the fields you send; null clears a field.',
        tags,
        params: IdParams,
        body: StaticLinkChange,
        response: { 200: Envelope(LinkRef) },
      },
    },
    async (request) => ok(await service.changeStaticLink(deps, contextOf(request), request.params.id, request.body)),
  )
}
