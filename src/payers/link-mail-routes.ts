import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { LANGS, type Lang } from '../kernel/lang.ts'
import { Type } from '../kernel/schema.ts'
import { CodeParams } from '../orders/order-schemas.ts'
import { type LinkMailDeps, sendLink } from './link-mails.ts'

const Language = Type.Unsafe<Lang>(
  Type.String({
    enum: [...LANGS],
    description:
      'Default: what the payer used on the pages, else the language of the last such mail, else the company’s choice.',
  }),
)

const Body = Type.Object({
  email: Type.String({ format: 'email', maxLength: 254, examples: ['payer@example.org'] }),
  language: Type.Optional(Language),
  remind: Type.Optional(
    Type.Boolean({
      description:
        'One more mail a day before the order ends, if no money has come by then; false takes it back. Default: as it was, at first none.',
    }),
  ),
})

const Sent = Type.Object({
  sent: Type.Integer({
    description: 'How often the link of this order was mailed, this time included.',
    examples: [1],
  }),
  left: Type.Integer({ description: 'How often it may still be mailed.', examples: [2] }),
  language: Language,
  remindAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'When the payer is reminded. Null: not wanted, done, or the order ends within a day.',
  }),
})

/** Mails the link of an order to its payer. */
export const linkMailRoutes: FastifyPluginAsyncTypebox<LinkMailDeps> = async (app, deps) => {
  app.post(
    '/send/:code',
    {
      config: { permission: 'orders.send' },
      schema: {
        operationId: 'sendOrderLink',
        summary: 'Mail the link of an order to its payer',
        description:
          'While the order waits for a payment. The mail names the company, the amount, the alias or the goods, and the ' +
          'end of the order. The address is saved as the payer’s e-mail: the receipt goes there too. At most 3 mails for ' +
          'an order besides its reminder (then 409), 200 a day for a company and 10 an hour to one mailbox, reminders ' +
          'included (then 429).',
        tags: ['orders'],
        params: CodeParams,
        body: Body,
        response: { 200: Envelope(Sent) },
      },
    },
    async (request) => ok(await sendLink(deps, contextOf(request), request.params.code, request.body)),
  )
}
