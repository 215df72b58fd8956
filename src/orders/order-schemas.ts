import { CHANNEL_IDS } from '../channels/channel.ts'
import { refTo } from '../http/envelope.ts'
import { VISIBLE_PATTERN } from '../kernel/names.ts'
import { CHOICES, type Static, type TSchema, Type } from '../kernel/schema.ts'
import { ORDER_STATUSES, type OrderStatus } from './order-states.ts'

/** One type or null, in JSON Schema's shortest form. A union would be tried branch by branch for every response. */
const Nullable = <Schema extends TSchema & { type: string }>(schema: Schema) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] })
const DateTime = (description: string) => Type.String({ format: 'date-time', description })
const NullableText = (description: string) => Nullable(Type.String({ description }))

/** Codes of the goods' kind: 01 tangible, 02 virtual. */
const GOODS_TYPES = ['01', '02']
const GOODS_CATEGORIES = [
  ...['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'Z'].map(
    (digit) => `${digit}000`,
  ),
]

export const GoodsSchema = Type.Object(
  {
    goodsName: Type.Optional(Type.String({ maxLength: 256 })),
    goodsType: Type.Optional(Type.String({ enum: GOODS_TYPES, description: '01 tangible, 02 virtual' })),
    goodsCategory: Type.Optional(Type.String({ enum: GOODS_CATEGORIES })),
    goodsDetail: Type.Optional(Type.String({ maxLength: 256 })),
    goodsQuantity: Type.Optional(Type.String({ maxLength: 256 })),
  },
  { description: 'What is sold.' },
)

/** With the limits of Stripe's metadata. */
const MetadataSchema = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 50,
  propertyNames: { type: 'string', minLength: 1, maxLength: 40 },
  additionalProperties: { type: 'string', maxLength: 500 },
  description:
    'Your own names and texts, at most 50: names of 1 to 40 characters, texts of at most 500, and 8,000 characters of ' +
    'JSON in all. Kept as sent, and shown to your company only, never to payers. A name with null or an empty text is left out. No personal data, because the ' +
    'erasure of the payer leaves it.',
})

const StatusSchema = Type.Unsafe<OrderStatus>(
  Type.String({ enum: [...ORDER_STATUSES], description: 'The order’s state.' }),
)

export const OrderSchema = Type.Object(
  {
    _id: Type.String(),
    code: Type.String({ description: 'Unguessable; used in paths.' }),
    shortCode: Type.String({ description: '8 characters for reading aloud.' }),
    fromAmount: Type.String({ description: 'Decimal text with exactly the currency’s digits.', examples: ['50.00'] }),
    toAmount: Type.String({ description: 'Decimal text with 6 digits.', examples: ['54.000000'] }),
    fromAsset: Type.String({ examples: ['EUR'] }),
    toAsset: Type.String({ examples: ['USDC'] }),
    status: StatusSchema,
    paymentChannel: NullableText('The chosen channel, null before accept.'),
    webhookUrl: Type.Optional(NullableText('Only for readers with a credential of the order’s company.')),
    alias: NullableText('Your reference; with it the order is a payment link.'),
    goods: Nullable(GoodsSchema),
    metadata: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>> | null>({
        ...{ type: ['object', 'null'], additionalProperties: { type: 'string' } },
        description: 'Your own names and texts. Only for readers with a credential of the order’s company.',
      }),
    ),
    createdAt: DateTime('UTC with milliseconds.'),
    updatedAt: DateTime('Grows with every change of the order.'),
    expiresAt: DateTime('When an unpaid order ends.'),
    paidAt: Nullable(DateTime('When the payment became final.')),
    refundedAmount: Type.String({ description: 'In toAsset, 6 digits.' }),
    rate: Type.String({ description: 'Units of toAsset for one unit of fromAsset.' }),
    paymentUrl: Type.String({ description: 'The page to show, as a link or QR code.' }),
    anonymous: Type.Boolean(),
    merchantIdentifier: NullableText('The till.'),
    websiteUrl: NullableText('The shop.'),
    returnUrl: NullableText('Where the payer goes after paying.'),
    cancelUrl: NullableText('Where the payer goes after cancelling.'),
  },
  { $id: 'Order', description: 'An order. Every key is always present; absent values are null.' },
)

const Hidden = (description: string) => Nullable(Type.String({ description }))
const STRANGERS = 'Null without a credential of the order’s company.'

export const ReferenceOrderSchema = Type.Object(
  {
    ...OrderSchema.properties,
    _id: Hidden(STRANGERS),
    code: Hidden(STRANGERS),
    shortCode: Hidden(STRANGERS),
    paymentUrl: Hidden(STRANGERS),
    returnUrl: Hidden(STRANGERS),
    cancelUrl: Hidden(STRANGERS),
  },
  { $id: 'ReferenceOrder', description: 'An order found by its reference, which can be guessed.' },
)

export const CreateOrderBody = Type.Object({
  amount: Type.Union([Type.Number(), Type.String({ maxLength: 32 })], {
    description:
      'In fromAsset: decimal text, exact; or a number, which means the amount within 0.000001 of it. At least 0.10, ' +
      'at most the company’s maximum, which is in EUR. With a session: its price, which a ' +
      'SimpleUser may leave out, as fromAsset.',
    examples: [50],
  }),
  fromAsset: Type.String({ maxLength: 8, description: 'EUR, CHF, XPF, USD or GBP.', examples: ['EUR'] }),
  toAsset: Type.Optional(Type.String({ maxLength: 8, description: 'USDC.', examples: ['USDC'] })),
  merchantIdentifier: Type.Optional(Type.String({ maxLength: 100, description: 'The till, for a sale in the shop.' })),
  websiteUrl: Type.Optional(Type.String({ maxLength: 2048, description: 'The website, for a sale online.' })),
  sessionId: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'The buy-button session: the order costs its price. Required with websiteUrl, also taken at a till.',
    }),
  ),
  webhookUrl: Type.Optional(Type.String({ maxLength: 2048, description: 'Receives the order’s events.' })),
  cancelUrl: Type.Optional(Type.String({ maxLength: 2048 })),
  returnUrl: Type.Optional(Type.String({ maxLength: 2048 })),
  alias: Type.Optional(
    Type.String({
      ...{ minLength: 1, maxLength: 100, pattern: VISIBLE_PATTERN },
      description:
        'Makes the order a payment link, valid for one month. Any text except "." and "..". Free again once its order ' +
        'has ended; late money for that order may then wait for a person.',
    }),
  ),
  anonymous: Type.Optional(Type.Boolean({ description: 'The payer’s identity is not required.' })),
  expiryMinutes: Type.Optional(Type.Integer({ minimum: 10, maximum: 44_640, description: 'Only with alias.' })),
  goods: Type.Optional(GoodsSchema),
  metadata: Type.Optional(MetadataSchema),
})
export const CreateQuery = Type.Object({
  companyId: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{24}$',
      description: 'For operators: the company whose till `merchantIdentifier` names. Not needed with a till’s id.',
    }),
  ),
  soldBy: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{24}$',
      description:
        'At a till, for a sale that waited there and that you took over: id of the colleague who had typed it. The ' +
        'order is yours; its history names the colleague.',
    }),
  ),
})

export type CreateOrderBody = Static<typeof CreateOrderBody>

export const CodeParams = Type.Object({ code: Type.String({ minLength: 1, maxLength: 64 }) })

const Integer = (options: { minimum: number; maximum: number; default: number }) => Type.Optional(Type.Integer(options))

export const FilterQuery = {
  status: Type.Optional(
    Type.Array(Type.String({ maxLength: 400 }), {
      description: 'Repeat it, or separate by commas; `status[]` is read too.',
      [CHOICES]: ORDER_STATUSES,
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'In code, shortCode, alias and amount (the price, or what arrived); a transaction hash, a deposit address, or the id of a payment at its provider.',
    }),
  ),
  managerEmail: Type.Optional(Type.String({ maxLength: 320, description: 'SuperAdmin and SuperManager only.' })),
  companyId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{24}$', description: 'One company of those you see.' })),
  from: Type.Optional(
    Type.String({ format: 'date-time', description: 'createdAt at or after. A date alone: its beginning, UTC.' }),
  ),
  to: Type.Optional(
    Type.String({ format: 'date-time', description: 'createdAt at or before. A date alone: its end, UTC.' }),
  ),
  paymentChannel: Type.Optional(Type.String({ maxLength: 40, [CHOICES]: CHANNEL_IDS })),
  merchantIdentifier: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'One till: its identifier as the orders have it, or its id, which also finds those of earlier names.',
    }),
  ),
}

export const ListQuery = Type.Object({
  ...FilterQuery,
  page: Integer({ minimum: 1, maximum: 1_000_000, default: 1 }),
  limit: Integer({ minimum: 1, maximum: 100, default: 20 }),
  sort: Type.Optional(
    Type.String({
      enum: ['-createdAt', 'createdAt', '-fromAmount', 'fromAmount', '-toAmount', 'toAmount'],
      default: '-createdAt',
      description: 'By fromAmount, 100 of any currency are equal; toAmount puts all of them in order of their worth.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 200, description: '`nextCursor` of the previous answer; no depth limit.' }),
  ),
})
export type ListQuery = Static<typeof ListQuery>

export const OrderPage = Type.Object({
  orders: Type.Array(refTo(OrderSchema)),
  total: Type.Integer(),
  page: Type.Integer(),
  limit: Type.Integer(),
  nextCursor: Type.Union([Type.String(), Type.Null()], {
    description: 'Send it as `cursor` for the next page; null at the end.',
  }),
})

/** The e-mail is in the body: addresses of requests are written to the logs of proxies. */
export const PayerOrdersBody = Type.Object({
  payerEmail: Type.String({
    ...{ format: 'email', maxLength: 320, examples: ['payer@example.org'] },
    description: 'The whole address, in capitals or not.',
  }),
  status: Type.Optional(
    Type.Array(Type.String({ maxLength: 400 }), { description: 'Only these states.', examples: [['PAID']] }),
  ),
  managerEmail: FilterQuery.managerEmail,
  companyId: FilterQuery.companyId,
  from: FilterQuery.from,
  to: FilterQuery.to,
  paymentChannel: Type.Optional(Type.String({ maxLength: 40, examples: ['crypto'] })),
  merchantIdentifier: FilterQuery.merchantIdentifier,
  page: ListQuery.properties.page,
  limit: ListQuery.properties.limit,
  sort: ListQuery.properties.sort,
  cursor: ListQuery.properties.cursor,
})

export const LinksQuery = Type.Object({
  ...FilterQuery,
  limit: Integer({ minimum: 1, maximum: 1000, default: 1000 }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`Comptoir-Next-Cursor` of the answer before.' })),
})
export type LinksQuery = Static<typeof LinksQuery>
