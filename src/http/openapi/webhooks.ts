import type { OpenApi, Operation, Schema } from './document.ts'

/** Every event that is sent, and what it means. */
const EVENT_WORDS: Record<string, string> = {
  'order.initial': 'An order was created.',
  'order.pending': 'A payment channel was chosen.',
  'order.awaiting': 'The payer has what he needs; the payment is awaited.',
  'order.waiting_chain_confirmation': 'The payment is on the chain and not final.',
  'order.paid': 'The full payment is final. Ship.',
  'order.cancelled': 'The order was cancelled.',
  'order.error': 'The provider reported a definite failure.',
  'order.expired': 'The order was not paid in time.',
  'order.kyt_failed': 'The payer’s wallet did not pass the screening.',
  'order.refunding': 'A refund began.',
  'order.refunded': 'A part was refunded.',
  'order.full_refunded': 'Everything was refunded.',
  'kyc.pending': 'An identity check of the payer began.',
  'kyc.approved': 'The identity check was approved.',
  'kyc.refused': 'The identity check was refused.',
  'kyc.edd_completed': 'The enhanced check of the payer reached a decision.',
}

const ID = '66a1f0c2e4b07d3a5c9e1f20'
const text = (description: string, example: string): Schema => ({ type: 'string', description, examples: [example] })
const word = (values: string[], description: string): Schema => ({
  type: 'string',
  enum: values,
  description,
  examples: [values[0]],
})

const test: Schema = {
  type: 'boolean',
  const: true,
  description:
    'Only in test events, which are made up: the payment, the order and the code do not exist. Ship nothing.',
  examples: [true],
}

const kycSchema: Schema = {
  type: 'object',
  description: 'News of an identity check. Never says who the payer is.',
  required: ['event', 'kycId', 'orderId', 'code', 'alias', 'status', 'updatedAt'],
  properties: {
    event: word(
      Object.keys(EVENT_WORDS).filter((event) => event.startsWith('kyc.')),
      'What happened.',
    ),
    kycId: text('Id of the identity check.', ID),
    orderId: text('`_id` of the order.', ID),
    code: text('Code of the order.', 'Zk3vT8qLwN5xRb2sYc7pHd9m'),
    alias: { type: ['string', 'null'], description: 'Your reference of the order.', examples: ['INV-2026-118'] },
    status: word(['pending', 'approved', 'refused'], 'Where the check stands.'),
    updatedAt: { ...text('When it last changed.', '2026-07-03T09:30:00.000Z'), format: 'date-time' },
    eddStatus: text('Only with `kyc.edd_completed`: where the enhanced check stands.', 'completed'),
    eddOutcome: word(['approved', 'refused'], 'Only with `kyc.edd_completed`: what the enhanced check found.'),
    test,
    spendingLimit: text('Only with `kyc.edd_completed`: EUR that the payer may spend in 30 days.', '15000.00'),
  },
}

const HEADERS: [name: string, description: string, example: string][] = [
  ['Service-Event', 'The event, for example `order.paid`.', 'order.paid'],
  ['Service-Webhook-Id', '32 characters, the same for all attempts: deduplicate by it.', '0f'.repeat(16)],
  [
    'Service-Signature',
    '`t=<seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<raw body>`.',
    `t=1783071000,v1=${'a1'.repeat(32)}`,
  ],
  ['webhook-id', 'The same id, by Standard Webhooks.', '0f'.repeat(16)],
  ['webhook-timestamp', 'Seconds, by Standard Webhooks.', '1783071000'],
  ['webhook-signature', 'Signature by Standard Webhooks.', `v1,${'A'.repeat(43)}=`],
]

function operationOf(event: string): Operation {
  const payload = event.startsWith('kyc.') ? 'KycWebhook' : 'OrderWebhook'
  const name = event.replace(/[._](\w)/g, (_, letter: string) => letter.toUpperCase())
  return {
    operationId: `on${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    summary: EVENT_WORDS[event] ?? event,
    description: `${EVENT_WORDS[event]} Answer 2xx within 10 seconds; anything else is tried again after 2, 4, 8 and 16 seconds.`,
    tags: ['events'],
    security: [{}],
    parameters: HEADERS.map(([header, description, example]) => ({
      name: header,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string', examples: [example] },
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            description: EVENT_WORDS[event] ?? event,
            allOf: [
              { $ref: `#/components/schemas/${payload}` },
              {
                type: 'object',
                required: ['event'],
                properties: { event: { type: 'string', const: event, description: 'The event.', examples: [event] } },
              },
            ],
          },
        },
      },
    },
    responses: {
      '2XX': { description: 'Received. The body does not matter.' },
      '4XX': { description: 'Not received: tried again.' },
      '5XX': { description: 'Not received: tried again.' },
    },
  }
}

/** The `webhooks` section: what arrives at a merchant's server. */
export function addWebhooks(document: OpenApi): void {
  const order: Schema = {
    description: 'The order as it was when the event happened, and the event.',
    allOf: [
      { $ref: '#/components/schemas/Order' },
      {
        type: 'object',
        required: ['event'],
        properties: {
          event: word(
            Object.keys(EVENT_WORDS).filter((event) => event.startsWith('order.')),
            'What happened.',
          ),
          test,
        },
      },
    ],
  }
  Object.assign(document.components.schemas, { OrderWebhook: order, KycWebhook: kycSchema })
  document.webhooks = Object.fromEntries(Object.keys(EVENT_WORDS).map((event) => [event, { post: operationOf(event) }]))
}
