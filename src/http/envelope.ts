import type { AppError, ErrorCode, ErrorDetail } from '../kernel/errors.ts'
import { CATALOGUE } from '../kernel/errors.ts'
import { type Static, type TSchema, Type } from '../kernel/schema.ts'

/** The shape of every successful JSON response. */
export type Success<Data> = { success: true; status: 200; data: Data }

export const ok = <Data>(data: Data): Success<Data> => ({ success: true, status: 200, data })

/** Schema of a successful answer; fields that are not named in `data` never leave the service. */
export const Envelope = <Data extends TSchema>(data: Data) =>
  Type.Object({ success: Type.Literal(true), status: Type.Literal(200), data })

/**
 * A reference to a schema by its name, typed as the schema itself, so that a response with a missing field does not
 * compile. `Type.Ref` alone is typed as unknown.
 */
export function refTo<Schema extends TSchema>(schema: Schema) {
  const { $id } = schema as { $id?: string }
  if ($id === undefined) throw new Error('Only a schema with an $id can be referenced.')
  return Type.Unsafe<Static<Schema>>(Type.Ref($id))
}

export type Failure = {
  success: false
  status: number
  data: null
  error: { code: ErrorCode; message: string; details?: ErrorDetail[]; requestId: string; docs: string }
}

/** @param baseUrl site with a page for each code */
export function failure(error: AppError, requestId: string, baseUrl: string): Failure {
  const details = error.details && error.details.length > 0 ? { details: error.details } : {}
  return {
    success: false,
    status: error.status,
    data: null,
    error: {
      code: error.code,
      message: error.message,
      ...details,
      requestId,
      docs: `${baseUrl}/docs/errors/${error.code}`,
    },
  }
}

export const FailureSchema = Type.Object(
  {
    success: Type.Literal(false),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    data: Type.Null(),
    error: Type.Object({
      code: Type.String({ enum: Object.keys(CATALOGUE), description: 'A stable identifier of the error.' }),
      message: Type.String({ description: 'What to do next, in one or two sentences.' }),
      details: Type.Optional(
        Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
          description:
            'Field by field for validation; kycUrl and kycId where an identity check is needed; needs, left, missing and ' +
            'owedAfter (USDC) where a refund is not covered; liveSession, the id of the buy-button session that has the ' +
            'orderRef, or busySession, of one whose order has money, is being confirmed or under review.',
        }),
      ),
      requestId: Type.String({ description: 'The X-Request-Id of this answer; quote it when you contact support.' }),
      docs: Type.String({ description: 'Page about this error: what causes it and what cures it.' }),
    }),
  },
  { $id: 'Failure', description: 'Every failure has this shape.' },
)
