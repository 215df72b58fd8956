import { VISIBLE_PATTERN } from '../../kernel/names.ts'
import { type Static, Type } from '../../kernel/schema.ts'
import { Nullable } from '../company-schemas.ts'

const Amount = Type.String({ maxLength: 32, pattern: '^[0-9]{1,16}(\\.[0-9]{1,2})?$', examples: ['12.50'] })
const Url = Type.String({ maxLength: 2048 })
const Name = Type.String({
  minLength: 1,
  maxLength: 120,
  pattern: VISIBLE_PATTERN,
  description: 'What the payer reads: “Table 4”, “Donation”.',
})
const Till = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'The till that the orders of this link belong to: its identifier or its id.',
})

const fields = {
  amount: Type.Optional(
    Nullable(Amount, { description: 'What each order costs. Absent or null: the payer types the amount.' }),
  ),
  minAmount: Type.Optional(Nullable(Amount, { description: 'The least that the payer may type.' })),
  maxAmount: Type.Optional(
    Nullable(Amount, { description: 'The most that the payer may type. Null: the largest order of the company.' }),
  ),
  webhookUrl: Type.Optional(
    Nullable(Url, { description: 'Receives the events of each order. Null: the address of the till does.' }),
  ),
  returnUrl: Type.Optional(Nullable(Url, { description: 'Where the payer goes after paying.' })),
}

export const StaticLinkBody = Type.Object({
  name: Name,
  merchantIdentifier: Till,
  currency: Type.String({ maxLength: 8, examples: ['EUR'] }),
  ...fields,
})
export type StaticLinkBody = Static<typeof StaticLinkBody>

export const StaticLinkChange = Type.Object({
  name: Type.Optional(Name),
  merchantIdentifier: Type.Optional(Till),
  active: Type.Optional(Type.Boolean()),
  ...fields,
})
export type StaticLinkChange = Static<typeof StaticLinkChange>

export const StaticLinkSchema = Type.Object(
  {
    _id: Type.String(),
    code: Type.String({ description: 'Letters and digits, in the public address.' }),
    url: Type.String({ description: 'The page to show, as a link or QR code. Each visit makes a new order.' }),
    posterUrl: Type.String({
      description: 'The QR code to print and put up.',
      examples: ['https://pay.example/link/Zk3vT8qLwN5xRb2sYc7pHd9m/poster'],
    }),
    name: Type.String(),
    company: Type.String(),
    merchantIdentifier: Type.String(),
    currency: Type.String(),
    amount: Nullable(Type.String()),
    minAmount: Nullable(Type.String()),
    maxAmount: Nullable(Type.String()),
    webhookUrl: Nullable(Type.String()),
    returnUrl: Nullable(Type.String()),
    active: Type.Boolean({ description: 'A link that is off makes no orders; its page says so.' }),
    orders: Type.Integer({ description: 'Orders made through this link.', examples: [12] }),
    paid: Type.Integer({ description: 'Of these, paid ones.', examples: [9] }),
    paidAmount: Type.String({
      description: 'Sum of what was paid towards their prices, in `currency`.',
      examples: ['45.00'],
    }),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'StaticLink', description: 'An address that makes a new order for each payment.' },
)
export type StaticLinkView = Static<typeof StaticLinkSchema>
