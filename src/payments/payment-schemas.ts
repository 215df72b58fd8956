import { CHANNEL_IDS } from '../channels/channel.ts'
import { type Static, type TSchema, Type } from '../kernel/schema.ts'
import { OFFER_FAULTS } from './accept/offers.ts'
import { ChannelTextsSchema } from './accounts/rule-schemas.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const NullableText = (description: string) => Nullable(Type.String({ description }))

export const AcceptBody = Type.Object({
  paymentChannel: Type.String({ enum: [...CHANNEL_IDS], description: 'How the payer pays.' }),
  cancelUrl: Type.Optional(Type.String({ maxLength: 2048 })),
  returnUrl: Type.Optional(Type.String({ maxLength: 2048 })),
  network: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Chain id; needed for `crypto` when several networks are offered.' }),
  ),
  payerEmail: Type.Optional(Type.String({ format: 'email', maxLength: 320 })),
  anonymous: Type.Optional(Type.Boolean()),
  userAddress: Type.Optional(Type.String({ maxLength: 42, description: 'The payer’s wallet address.' })),
  requote: Type.Optional(
    Type.Boolean({
      description:
        'Accept an unpaid order that expired or failed, at a fresh rate: `toAmount`, `rate` and `expiresAt` ' +
        'change, code and page stay. Possible for `requoteHours` of the company.',
    }),
  ),
  pos: Type.Optional(Type.String({ maxLength: 100 })),
  pastOrders: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100 })),
})
export type AcceptBody = Static<typeof AcceptBody>

export const InstructionsSchema = Type.Object({
  paymentChannel: Type.String(),
  status: Type.String(),
  expiresAt: Type.String({ format: 'date-time' }),
  qrData: NullableText('What to show as a QR code.'),
  deepLink: NullableText('Opens the payer’s app.'),
  checkoutUrl: NullableText('The provider’s own page.'),
  toAddress: NullableText('`crypto`: the deposit address of this order.'),
  tokenAmount: NullableText('`crypto`: USDC to send, decimal text with 6 digits.'),
  tokenAddress: NullableText('`crypto`: the USDC contract.'),
  network: Nullable(Type.Integer({ description: '`crypto`: chain id.' })),
  paymentUri: NullableText('`crypto`: EIP-681 link for wallets.'),
  providerReference: NullableText('The payment’s id at the provider.'),
})

export const TransactionBody = Type.Object({
  txHash: Type.String({ maxLength: 80, description: '0x and 64 hexadecimal digits.' }),
  network: Type.Optional(Type.Integer({ minimum: 1, description: 'Chain id; without it every chain is asked.' })),
})

export const NamedTransactionSchema = Type.Object({
  found: Type.Boolean({ description: 'A chain knows the transaction.' }),
  counted: Type.Boolean({ description: 'It is recorded as money for this order.' }),
  reason: Type.String({ description: 'Why it does not count, or what it waits for.' }),
})

export const OfferQuery = Type.Object({
  code: Type.Optional(Type.String({ maxLength: 64 })),
  amount: Type.Optional(Type.String({ maxLength: 30, description: 'Decimal text in `fromAsset`.' })),
  fromAsset: Type.Optional(Type.String({ maxLength: 10 })),
})

export const ChannelNameSchema = Type.Object({
  paymentChannel: Type.String({ enum: [...CHANNEL_IDS] }),
  name: Type.String({
    description: 'As payers read it, where no language has its own word.',
    examples: ['Binance Pay'],
  }),
})

export const OfferSchema = Type.Object({
  paymentChannel: Type.String({ enum: [...CHANNEL_IDS] }),
  networks: Type.Array(Type.Integer()),
  available: Type.Boolean(),
  reason: NullableText('Why it is hidden from the payer now, in English.'),
  reasonCode: Nullable(
    Type.String({
      enum: [...OFFER_FAULTS],
      description:
        'The same for a program. off, noRate, shopLeast, shopMost: your own rules. least, most, currency: what the ' +
        'provider takes. network: our side of the chain. trouble, busy, credentials, clock: the provider is not called ' +
        'for a while.',
    }),
  ),
  limit: Nullable(
    Type.Object(
      { amount: Type.String(), asset: Type.String() },
      { description: 'The limit that the amount violates, for shopLeast, shopMost, least and most.' },
    ),
  ),
  texts: ChannelTextsSchema,
  circuit: Nullable(
    Type.Object(
      {
        state: Type.Union([Type.Literal('closed'), Type.Literal('open'), Type.Literal('half-open')], {
          description: 'open: the provider is not called until `openUntil`; half-open: the next call is a trial.',
        }),
        cause: Nullable(
          Type.Union(
            [Type.Literal('trouble'), Type.Literal('busy'), Type.Literal('credentials'), Type.Literal('clock')],
            { description: 'Why it opened: no answers, a requested pause, a refused key, a refused time.' },
          ),
        ),
        openUntil: NullableText('When the next call is let through.'),
        clockAheadSeconds: Nullable(
          Type.Number({ description: 'How far this server’s clock is ahead of the provider’s; negative: behind.' }),
        ),
      },
      { description: 'For a SuperAdmin or SuperManager. Null for everyone else.' },
    ),
  ),
})

export const AccountBody = Type.Object({
  settings: Type.Record(Type.String({ maxLength: 60 }), Type.String({ maxLength: 48_000 }), {
    description: 'Setting name to value; the names are listed by GET /channel-accounts.',
  }),
})

export const AccountChangeSchema = Type.Object({
  movedOrders: Type.Integer({
    examples: [0],
    description:
      '`crypto`: open orders whose payers were shown an address that is not in the wallet any more. They choose again.',
  }),
})

export const AccountSchema = Type.Object({
  channel: Type.String(),
  own: Type.Boolean({ description: 'Whether the company’s own account is used.' }),
  hints: Type.Record(Type.String(), Type.String()),
  callbackUrl: Type.String({ description: 'What to enter in the provider’s console.' }),
  settings: Type.Array(
    Type.Object({ name: Type.String(), means: Type.String(), required: Type.Boolean(), secret: Type.Boolean() }),
  ),
  updatedAt: NullableText('When it was set.'),
})

export const AccountVerdictSchema = Type.Object({
  outcome: Type.Union(
    [Type.Literal('accepted'), Type.Literal('refused'), Type.Literal('clock'), Type.Literal('silent')],
    { description: 'clock: the provider refuses our time. silent: it did not answer, so nothing is known.' },
  ),
  reason: NullableText('The provider’s own word; null where it accepts.'),
})

export const ProviderCallSchema = Type.Object({
  _id: Type.String(),
  paymentChannel: Type.String(),
  merchantReference: Type.String(),
  step: Type.String(),
  method: Type.String(),
  url: Type.String(),
  request: Type.String(),
  status: Nullable(Type.Integer()),
  answer: Type.String(),
  durationMs: Type.Integer(),
  at: Type.String({ format: 'date-time' }),
})
