import { LANGS, type Lang } from '../kernel/lang.ts'
import { MAX_COMPANY_NAME, NAME_PATTERN, VISIBLE_PATTERN } from '../kernel/names.ts'
import { type TInteger, type TSchema, Type } from '../kernel/schema.ts'
import { LIMITED_ROLES } from './company-refund-limits.ts'

export const Nullable = <Schema extends TSchema>(schema: Schema, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options)
export const Id = Type.String({ pattern: '^[0-9a-f]{24}$', description: '24 hex characters.' })
export const IdParams = Type.Object({ id: Id })
const Country = Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2.', examples: ['CH'] })
const MAIL_LANGUAGE = 'Of mails to customers who have not chosen one on our pages; null: that of the company’s country.'
const LateMoneySchema = Type.Unsafe<'accept' | 'hold'>(
  Type.String({
    enum: ['accept', 'hold'],
    description: 'Late payments of cancelled and failed orders: `accept` them within `lateAcceptHours`, or `hold` all.',
  }),
)
const CompanyName = Type.String({ minLength: 1, maxLength: MAX_COMPANY_NAME, pattern: NAME_PATTERN })
const Decimal = Type.String({ pattern: '^[0-9]{1,16}(\\.[0-9]{1,2})?$', examples: ['1000.00'] })
const Usdc = Type.String({ pattern: '^[0-9]{1,16}(\\.[0-9]{1,6})?$', examples: ['500.00'] })
const PositiveDecimal = Type.String({
  pattern: '^(?!0+(\\.0+)?$)[0-9]{1,16}(\\.[0-9]{1,2})?$',
  examples: ['1000.00'],
})

export const ChoiceQuery = {
  companyId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For operators: the company.' })),
  childManager: Type.Optional(
    Type.String({
      maxLength: 254,
      description: 'For operators: the company, by the id or e-mail of one of its managers.',
    }),
  ),
}
export const ChoiceOnly = Type.Object(ChoiceQuery)
/** Optional for callers; the validator fills in the default, so handlers always have a value. */
const WithDefault = (options: { minimum: number; maximum: number; default: number }): TInteger =>
  Type.Optional(Type.Integer(options)) as unknown as TInteger
export const PageQuery = {
  page: WithDefault({ minimum: 1, maximum: 100_000, default: 1 }),
  limit: WithDefault({ minimum: 1, maximum: 100, default: 20 }),
}
/** One page of a list under its own name: `{buyButtons: […], total, page, limit}`. */
export const pageOf = <Name extends string, Schema extends TSchema>(name: Name, item: Schema) =>
  Type.Object({
    ...({ [name]: Type.Array(item) } as Record<Name, ReturnType<typeof Type.Array<Schema>>>),
    ...{ total: Type.Integer(), page: Type.Integer(), limit: Type.Integer() },
  })

const SingleAndDay =
  'The most that the role may refund without approval, at once and in any 24 hours: USDC, null for no limit.'
const UsdcLimit = Nullable(Type.String({ maxLength: 40, examples: ['500.00'] }))
const RoleLimit = Type.Optional(Type.Object({ single: UsdcLimit, day: UsdcLimit }))
const LimitsSchema = Type.Object(
  { SuperManager: RoleLimit, Manager: RoleLimit, Association: RoleLimit, Service: RoleLimit },
  { description: `${SingleAndDay} A missing role has no limit; API keys then have the managers’ limit.` },
)
const LimitsChange = Type.Record(
  Type.String(),
  Nullable(Type.Object({ single: Type.Optional(UsdcLimit), day: Type.Optional(UsdcLimit) })),
  {
    description:
      `By role (${LIMITED_ROLES.join(', ')}). ${SingleAndDay} Null removes a role’s limits; roles that you ` +
      'leave out keep theirs. A SuperAdmin sets all limits, a SuperManager those of the other roles; both need a ' +
      'fresh second factor.',
  },
)

export const CompanySchema = Type.Object(
  {
    _id: Type.String(),
    name: Type.String(),
    kind: Type.String({ enum: ['company', 'association'] }),
    country: Nullable(Type.String()),
    siret: Nullable(Type.String()),
    vatNumber: Nullable(Type.String({ description: 'Of the EU, the United Kingdom or Switzerland.' })),
    approved: Type.Boolean(),
    managerVerified: Type.Boolean({ description: 'Whether one of its managers has confirmed the e-mail address.' }),
    settlementAddress: Nullable(Type.String()),
    settlementNetwork: Nullable(Type.Integer()),
    settlementRestored: Type.Boolean({
      description:
        'The database was restored, and the payout address is the one of its backup. Nothing is paid out to it before ' +
        'somebody of the company sends it again, the same or another, with a fresh second factor.',
    }),
    maxOrderAmount: Type.String({ description: 'EUR; orders in other currencies are compared at their rate.' }),
    identityThresholdAmount: Type.String({
      description: 'EUR; orders of this amount and above need payer information.',
    }),
    toleranceBps: Type.Integer({ description: 'How much a payment may fall short, in hundredths of a percent.' }),
    toleranceMaxUnits: Type.String({ description: 'The most that a payment may fall short, in millionths of a USDC.' }),
    lateAcceptHours: Type.Integer({ description: 'How long after the order’s end late payments are accepted.' }),
    lateAfterCancel: LateMoneySchema,
    requoteHours: Type.Integer({
      description: 'How long after its end an unpaid order can still be accepted, at a fresh rate. 0: never.',
    }),
    linkQuoteMinutes: Nullable(
      Type.Integer({
        description:
          'Payment links: accepting takes a fresh rate when the last one is older than this. ' +
          'Accepting the same channel again keeps its price for as long. Null: one rate as long as the link lives.',
      }),
    ),
    settlementReserve: Type.String({
      description: 'USDC that each settlement leaves with the operator to cover refunds.',
    }),
    refundApproval: Type.Boolean({ description: 'Refunds wait for the operator.' }),
    refundStepUpLimit: Type.String({
      description:
        'USDC. A larger refund needs a person with a fresh second factor; API keys are refused, whatever their limit.',
    }),
    refundLimits: LimitsSchema,
    feeBps: Type.Integer(),
    kycThreshold: Nullable(Type.String({ description: 'EUR; payers are checked from this amount on. Null: never.' })),
    kycLimit: Nullable(
      Type.String({
        description: 'EUR that a checked payer may spend in 30 days without enhanced due diligence. Null: no limit.',
      }),
    ),
    displayName: Nullable(Type.String({ description: 'The name on the sign, if it is not the name itself.' })),
    legalName: Nullable(Type.String({ description: 'Who the payer’s contract is with.' })),
    brandColor: Nullable(Type.String({ description: '`#rrggbb`. Pages use it as far as it can be read.' })),
    supportEmail: Nullable(Type.String()),
    supportPhone: Nullable(Type.String()),
    termsUrl: Nullable(Type.String()),
    customerLanguage: Nullable(Type.String({ enum: [...LANGS] }), { description: MAIL_LANGUAGE }),
    logoUrl: Nullable(Type.String({ description: 'Set it with PUT /companies/{id}/logo.' })),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'Company', description: 'A company or an association that sells.' },
)

export const CompanyChangeBody = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_COMPANY_NAME, pattern: NAME_PATTERN })),
  country: Type.Optional(Nullable(Country)),
  siret: Type.Optional(Nullable(Type.String({ pattern: '^[0-9]{14}$' }))),
  vatNumber: Type.Optional(Nullable(Type.String({ maxLength: 30 }))),
  settlementAddress: Type.Optional(Nullable(Type.String({ maxLength: 42 }))),
  settlementNetwork: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  displayName: Type.Optional(Nullable(CompanyName)),
  legalName: Type.Optional(Nullable(CompanyName)),
  brandColor: Type.Optional(Nullable(Type.String({ pattern: '^#[0-9a-fA-F]{6}$' }))),
  supportEmail: Type.Optional(Nullable(Type.String({ format: 'email', maxLength: 254 }))),
  supportPhone: Type.Optional(Nullable(Type.String({ pattern: '^\\+?[0-9][0-9 ()./-]{4,29}$' }))),
  termsUrl: Type.Optional(Nullable(Type.String({ maxLength: 2048 }))),
  customerLanguage: Type.Optional(
    Nullable(Type.Unsafe<Lang>(Type.String({ enum: [...LANGS] })), { description: MAIL_LANGUAGE }),
  ),
  lateAcceptHours: Type.Optional(Type.Integer({ minimum: 0, maximum: 8760 })),
  lateAfterCancel: Type.Optional(LateMoneySchema),
  requoteHours: Type.Optional(Type.Integer({ minimum: 0, maximum: 8760 })),
  linkQuoteMinutes: Type.Optional(Nullable(Type.Integer({ minimum: 5, maximum: 44_640 }))),
  settlementReserve: Type.Optional(Usdc),
  maxOrderAmount: Type.Optional(Decimal),
  identityThresholdAmount: Type.Optional(Decimal),
  toleranceBps: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  toleranceMaxUnits: Type.Optional(Type.String({ pattern: '^[0-9]{1,18}$' })),
  refundApproval: Type.Optional(Type.Boolean()),
  refundStepUpLimit: Type.Optional(Usdc),
  refundLimits: Type.Optional(LimitsChange),
  feeBps: Type.Optional(Type.Integer({ minimum: 0, maximum: 5000 })),
  kycThreshold: Type.Optional(Nullable(PositiveDecimal)),
  kycLimit: Type.Optional(Nullable(Decimal)),
})

export const CompanyQuery = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 100 })),
  approved: Type.Optional(Type.Boolean()),
  waiting: Type.Optional(
    Type.Boolean({ description: 'Whether it waits for approval: its manager has confirmed the e-mail address.' }),
  ),
  ...PageQuery,
})

const Text = (maxLength: number) => Type.Optional(Nullable(Type.String({ maxLength })))
const salesPointFields = {
  city: Text(100),
  country: Type.Optional(Nullable(Country)),
  street: Text(200),
  zipCode: Text(20),
  logoUrl: Text(2048),
  lat: Type.Optional(Nullable(Type.Number({ minimum: -90, maximum: 90 }))),
  lng: Type.Optional(Nullable(Type.Number({ minimum: -180, maximum: 180 }))),
}
export const SalesPointBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200, pattern: VISIBLE_PATTERN }),
  ...salesPointFields,
})
export const SalesPointChange = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, pattern: VISIBLE_PATTERN })),
  ...salesPointFields,
})
export const SalesPointSchema = Type.Object(
  {
    _id: Type.String(),
    name: Type.String(),
    company: Type.String(),
    city: Nullable(Type.String()),
    country: Nullable(Type.String()),
    street: Nullable(Type.String()),
    zipCode: Nullable(Type.String()),
    logoUrl: Nullable(Type.String()),
    lat: Nullable(Type.Number()),
    lng: Nullable(Type.Number()),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'SalesPoint', description: 'A shop: a place with tills.' },
)

const Identifier = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^\\S(.*\\S)?$',
  description: 'Its name in orders (`merchantIdentifier`); unique in the company.',
})
const TillWebhookUrl = Type.String({ minLength: 1, maxLength: 2048 })
export const CollectorBody = Type.Object({
  identifier: Identifier,
  salePoint: Id,
  uuid: Type.Optional(Type.String({ maxLength: 100, description: 'Your own id of the device.' })),
  webhookUrl: Type.Optional(
    Type.Unsafe<string>({ ...TillWebhookUrl, description: 'Receives the events of its orders that name no address.' }),
  ),
})
export const CollectorChange = Type.Object({
  identifier: Type.Optional(Identifier),
  active: Type.Optional(Type.Boolean()),
  cashiers: Type.Optional(
    Type.Array(Id, { maxItems: 200, description: 'Users with the role Cashier; replaces the list.' }),
  ),
  webhookUrl: Type.Optional(
    Nullable(TillWebhookUrl, {
      description: 'Receives the events of new orders that name no address. Null: none. Orders that exist keep theirs.',
    }),
  ),
})
export const CollectorQuery = Type.Object({
  ...ChoiceQuery,
  ...PageQuery,
  salePoint: Type.Optional(Type.String({ pattern: '^[0-9a-f]{24}$' })),
  active: Type.Optional(Type.Boolean()),
})
export const CollectorSchema = Type.Object(
  {
    _id: Type.String(),
    identifier: Type.String(),
    uuid: Nullable(Type.String()),
    webhookUrl: Nullable(Type.String(), {
      description: 'Receives the events of orders that name no address themselves; null: none does.',
    }),
    active: Type.Boolean(),
    company: Type.String(),
    salePoint: Type.Object({ _id: Type.String(), name: Type.String() }),
    cashiers: Type.Array(
      Type.Object({
        _id: Type.String(),
        email: Nullable(Type.String({ description: 'Only for those who manage people.' })),
        firstName: Type.String(),
        lastName: Type.String(),
      }),
    ),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'Collector', description: 'A till.' },
)

const Price = Type.Union([Type.Number(), Type.String({ maxLength: 32 })], { description: 'A number or decimal text.' })
const Url = Type.String({ maxLength: 2048 })
export const ButtonBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200, pattern: VISIBLE_PATTERN }),
  websiteUrl: Url,
  price: Price,
  currency: Type.String({ maxLength: 8, examples: ['EUR'] }),
  itemRef: Type.Optional(Type.String({ maxLength: 100 })),
  callbackUrl: Type.Optional(Url),
  pagePrice: Type.Optional(Type.Boolean()),
})
export const ButtonChange = Type.Partial(ButtonBody)
export const ButtonSchema = Type.Object(
  {
    _id: Type.String(),
    name: Type.String(),
    company: Type.String(),
    websiteUrl: Type.String(),
    price: Type.String(),
    currency: Type.String(),
    itemRef: Nullable(Type.String()),
    callbackUrl: Nullable(Type.String()),
    pagePrice: Type.Boolean(),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'BuyButton', description: 'A button on a website.' },
)

export const SessionBody = Type.Object({
  button: Id,
  orderRef: Type.String({
    minLength: 6,
    maxLength: 100,
    pattern: VISIBLE_PATTERN,
    description: 'Your reference; unique among live sessions.',
  }),
  price: Type.Optional(Price),
  currency: Type.Optional(Type.String({ maxLength: 8 })),
  buttonName: Type.Optional(Type.String({ maxLength: 200 })),
  callbackUrl: Type.Optional(Url),
  cancelUrl: Type.Optional(Url),
  returnUrl: Type.Optional(Url),
})
export const SessionSchema = Type.Object(
  {
    _id: Type.String({ description: 'The `sessionId` of an order.' }),
    code: Type.String(),
    company: Type.String(),
    button: Type.String(),
    buttonName: Nullable(Type.String()),
    orderRef: Type.String(),
    price: Type.String(),
    currency: Type.String(),
    websiteUrl: Type.String(),
    callbackUrl: Nullable(Type.String()),
    cancelUrl: Nullable(Type.String()),
    returnUrl: Nullable(Type.String()),
    order: Nullable(Type.String({ description: 'The newest order of this session.' })),
    ended: Type.Boolean(),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'BuyButtonSession', description: 'One buyer’s session at a buy button.' },
)

/** Schemas that answers reference by name. */
export const COMPANY_SCHEMAS = [CompanySchema, SalesPointSchema, CollectorSchema, ButtonSchema, SessionSchema]
