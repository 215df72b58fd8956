import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type ButtonLimits, checkSessionOrder } from '../companies/button-landing.ts'
import { actorOf, CompanyIdQuery } from '../http/actor.ts'
import { Envelope, ok, refTo } from '../http/envelope.ts'
import { replay, sendStored } from '../http/idempotency/idempotency.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { type CreateOrder, fillFromSession, findOwnSession, replayInstead } from './order-create.ts'
import {
  CodeParams,
  CreateOrderBody,
  CreateQuery,
  LinksQuery,
  ListQuery,
  OrderPage,
  OrderSchema,
  ReferenceOrderSchema,
} from './order-schemas.ts'
import {
  endOrder,
  type ListDeps,
  listLinks,
  listOrders,
  type OrderDeps,
  openFindOrder,
  readOrder,
  readOrderByAlias,
} from './order-service.ts'

const OrderRef = refTo(OrderSchema)

/** The router takes one slash off the end of a path: the reference as it was sent, then without that slash. */
const referencesOf = (text: string, url = ''): string[] =>
  /^[^?#]*\/(?:[?#]|$)/.test(url) ? [`${text}/`, text] : [text]

/** Creates, reads, lists and ends orders. Registered under the canonical prefix and, hidden, under the older one. */
type RouteDeps = OrderDeps & ListDeps & { createOrder: CreateOrder; limits: ButtonLimits }

export const orderRoutes: FastifyPluginAsyncTypebox<RouteDeps> = async (app, deps) => {
  const findOrder = openFindOrder(deps.db)
  app.post(
    '/request',
    {
      config: { permission: 'orders.create', ownIdempotency: true },
      preValidation: async (request, reply) => {
        const { actor, body } = request
        if (typeof body !== 'object' || body === null) return
        // an Idempotency-Key stands for what was sent, whatever the session costs by now
        request.sentBody = body
        const session = await findOwnSession(deps.db, actor, body)
        try {
          if (session) await checkSessionOrder(deps.limits, [request, reply], session)
          else await deps.limits.checkVisitor(request, reply)
          request.body = fillFromSession(actor, body, session) as typeof body
        } catch (refusal) {
          const stored = await replayInstead(deps.db, request.server.readClaim(request), refusal)
          return replay(reply, stored.replay)
        }
      },
      schema: {
        operationId: 'createOrder',
        summary: 'Create an order or a payment link',
        tags: ['orders'],
        querystring: CreateQuery,
        body: CreateOrderBody,
        response: { 200: Envelope(Type.Object({ code: Type.String(), order: OrderRef, paymentUrl: Type.String() })) },
      },
    },
    async (request, reply) => {
      const { body, query } = request
      const claim = request.server.readClaim(request)
      const result = await deps.createOrder({ ...query, context: contextOf(request), body, claim })
      if ('replay' in result) return replay(reply, result.replay)
      if (result.stored !== null) return sendStored(reply, result.stored)
      return ok(result.created)
    },
  )
  app.get(
    '/status/:code',
    {
      config: { permission: 'orders.status' },
      schema: {
        operationId: 'getOrderByCode',
        summary: 'Order by code',
        tags: ['orders'],
        params: CodeParams,
        response: { 200: Envelope(OrderRef) },
      },
    },
    async (request) => ok(await readOrder(deps, findOrder, request.actor, request.params.code)),
  )
  app.get(
    '/status/order/*',
    {
      config: { permission: 'orders.status' },
      schema: {
        operationId: 'getOrderByReference',
        summary: 'Newest order with your reference (alias)',
        tags: ['orders'],
        params: Type.Object({
          '*': Type.String({
            maxLength: 300,
            description: 'The alias given at creation, or the orderRef of the session; any characters.',
          }),
        }),
        querystring: Type.Object({ companyId: CompanyIdQuery }),
        response: { 200: Envelope(refTo(ReferenceOrderSchema)) },
      },
    },
    async ({ actor, params, raw, query: { companyId } }) =>
      ok(await readOrderByAlias(deps, actor, { references: referencesOf(params['*'], raw.url), companyId })),
  )
  for (const [operation, trigger, summary] of [
    ['cancelOrder', 'cancel', 'Cancel an unpaid order'],
    ['expireOrder', 'expire', 'End a payment link or order now'],
  ] as const) {
    app.post(
      `/${trigger}/:code`,
      {
        config: { permission: `orders.${trigger}` },
        schema: {
          operationId: operation,
          summary,
          tags: ['orders'],
          params: CodeParams,
          response: { 200: Envelope(Type.Null()) },
        },
      },
      async (request) => {
        await endOrder(deps, contextOf(request), request.params.code, trigger)
        return ok(null)
      },
    )
  }
  app.get(
    '/',
    {
      config: { permission: 'orders.list' },
      schema: {
        operationId: 'listOrders',
        summary: 'List orders',
        tags: ['orders'],
        querystring: ListQuery,
        response: { 200: Envelope(OrderPage) },
      },
    },
    async (request) => ok(await listOrders(deps, actorOf(request), request.query)),
  )
  app.get(
    '/links',
    {
      config: { permission: 'orders.links' },
      schema: {
        operationId: 'listPaymentLinks',
        summary: 'List payment links',
        tags: ['orders'],
        querystring: LinksQuery,
        response: { 200: Envelope(Type.Array(OrderRef)) },
      },
    },
    async (request, reply) => {
      const { orders, nextCursor } = await listLinks(deps, actorOf(request), request.query)
      if (nextCursor !== null) {
        const next = new URL(request.url, deps.config.baseUrl)
        next.searchParams.set('cursor', nextCursor)
        void reply.header('comptoir-next-cursor', nextCursor).header('link', `<${next}>; rel="next"`)
      }
      return ok(orders)
    },
  )
}

export const orderSchemas = [OrderSchema, ReferenceOrderSchema]
