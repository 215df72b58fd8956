import { type Static, type TSchema, Type } from 'typebox'
import { REFUND_STATUSES } from './refund-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

export const RevertBody = Type.Object({
  amount: Type.Optional(
    Type.String({ maxLength: 40, description: 'USDC, decimal text. Absent: all that is left.', examples: ['10.5'] }),
  ),
  reason: Type.Optional(Type.String({ maxLength: 256 })),
  address: Type.Optional(Type.String({ maxLength: 42, description: 'On-chain refunds: where the money goes.' })),
})
export type RevertBody = Static<typeof RevertBody>

export const MispaymentRefundBody = Type.Object({
  reason: Type.Optional(Type.String({ maxLength: 256 })),
  address: Type.Optional(Type.String({ maxLength: 42, description: 'On-chain refunds: where the money goes.' })),
})

export const RefundSchema = Type.Object({
  _id: Type.String(),
  orderId: Type.String(),
  mispaymentId: Nullable(Type.String({ description: 'Set: money that never paid the order goes back.' })),
  status: Type.String({ enum: [...REFUND_STATUSES] }),
  amount: Type.String({ description: 'USDC, 6 digits.' }),
  excessAmount: Type.String({ description: 'What of it is above the order’s price.' }),
  channel: Type.String(),
  address: Nullable(Type.String()),
  addressUrl: Nullable(Type.String({ description: 'While the payer is asked: the page for it.' })),
  network: Nullable(Type.Integer()),
  reason: Nullable(Type.String()),
  requestedBy: Type.String(),
  decidedBy: Nullable(Type.String()),
  txHash: Nullable(Type.String()),
  message: Nullable(Type.String({ description: 'What the provider or the chain said last.' })),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  settledAt: Nullable(Type.String({ format: 'date-time' })),
})

export const RefundListQuery = Type.Object({
  status: Type.Optional(Type.String({ enum: [...REFUND_STATUSES] })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
})
export type RefundListQuery = Static<typeof RefundListQuery>
