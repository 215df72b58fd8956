import { CompanyIdQuery } from '../../http/actor.ts'
import { type Static, type TSchema, Type } from '../../kernel/schema.ts'
import { LOSS_BEARERS, type LossBearer, MISPAYMENT_KINDS, MISPAYMENT_STATUSES } from './mispayment-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

const MispaymentSchema = Type.Object(
  {
    _id: Type.String(),
    code: Type.String({ description: 'The order that the money came for.' }),
    shortCode: Type.String(),
    orderStatus: Type.String(),
    fromAmount: Type.String({ description: 'The price of the order.', examples: ['50.00'] }),
    fromAsset: Type.String({ description: 'Its currency.', examples: ['EUR'] }),
    toAmount: Type.String({ description: 'The price in USDC.', examples: ['54.000000'] }),
    kind: Type.String({ enum: [...MISPAYMENT_KINDS] }),
    status: Type.String({ enum: [...MISPAYMENT_STATUSES] }),
    refundStatus: Nullable(
      Type.String({
        description: '`refunded`: how its refund stands; the money is back once that is `settled`.',
        examples: ['settled'],
      }),
    ),
    asset: Type.String(),
    units: Type.String({ description: 'Smallest units of the asset.' }),
    amount: Nullable(Type.String({ description: 'Decimal text; null for tokens whose decimals are not known.' })),
    reference: Type.String(),
    decidedBy: Nullable(Type.String()),
    reason: Nullable(Type.String()),
    borneBy: Nullable(
      Type.String({ enum: [...LOSS_BEARERS], description: '`orphaned`: who bears money that left the chain.' }),
    ),
    askedBackAt: Nullable(
      Type.String({ format: 'date-time', description: 'When its payer asked for it on the order’s page.' }),
    ),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { description: 'Money that does not fit its order. It waits in suspense until a person decides.' },
)

export const MispaymentListQuery = Type.Object({
  companyId: CompanyIdQuery,
  status: Type.Optional(Type.String({ enum: [...MISPAYMENT_STATUSES] })),
  kind: Type.Optional(Type.String({ enum: [...MISPAYMENT_KINDS] })),
  code: Type.Optional(Type.String({ maxLength: 64 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
})
export type MispaymentListQuery = Static<typeof MispaymentListQuery>

export const MispaymentList = Type.Object({
  mispayments: Type.Array(MispaymentSchema),
  total: Type.Integer(),
  page: Type.Integer(),
  limit: Type.Integer(),
})

/** Of every decision about the whole record. */
export const ShownUnits = Type.Optional(
  Type.String({
    pattern: '^[0-9]{1,38}$',
    description: 'Of the record that you read. If it is about more or less by now, 409 `OBJECT_CONFLICT`.',
  }),
)
export const AcceptMispaymentBody = Type.Object({
  reason: Type.Optional(Type.String({ maxLength: 256 })),
  units: ShownUnits,
})
export const IgnoreMispaymentBody = Type.Object({
  reason: Type.String({ minLength: 1, maxLength: 256 }),
  units: ShownUnits,
})
export const BearLossBody = Type.Object({
  by: Type.Unsafe<LossBearer>(
    Type.String({
      enum: [...LOSS_BEARERS],
      description: 'Who bears the loss. Only a SuperAdmin can choose `operator`.',
    }),
  ),
  reason: Type.Optional(Type.String({ maxLength: 256 })),
})
