import { CHOICES, type Static, Type } from '../../kernel/schema.ts'
import { EVENTS } from '../outbox/events.ts'
import { FAILURES } from '../sender/failures.ts'
import { DELIVERY_STATUSES } from './delivery-log-queries.ts'

const nullable = <Schema extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

const Status = Type.String({ enum: [...DELIVERY_STATUSES] })

const AttemptSchema = Type.Object({
  number: Type.Integer({
    description: '1 to 5; an attempt of unknown outcome shares the number of its repetition.',
  }),
  series: Type.Integer({ description: '1 at first; each redelivery adds 1.' }),
  trigger: Type.String({ enum: ['schedule', 'manual'] }),
  startedAt: Type.String({ format: 'date-time' }),
  durationMs: nullable(Type.Integer()),
  statusCode: nullable(Type.Integer()),
  errorCode: nullable(Type.String({ description: `One of: ${FAILURES.join(', ')}.` })),
  responseBody: nullable(Type.String({ description: 'The first 1024 bytes of the answer.' })),
})

const summary = {
  id: Type.String({ description: 'The Service-Webhook-Id.' }),
  orderId: Type.String(),
  code: nullable(Type.String()),
  event: Type.String({ enum: [...EVENTS] }),
  url: Type.String(),
  status: Status,
  nextAttemptAt: nullable(Type.String({ format: 'date-time' })),
  attempts: Type.Array(AttemptSchema),
  createdAt: Type.String({ format: 'date-time' }),
}

export const DeliverySchema = Type.Object(summary)
export type DeliveryView = Static<typeof DeliverySchema>

export const DeliveryDetailSchema = Type.Object({
  ...summary,
  request: Type.Object({
    method: Type.Literal('POST'),
    url: Type.String(),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'Without the signature headers, which are computed for each attempt.',
    }),
    body: Type.String(),
  }),
})
export type DeliveryDetailView = Static<typeof DeliveryDetailSchema>

const CompanyId = Type.Optional(
  Type.String({ pattern: '^[0-9a-f]{24}$', description: 'Operators: this company only.' }),
)

const DeliveryFilterSchema = {
  event: Type.Optional(Type.String({ enum: [...EVENTS] })),
  status: Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      description: 'Repeat it, or separate by commas; `status[]` is read too.',
      [CHOICES]: DELIVERY_STATUSES,
    }),
  ),
  code: Type.Optional(Type.String({ maxLength: 64, description: 'The order’s code.' })),
  url: Type.Optional(Type.String({ maxLength: 2048, description: 'The address, exactly as the order named it.' })),
  from: Type.Optional(
    Type.String({ format: 'date-time', description: 'createdAt at or after. A date alone: its beginning, UTC.' }),
  ),
  to: Type.Optional(
    Type.String({ format: 'date-time', description: 'createdAt at or before. A date alone: its end, UTC.' }),
  ),
  companyId: CompanyId,
}
export type DeliveryFilterInput = Static<ReturnType<typeof filterObject>>
const filterObject = () => Type.Object(DeliveryFilterSchema)

export const DeliveryQuery = Type.Object({
  ...DeliveryFilterSchema,
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
})
export type DeliveryQuery = Static<typeof DeliveryQuery>

/** How many deliveries one call sends again. */
export const REDELIVER_LIMIT = 10_000
const RedeliverLimit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: REDELIVER_LIMIT, description: 'At most so many, the oldest first.' }),
)

export const RedeliverQuery = Type.Object({ ...DeliveryFilterSchema, limit: RedeliverLimit })
export type RedeliverQuery = Static<typeof RedeliverQuery>
export const RedeliverBody = Type.Object({
  ...DeliveryFilterSchema,
  limit: RedeliverLimit,
  status: Type.Optional(
    Type.Union([Type.Array(Type.String({ maxLength: 100 })), Type.String({ maxLength: 100 })], {
      description: 'A list, or separated by commas. Without it: failed and parked.',
    }),
  ),
})
export type RedeliverBody = Static<typeof RedeliverBody>

export const DeliveryParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{32}$' }) })

export const AccountQuery = Type.Object({ companyId: CompanyId })

export const AddressQuery = Type.Object({
  days: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 90, default: 30, description: 'Deliveries of so many days until now.' }),
  ),
  companyId: CompanyId,
})
export type AddressQuery = Static<typeof AddressQuery>

export const AddressSchema = Type.Object({
  url: Type.String(),
  deliveries: Type.Integer(),
  delivered: Type.Integer(),
  pending: Type.Integer(),
  failed: Type.Integer(),
  parked: Type.Integer(),
  lastDeliveryAt: Type.String({ format: 'date-time', description: 'When the newest delivery was created.' }),
  nextAttemptAt: nullable(
    Type.String({ format: 'date-time', description: 'The earliest next attempt; null when nothing waits.' }),
  ),
  lastFailure: Type.Union([
    Type.Object(
      {
        at: Type.String({ format: 'date-time', description: 'When that attempt began.' }),
        statusCode: nullable(Type.Integer()),
        errorCode: nullable(Type.String({ description: `One of: ${FAILURES.join(', ')}.` })),
      },
      { description: 'The newest attempt that was not answered 2xx; null when all were.' },
    ),
    Type.Null(),
  ]),
})

export const ActivateBody = Type.Object({
  endsWith: Type.Optional(
    Type.String({
      minLength: 8,
      maxLength: 50,
      description: 'The last characters of the secret that you prepared: 409 if another one is prepared by now.',
      examples: ['b0YhLq3kZ5M='],
    }),
  ),
})

export const TestBody = Type.Object({
  url: Type.String({ maxLength: 2048, description: 'The receiver; checked like a webhookUrl.' }),
  companyId: CompanyId,
})

export const TestResultSchema = Type.Object({
  delivered: Type.Boolean(),
  statusCode: nullable(Type.Integer()),
  errorCode: nullable(Type.String()),
  durationMs: Type.Integer(),
})

const EventNames = Type.Array(Type.String({ enum: [...EVENTS] }))

export const SubscriptionsSchema = Type.Object({
  events: Type.Array(Type.String({ enum: [...EVENTS] }), { description: 'What this account receives.' }),
  available: Type.Array(Type.String({ enum: [...EVENTS] }), {
    description: 'Everything that the operator can enable.',
  }),
})

export const SubscriptionsBody = Type.Object({
  events: EventNames,
  companyId: CompanyId,
})
