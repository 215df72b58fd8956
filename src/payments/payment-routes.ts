import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../http/envelope.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { CodeParams } from '../orders/order-schemas.ts'
import { acceptOrder } from './accept/accept-order.ts'
import { type DepositCheckDeps, nameTransactionOnce } from './deposit-checks.ts'
import { AcceptBody, InstructionsSchema, NamedTransactionSchema, TransactionBody } from './payment-schemas.ts'
import { confirmOrder } from './payment-service.ts'

export type PaymentRouteDeps = DepositCheckDeps & { limits: Pick<RateLimits, 'checkPayer'> }

/** Accept and confirm: from an order to a payment through one channel. Each step asks the channel. */
export const paymentRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, deps) => {
  app.post(
    '/accept/:code',
    {
      config: { permission: 'payments.accept' },
      schema: {
        operationId: 'acceptOrder',
        summary: 'Choose a payment channel',
        description: 'Answers what the payer needs. Repeating it with the same channel gives the same instructions.',
        tags: ['payments'],
        params: CodeParams,
        body: AcceptBody,
        response: { 200: Envelope(InstructionsSchema) },
      },
    },
    async (request, reply) => {
      const { body, params } = request
      await deps.limits.checkPayer(request, reply, params.code)
      return ok(await acceptOrder(deps, { context: contextOf(request), code: params.code, body }))
    },
  )
  app.post(
    '/confirm/:code',
    {
      config: { permission: 'payments.confirm' },
      schema: {
        operationId: 'confirmOrder',
        summary: 'Ask the channel now whether the payment arrived',
        tags: ['payments'],
        params: CodeParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request, reply) => {
      await deps.limits.checkPayer(request, reply, request.params.code)
      await confirmOrder(deps, contextOf(request), request.params.code)
      return ok(null)
    },
  )
  app.post(
    '/transaction/:code',
    {
      config: { permission: 'payments.transaction' },
      schema: {
        operationId: 'nameTransaction',
        summary: 'Name the transaction that pays an order',
        description:
          'For a payment on a chain that does not show. The transaction is looked up and counts what the scanner ' +
          'would count. `counted` is true once it is recorded for the order; repeating the request returns the same.',
        tags: ['payments'],
        params: CodeParams,
        body: TransactionBody,
        response: { 200: Envelope(NamedTransactionSchema) },
      },
    },
    async (request, reply) => {
      const { txHash, network = null } = request.body
      await deps.limits.checkPayer(request, reply, request.params.code)
      return ok(await nameTransactionOnce(deps, contextOf(request), { code: request.params.code, txHash, network }))
    },
  )
}
