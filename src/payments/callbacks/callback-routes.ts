import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { callbackOf, keepRawBodies } from '../../http/raw-bodies.ts'
import { Type } from '../../kernel/schema.ts'
import { type CallbackDeps, type CallbackTarget, takeCallback } from './callback-service.ts'

/** The provider defines the answer, so it is not filtered. */
const response = { 200: Type.Any({ description: 'What the provider expects as acknowledgement.' }) }
const description =
  'Called by payment providers. The raw bytes are verified as the provider signs them; the answer is what the provider ' +
  'expects. A callback alone never changes an order: the provider is asked first.'

/** Endpoints for provider callbacks: raw bodies of any type, answered as each provider expects. */
export const callbackRoutes: FastifyPluginAsyncTypebox<CallbackDeps & { limits: RateLimits }> = async (app, deps) => {
  keepRawBodies(app)
  const take = async (request: FastifyRequest, reply: FastifyReply, target: CallbackTarget): Promise<FastifyReply> => {
    const { companyId } = target
    const onVerified = async (): Promise<void> => {
      if (companyId !== null) await deps.limits.checkCallback(request, reply, companyId)
    }
    const { contentType, body } = await takeCallback(deps, target, callbackOf(request), onVerified)
    return reply.code(200).type(contentType).send(body)
  }
  app.post(
    '/channels/:channel/callback',
    {
      config: { permission: 'channels.callback' },
      schema: {
        operationId: 'receiveCallback',
        summary: 'A provider reports news',
        description,
        tags: ['payments'],
        params: Type.Object({ channel: Type.String({ maxLength: 40 }) }),
        response,
      },
    },
    (request, reply) => take(request, reply, { channel: request.params.channel, companyId: null }),
  )
  app.post(
    '/channels/:channel/callback/:companyId',
    {
      config: { permission: 'channels.callback' },
      schema: {
        operationId: 'receiveCompanyCallback',
        summary: 'A provider reports news of a company’s own account',
        description,
        tags: ['payments'],
        params: Type.Object({
          channel: Type.String({ maxLength: 40 }),
          companyId: Type.String({ pattern: '^[0-9a-f]{24}$' }),
        }),
        response,
      },
    },
    (request, reply) => take(request, reply, request.params),
  )
}
