import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import { IgnoreUnmatchedBody, MatchBody, UnmatchedList, UnmatchedListQuery } from './unmatched-schemas.ts'
import { ignoreTransfer, listVisibleUnmatched, matchTransfer, type UnmatchedDeps } from './unmatched-service.ts'

const tags = ['payments']
const IdParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

/** Transfers that match no order: list and decide. */
export const unmatchedRoutes: FastifyPluginAsyncTypebox<UnmatchedDeps> = async (app, deps) => {
  app.get(
    '/unmatched-transfers',
    {
      config: { permission: 'mispayments.read' },
      schema: {
        operationId: 'listUnmatchedTransfers',
        summary: 'List transfers that match no order',
        tags,
        querystring: UnmatchedListQuery,
        response: { 200: Envelope(UnmatchedList) },
      },
    },
    async (request) => ok(await listVisibleUnmatched(deps, actorOf(request), request.query)),
  )
  app.post(
    '/unmatched-transfers/:id/match',
    {
      config: { permission: 'mispayments.decide' },
      schema: {
        operationId: 'matchTransfer',
        summary: 'Say which order a transfer came for',
        tags,
        params: IdParams,
        body: MatchBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await matchTransfer(deps, contextOf(request), request.params.id, request.body)
      return ok(null)
    },
  )
  app.post(
    '/unmatched-transfers/:id/ignore',
    {
      config: { permission: 'mispayments.decide' },
      schema: {
        operationId: 'ignoreTransfer',
        summary: 'Set a transfer aside that belongs to no order',
        tags,
        params: IdParams,
        body: IgnoreUnmatchedBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await ignoreTransfer(deps, contextOf(request), request.params.id, request.body)
      return ok(null)
    },
  )
}
