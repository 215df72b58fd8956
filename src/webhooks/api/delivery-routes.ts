import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { takePlainDates } from '../../http/plain-dates.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import { listAddresses } from './address-service.ts'
import * as schemas from './delivery-schemas.ts'
import * as service from './delivery-service.ts'

const tags = ['webhooks']

/** The delivery log, under `/webhook-deliveries`. */
const logRoutes: FastifyPluginAsyncTypebox<service.WebhookDeps> = async (app, deps) => {
  app.get(
    '/webhook-deliveries',
    {
      config: { permission: 'webhooks.deliveries' },
      schema: {
        operationId: 'listWebhookDeliveries',
        summary: 'Webhook deliveries with their attempts, newest first',
        tags,
        querystring: schemas.DeliveryQuery,
        response: {
          200: Envelope(
            Type.Object({
              deliveries: Type.Array(schemas.DeliverySchema),
              total: Type.Integer(),
              page: Type.Integer(),
              limit: Type.Integer(),
            }),
          ),
        },
      },
    },
    async (request) => ok(await service.listDeliveries(deps, actorOf(request), request.query)),
  )
  app.get(
    '/webhook-deliveries/:id',
    {
      config: { permission: 'webhooks.deliveries' },
      schema: {
        operationId: 'getWebhookDelivery',
        summary: 'One delivery with its request',
        tags,
        params: schemas.DeliveryParams,
        response: { 200: Envelope(schemas.DeliveryDetailSchema) },
      },
    },
    async (request) => ok(await service.readDelivery(deps, actorOf(request), request.params.id)),
  )
  app.get(
    '/webhook-deliveries/:id/curl',
    {
      config: { permission: 'webhooks.curl' },
      schema: {
        operationId: 'getWebhookDeliveryAsCurl',
        summary: 'One delivery as a shell command, freshly signed',
        tags,
        params: schemas.DeliveryParams,
        response: { 200: { content: { 'text/plain': { schema: Type.String() } } } },
      },
    },
    async (request, reply) => {
      const text = await service.curlOfDelivery(deps, actorOf(request), request.params.id)
      return reply.header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(text)
    },
  )
}

/** Redelivery of one or many, under `/webhook-deliveries`. */
const redeliveryRoutes: FastifyPluginAsyncTypebox<service.WebhookDeps> = async (app, deps) => {
  app.post(
    '/webhook-deliveries/:id/redeliver',
    {
      config: { permission: 'webhooks.redeliver' },
      schema: {
        operationId: 'redeliverWebhook',
        summary: 'Send one delivery again, under the same id',
        tags,
        params: schemas.DeliveryParams,
        response: { 200: Envelope(Type.Object({ id: Type.String() })) },
      },
    },
    async (request) => ok(await service.redeliver(deps, contextOf(request), request.params.id)),
  )
  app.post(
    '/webhook-deliveries/redeliver',
    {
      // a program that lost its order's code, or misspells a filter, would send all that failed
      config: { permission: 'webhooks.redeliver', filtersByBody: true, refuseUnknown: { except: ['page'] } },
      schema: {
        operationId: 'redeliverWebhooks',
        summary: 'Send many deliveries again; without a status: the failed and parked ones',
        tags,
        querystring: schemas.RedeliverQuery,
        body: schemas.RedeliverBody,
        response: { 200: Envelope(Type.Object({ redelivered: Type.Integer(), limit: Type.Integer() })) },
      },
    },
    async (request) => ok(await service.redeliverMany(deps, contextOf(request), request)),
  )
}

/** The addresses that webhooks go to, under `/webhook-addresses`. */
const addressRoutes: FastifyPluginAsyncTypebox<service.WebhookDeps> = async (app, deps) => {
  app.get(
    '/webhook-addresses',
    {
      config: { permission: 'webhooks.deliveries' },
      schema: {
        operationId: 'listWebhookAddresses',
        summary: 'The addresses that webhooks went to, with how they fare; the newest delivery first',
        tags,
        querystring: schemas.AddressQuery,
        response: {
          200: Envelope(
            Type.Object({
              addresses: Type.Array(schemas.AddressSchema, { description: 'At most 100.' }),
              total: Type.Integer({ description: 'How many addresses there are, also beyond the 100.' }),
              days: Type.Integer(),
            }),
          ),
        },
      },
    },
    async (request) => ok(await listAddresses(deps, actorOf(request), request.query)),
  )
}

/** The delivery log, redelivery, and the addresses. */
export const deliveryRoutes: FastifyPluginAsyncTypebox<service.WebhookDeps> = async (app, deps) => {
  takePlainDates(app)
  await logRoutes(app, deps)
  await redeliveryRoutes(app, deps)
  await addressRoutes(app, deps)
}
