import { ChoiceQuery, PageQuery } from '../companies/company-schemas.ts'
import { type Static, type TSchema, Type } from '../kernel/schema.ts'
import { EDD_STATUSES, KYC_ACTIONS, KYC_STATUSES, KYC_TRIGGERS, type KycStatus } from './kyc.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Limit = (description: string) => Type.String({ pattern: '^[0-9]{1,15}(\\.[0-9]{1,2})?$', description })
const Reason = Type.String({ minLength: 1, maxLength: 500, description: 'Why, for the history.' })
const DateTime = Type.String({ format: 'date-time' })

export const KycParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

export const KycListQuery = Type.Object({
  ...ChoiceQuery,
  ...PageQuery,
  status: Type.Optional(
    Type.Unsafe<KycStatus | 'waiting'>(
      Type.String({
        enum: [...KYC_STATUSES, 'waiting'],
        description:
          '`waiting`: the check or its enhanced one is `pending`, as `needs.identity` of GET /summary counts them.',
      }),
    ),
  ),
})

export const StartKycBody = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 64, description: 'The order whose payer is checked.' }),
})
export const AskedSchema = Type.Object({
  kycId: Type.String(),
  url: Type.String({ description: 'The page for the payer, who also gets it by mail.' }),
  status: Type.String({ enum: [...KYC_STATUSES] }),
})

const Seen = Type.Optional(
  Type.String({
    format: 'date-time',
    description: 'Of the check that you read. If it has changed since, 409 `OBJECT_CONFLICT`.',
  }),
)

export const ApproveBody = Type.Object({ reason: Type.Optional(Reason), updatedAt: Seen })
export const RefuseBody = Type.Object({ reason: Reason, updatedAt: Seen })
export const EddBody = Type.Object({
  reason: Type.Optional(Reason),
  updatedAt: Seen,
  spendingLimit: Type.Optional(
    Limit('SuperAdmin only: EUR in 30 days, granted when the provider approves. Absent: a SuperAdmin completes it.'),
  ),
})
export const EddCompleteBody = Type.Object({
  outcome: Type.Unsafe<'approved' | 'refused'>(Type.String({ enum: ['approved', 'refused'] })),
  spendingLimit: Type.Optional(
    Limit('EUR that the payer may spend in 30 days; required when approved; when refused, 0.00 by default.'),
  ),
  reason: Type.Optional(Reason),
  updatedAt: Seen,
})
export type EddCompleteBody = Static<typeof EddCompleteBody>

const state = {
  status: Type.String({ enum: [...KYC_STATUSES] }),
  eddStatus: Type.String({ enum: [...EDD_STATUSES], description: 'Enhanced due diligence.' }),
  eddOutcome: Nullable(Type.String({ enum: ['approved', 'refused'] })),
  spendingLimit: Nullable(
    Type.String({
      description:
        'EUR in 30 days, once enhanced due diligence is completed. That of a refused one stays while the next one is open.',
    }),
  ),
}

export const KycSchema = Type.Object(
  {
    _id: Type.String(),
    company: Type.String(),
    provider: Type.String({ enum: ['manual', 'sumsub'] }),
    ...state,
    message: Nullable(Type.String({ description: 'The provider’s last message.' })),
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  { $id: 'Kyc', description: 'The identity check of one payer.' },
)

export const KycDetailSchema = Type.Object({
  ...KycSchema.properties,
  payer: Nullable(
    Type.Object({ email: Nullable(Type.String()) }, { description: 'Only for users who may read payer information.' }),
  ),
  orders: Type.Array(Type.Object({ code: Type.String(), shortCode: Type.String(), alias: Nullable(Type.String()) }), {
    description: 'Orders that required the check, newest first, at most 100.',
  }),
  mayDo: Type.Array(Type.String({ enum: [...KYC_ACTIONS] }), {
    description:
      'What you may do with it as it stands. `grantLimit`: give a `spendingLimit` with the request for an enhanced check.',
  }),
  history: Type.Array(
    Type.Object({
      seq: Type.Integer(),
      trigger: Type.String({
        enum: [...KYC_TRIGGERS],
        description: 'A verb: a person did it. A state: the provider said so, about the check or its `edd.`.',
      }),
      ...state,
      actor: Type.String(),
      reason: Nullable(Type.String()),
      at: DateTime,
    }),
  ),
})
