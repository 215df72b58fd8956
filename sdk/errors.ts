import type { ErrorCode } from './generated/schemas.ts'

/** Errors of the service, and errors on the way to it. */
export type ComptoirErrorCode = ErrorCode | 'CONNECTION_FAILED' | 'TIMED_OUT' | 'ABORTED' | 'UNEXPECTED_ANSWER'

export type ErrorDetail = { path: string; message: string }

export type ErrorFacts = {
  /** HTTP status; 0 when there was no answer. */
  status: number
  code: ComptoirErrorCode
  message: string
  requestId?: string | undefined
  details?: ErrorDetail[] | undefined
  docs?: string | undefined
  idempotencyKey?: string | undefined
  mayBeDone?: boolean | undefined
  cause?: unknown
}

/** Every failure of a call. `code` is stable and says what happened; `docs` is the URL of its documentation. */
export class ComptoirError extends Error {
  override readonly name = 'ComptoirError'
  readonly status: number
  readonly code: ComptoirErrorCode
  /** Quote it when you ask the operator for help. */
  readonly requestId: string | undefined
  readonly details: ErrorDetail[]
  readonly docs: string | undefined
  /** With which the call was sent. The same call with it is done once: the service keeps it for 48 hours. */
  readonly idempotencyKey: string | undefined
  /** The answer to a try was lost, so the call may have been done. Repeat it under `idempotencyKey`. */
  readonly mayBeDone: boolean

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.status = facts.status
    this.code = facts.code
    this.requestId = facts.requestId
    this.details = facts.details ?? []
    this.docs = facts.docs
    this.idempotencyKey = facts.idempotencyKey
    this.mayBeDone = facts.mayBeDone ?? false
  }
}

/** Whether the error is a failed call, and, if codes are given, one of these. */
export const isComptoirError = (error: unknown, ...codes: ComptoirErrorCode[]): error is ComptoirError =>
  error instanceof ComptoirError && (codes.length === 0 || codes.includes(error.code))

const TEMPORARY: readonly number[] = [0, 429, 502, 503, 504]

/**
 * Whether the same call may succeed later: no answer came, or the service or a proxy before it is busy or away. It may
 * have been done all the same: repeat a call that changes something under `error.idempotencyKey`, as the second of two
 * refunds under two keys is a second refund.
 */
export const isTemporary = (error: unknown): error is ComptoirError =>
  error instanceof ComptoirError && error.code !== 'ABORTED' && TEMPORARY.includes(error.status)
