import { type TSchema, Type } from '../../kernel/schema.ts'
import { SETTLEMENT_STATUSES } from './settlement-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const CompanyId = Type.Optional(
  Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For users of several companies.' }),
)

export const SettlementSchema = Type.Object({
  _id: Type.String(),
  companyId: Type.String(),
  status: Type.String({ enum: [...SETTLEMENT_STATUSES] }),
  amount: Type.String({ description: 'USDC, 6 digits.' }),
  address: Type.String(),
  network: Type.Integer({ description: 'Chain id.' }),
  txHash: Nullable(Type.String()),
  message: Nullable(Type.String({ description: 'Its current state, for people.' })),
  createdBy: Type.String(),
  firstApprovedBy: Nullable(Type.String()),
  approvedBy: Nullable(Type.String()),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  paidAt: Nullable(Type.String({ format: 'date-time' })),
})

export const SettlementListQuery = Type.Object({
  companyId: CompanyId,
  status: Type.Optional(Type.String({ enum: [...SETTLEMENT_STATUSES] })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
})

export const CreateSettlementBody = Type.Object({ companyId: CompanyId })
export const SettlementPaidBody = Type.Object({ txHash: Type.String({ maxLength: 66 }) })
