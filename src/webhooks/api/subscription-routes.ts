import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { invalid } from '../../kernel/errors.ts'
import { Type } from '../../kernel/schema.ts'
import {
  AccountQuery,
  ActivateBody,
  SubscriptionsBody,
  SubscriptionsSchema,
  TestBody,
  TestResultSchema,
} from './delivery-schemas.ts'
import type { WebhookDeps } from './delivery-service.ts'
import * as service from './subscription-service.ts'

const tags = ['webhooks']
const Secret = Envelope(Type.Object({ webhookSigningSecret: Type.String({ description: '`whsec_…`' }) }))

/** Reads and replaces the signing secret; registered under `/api/users`. */
export const webhookSecretRoutes: FastifyPluginAsyncTypebox<WebhookDeps> = async (app, deps) => {
  app.get(
    '/webhook-secret',
    {
      config: { permission: 'webhooks.secret' },
      schema: {
        operationId: 'getWebhookSecret',
        summary: 'The secret that signs your webhooks',
        tags,
        querystring: AccountQuery,
        response: { 200: Secret },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return ok(await service.readSecret(deps, contextOf(request), request.query.companyId))
    },
  )
  app.post(
    '/webhook-secret/regenerate',
    {
      config: { permission: 'webhooks.regenerate', sealAnswer: true },
      schema: {
        operationId: 'regenerateWebhookSecret',
        summary: 'Replace the signing secret; the old one stops working at once, also for retries',
        tags,
        querystring: AccountQuery,
        response: { 200: Secret },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return ok(await service.regenerateSecret(deps, contextOf(request), request.query.companyId))
    },
  )
}

/** Rotation in steps: prepare, test against the receiver, activate; registered under `/api/users`. */
export const webhookRotationRoutes: FastifyPluginAsyncTypebox<service.RotationDeps> = async (app, deps) => {
  app.post(
    '/webhook-secret/next',
    {
      config: { permission: 'webhooks.regenerate', sealAnswer: true },
      schema: {
        operationId: 'prepareWebhookSecret',
        summary: 'Prepare the next signing secret without using it',
        tags,
        querystring: AccountQuery,
        response: { 200: Secret },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return ok(await service.prepareNextSecret(deps, contextOf(request), request.query.companyId))
    },
  )
  app.post(
    '/webhook-secret/next/test',
    {
      config: { permission: 'webhooks.regenerate' },
      schema: {
        operationId: 'testWebhookSecret',
        summary: 'Send a test webhook that the prepared secret signs',
        tags,
        body: TestBody,
        response: { 200: Envelope(TestResultSchema) },
      },
    },
    async (request) => ok(await service.testNextSecret(deps, actorOf(request), request.body)),
  )
  app.post(
    '/webhook-secret/next/activate',
    {
      // a program that lost the end would activate any other secret
      config: { permission: 'webhooks.regenerate', keepNulls: true },
      schema: {
        operationId: 'activateWebhookSecret',
        summary: 'Activate the prepared secret; the old one stops working at once',
        tags,
        querystring: AccountQuery,
        body: Type.Optional(ActivateBody),
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const input = { companyId: request.query.companyId, endsWith: request.body?.endsWith }
      return ok(await service.activateNextSecret(deps, contextOf(request), input))
    },
  )
}

/** The events that an account receives; registered under `/api/next`. */
export const subscriptionRoutes: FastifyPluginAsyncTypebox<WebhookDeps> = async (app, deps) => {
  app.get(
    '/webhook-subscriptions',
    {
      config: { permission: 'webhooks.subscriptions' },
      schema: {
        operationId: 'getWebhookSubscriptions',
        summary: 'The events that this account receives',
        tags,
        querystring: AccountQuery,
        response: { 200: Envelope(SubscriptionsSchema) },
      },
    },
    async (request) => ok(await service.readSubscriptions(deps, actorOf(request), request.query.companyId)),
  )
  app.put(
    '/webhook-subscriptions',
    {
      config: { permission: 'webhooks.subscribe' },
      schema: {
        operationId: 'changeWebhookSubscriptions',
        summary: 'Enable or disable the optional events of an account (operator)',
        tags,
        querystring: AccountQuery,
        body: SubscriptionsBody,
        response: { 200: Envelope(SubscriptionsSchema) },
      },
    },
    async (request) => {
      const { query, body } = request
      const companyId = body.companyId ?? query.companyId
      if (query.companyId !== undefined && query.companyId !== companyId)
        throw invalid('companyId', 'is one thing in the address and another in the body: name it once')
      return ok(await service.changeSubscriptions(deps, contextOf(request), { events: body.events, companyId }))
    },
  )
}
