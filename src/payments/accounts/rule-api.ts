import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ChoiceOnly } from '../../companies/company-schemas.ts'
import { companyFor } from '../../companies/company-scope.ts'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import type { ChannelSettingsDeps } from './channel-service.ts'
import { ChannelOrderBody, ChannelRuleBody, ChannelRuleSchema } from './rule-schemas.ts'
import { listRules, saveOrder, saveRule } from './rule-service.ts'

const tags = ['channels']
const ChannelParams = Type.Object({ channel: Type.String({ maxLength: 40 }) })

/** The channels that a company offers: their sort order, texts and limits. */
export const channelRuleApi: FastifyPluginAsyncTypebox<ChannelSettingsDeps> = async (app, deps) => {
  app.get(
    '/channel-rules',
    {
      config: { permission: 'channels.rules' },
      schema: {
        operationId: 'listChannelRules',
        summary: 'How a company offers its channels',
        description: 'Every channel that is set up, in the order in which payers are offered them.',
        tags,
        querystring: ChoiceOnly,
        response: { 200: Envelope(Type.Array(ChannelRuleSchema)) },
      },
    },
    async (request) => ok(await listRules(deps, await companyFor(deps.db, actorOf(request), request.query))),
  )
  app.put(
    '/channel-rules',
    {
      config: { permission: 'channels.rule' },
      schema: {
        operationId: 'sortChannels',
        summary: 'Sort the channels that payers are offered',
        description: 'The payment page keeps its groups; a group stands where its first channel stands.',
        tags,
        querystring: ChoiceOnly,
        body: ChannelOrderBody,
        response: { 200: Envelope(Type.Array(ChannelRuleSchema)) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const companyId = await companyFor(deps.db, context.actor, request.query)
      return ok(await saveOrder(deps, context, { companyId, order: request.body.order }))
    },
  )
  app.put(
    '/channel-rules/:channel',
    {
      config: { permission: 'channels.rule', keepNulls: true },
      schema: {
        operationId: 'changeChannelRule',
        summary: 'Change how a channel is offered',
        description:
          'Changes only the fields you send; null removes a limit or a text. It counts for payments from now on, also ' +
          'those that your server accepts; a payment that has begun goes on.',
        tags,
        params: ChannelParams,
        querystring: ChoiceOnly,
        body: ChannelRuleBody,
        response: { 200: Envelope(ChannelRuleSchema) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const companyId = await companyFor(deps.db, context.actor, request.query)
      const target = { companyId, channel: request.params.channel, change: request.body }
      return ok(await saveRule(deps, context, target))
    },
  )
}
