import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { CodeParams } from '../orders/order-schemas.ts'
import { PayerEmailBody, PayerInformation, SavePayerBody } from './payer-schemas.ts'
import { erasePayer, type PayerDeps, readPayer, savePayer, savePayerEmail } from './payer-service.ts'

const Erased = Type.Object({
  erased: Type.Boolean({ description: 'Whether there was anything to erase.' }),
  notes: Type.Integer({
    description:
      'How many notes of the staff the order has. They may name the payer: read them, and remove those that do ' +
      '(GET and DELETE /confirm_conversion/notes).',
    examples: [0],
  }),
})

/** Payer information: saved before or at the payment, read by managers only, erased on request. */
export const payerRoutes: FastifyPluginAsyncTypebox<PayerDeps> = async (app, deps) => {
  app.post(
    '/payer-information',
    {
      config: { permission: 'orders.payer' },
      schema: {
        operationId: 'savePayerInformation',
        summary: 'Save payer information',
        tags: ['orders'],
        body: SavePayerBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await savePayer(deps, contextOf(request), request.body)
      return ok(null)
    },
  )
  app.post(
    '/email/:code',
    {
      config: { permission: 'orders.payer' },
      schema: {
        operationId: 'setPayerEmail',
        summary: 'Set the payer’s e-mail',
        tags: ['orders'],
        params: CodeParams,
        body: PayerEmailBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await savePayerEmail(deps, contextOf(request), request.params.code, request.body.email)
      return ok(null)
    },
  )
  app.get(
    '/payer-information/:code',
    {
      config: { permission: 'payers.read' },
      schema: {
        operationId: 'getPayerInformation',
        summary: 'Read payer information',
        tags: ['orders'],
        params: CodeParams,
        response: { 200: Envelope(PayerInformation) },
      },
    },
    async (request, reply) => {
      void reply.header('cache-control', 'no-store')
      return ok(await readPayer(deps, contextOf(request), request.params.code))
    },
  )
  app.delete(
    '/payer-information/:code',
    {
      config: { permission: 'payers.erase' },
      schema: {
        operationId: 'erasePayerInformation',
        summary: 'Erase payer information',
        description:
          'For an erasure request (GDPR). The files that prove refunds sent by hand go as well, and the wallet given at accept, unless money of the order may go back to it; the order, its payments ' +
          'and the books stay, and so do notes of the staff: `notes` says how many there are. This cannot be undone.',
        tags: ['orders'],
        params: CodeParams,
        response: { 200: Envelope(Erased) },
      },
    },
    async (request) => ok(await erasePayer(deps, contextOf(request), request.params.code)),
  )
}
