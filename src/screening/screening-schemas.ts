import { ChoiceQuery, PageQuery } from '../companies/company-schemas.ts'
import { type Static, type TSchema, Type } from '../kernel/schema.ts'
import { PURPOSES, SCREENING_STATUSES, SOURCE_IDS, VERDICTS } from './screening.ts'
import { DECISION_NAMES, type Decision } from './screening-decisions.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const DateTime = Type.String({ format: 'date-time' })

export const ScreeningParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

export const ScreeningListQuery = Type.Object({
  ...ChoiceQuery,
  ...PageQuery,
  status: Type.Optional(
    Type.String({
      enum: [...SCREENING_STATUSES, 'open'],
      description: '`open`: a person can still decide: held, or a blocked payment.',
    }),
  ),
  purpose: Type.Optional(Type.String({ enum: [...PURPOSES] })),
  code: Type.Optional(Type.String({ maxLength: 64, description: 'Of one order.' })),
})
export type ScreeningListQuery = Static<typeof ScreeningListQuery>

const answer = {
  source: Type.String({ enum: [...SOURCE_IDS], description: 'Who was asked.' }),
  verdict: Type.String({ enum: [...VERDICTS], description: '`unavailable`: no usable answer, which clears nothing.' }),
  level: Nullable(Type.String({ description: 'The source’s own word for the risk.', examples: ['Severe'] })),
  reasons: Type.Array(Type.String()),
  at: DateTime,
}

export const ScreeningSchema = Type.Object(
  {
    _id: Type.String(),
    companyId: Type.String(),
    code: Nullable(Type.String({ description: 'The order; null for a settlement or sweep.' })),
    shortCode: Nullable(Type.String()),
    orderStatus: Nullable(Type.String()),
    purpose: Type.String({ enum: [...PURPOSES] }),
    subjectId: Type.String({
      description: 'The payment, refund or settlement.',
      examples: ['66a1f0c2e4b07d3a5c9e1f20'],
    }),
    network: Nullable(Type.Integer({ description: 'Chain id.' })),
    address: Nullable(Type.String({ description: 'Null: a payment provider screened by itself.' })),
    status: Type.String({ enum: [...SCREENING_STATUSES] }),
    isWhole: Nullable(
      Type.Boolean({
        description:
          'A payment provider blocks all of the payment; false: only amounts that it named. Null: an address, or not known.',
      }),
    ),
    answers: Type.Array(Type.Object(answer), { description: 'What each source said last.' }),
    decidedBy: Nullable(Type.String()),
    reason: Nullable(Type.String()),
    openedAt: DateTime,
    updatedAt: DateTime,
  },
  { description: 'One address that was screened before money moved.' },
)

export const ScreeningDetailSchema = Type.Object({
  ...ScreeningSchema.properties,
  evidence: Type.Array(Type.Object({ ...answer, evidence: Type.Unknown({ description: 'The answer as it came.' }) }), {
    description:
      'The newest 500 answers, oldest first. One that only repeats what its source said last is not listed. ' +
      'Nothing is ever changed or removed.',
  }),
  evidenceLeftOut: Type.Integer({ description: 'How many older answers are kept and not listed.', examples: [0] }),
  decisions: Type.Array(Type.Unsafe<Decision>(Type.String({ enum: [...DECISION_NAMES] })), {
    description: 'What you may decide now. Of settlements and sweeps only a SuperAdmin decides.',
  }),
})

export const DecideBody = Type.Object({
  reason: Type.String({ minLength: 3, maxLength: 500, description: 'Why, for the record.' }),
  updatedAt: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Of the screening that you read. If it has changed since, 409 `OBJECT_CONFLICT`.',
    }),
  ),
})
