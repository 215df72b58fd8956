/**
 * Every failure that a caller may see. The HTTP status belongs to the code; routes never choose one.
 * The message says what to do next; it may be replaced by a more exact sentence where the error is thrown.
 */
export const CATALOGUE = {
  MALFORMED_JSON: {
    status: 400,
    message: 'The body is not valid JSON. Send one JSON object with double-quoted names.',
  },
  ILLEGAL_AMOUNT: { status: 400, message: 'The amount is outside what this account accepts.' },
  INVALID_EXCHANGE_RATE: {
    status: 400,
    message: 'There is no fresh exchange rate for this pair right now. Nothing was created; try again in a minute.',
  },
  INVALID_CREDENTIALS: { status: 400, message: 'E-mail or password is wrong.' },
  INVALID_OTP: { status: 400, message: 'The code is wrong, used or expired. Ask for a new one or wait for the next.' },
  INVALID_RESET_TOKEN: {
    status: 400,
    message: 'This reset link is not valid any more. Ask for a new one; each link works once, for 30 minutes.',
  },
  EMAIL_ALREADY_REGISTERED: {
    status: 400,
    message: 'This e-mail is registered already. Log in, or reset the password.',
  },
  WEAK_PASSWORD: {
    status: 422,
    message: 'Choose 12 to 128 characters with upper case, lower case, a digit and a special character.',
  },
  UNKNOWN_MERCHANT_IDENTIFIER: {
    status: 400,
    message: 'No active till of your company has this merchantIdentifier. See GET /collectors/list.',
  },
  UNKNOWN_SESSION: {
    status: 400,
    message:
      'This buy-button session is unknown, ended or already used. Create a new one with POST /buy-button/sessions.',
  },
  WEBSITE_MISMATCH: { status: 400, message: 'websiteUrl is not the website of the buy button of this session.' },
  ALIAS_IN_USE: {
    status: 400,
    message: 'An open order has this alias already. Cancel or expire it, or choose another alias.',
  },
  CHANNEL_NOT_AVAILABLE: { status: 400, message: 'This payment channel is not set up here. Choose another one.' },
  PAYER_IDENTITY_REQUIRED: {
    status: 400,
    message: 'This amount needs the payer’s identity: save payer information (e-mail and name, or company) first.',
  },
  KYC_REQUIRED: {
    status: 400,
    message:
      'The payer’s identity has to be checked before this order can be paid. Send the payer to the address in details.',
  },
  SPENDING_LIMIT_EXCEEDED: {
    status: 400,
    message: 'With this order the payer would spend more than allowed in 30 days. Ask for a closer look, or wait.',
  },
  REFUND_TOO_LARGE: { status: 400, message: 'The refund is larger than what is left of the payment.' },
  UNAUTHORIZED: {
    status: 401,
    message: 'Send a valid access token (Authorization: Bearer …) or an API key (x-api-key and x-api-secret).',
  },
  CALLBACK_REFUSED: {
    status: 401,
    message: 'This callback is not signed as its provider signs, or it is too old. It changed nothing.',
  },
  FORBIDDEN: { status: 403, message: 'Your role does not allow this.' },
  STEP_UP_REQUIRED: {
    status: 403,
    message: 'This action needs a second factor not older than five minutes. Confirm with POST /auth/otp and repeat.',
  },
  CROSS_SITE_REQUEST: { status: 403, message: 'This request came from another website and was refused.' },
  NOT_FOUND: { status: 404, message: 'There is nothing at this address. The reference is at /docs/api.' },
  ORDER_NOT_FOUND: {
    status: 404,
    message: 'No order has this code or reference. Check it, and which account you use.',
  },
  OBJECT_NOT_FOUND: { status: 404, message: 'No such object in your account.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This address exists, but not for this method. See the Allow header.' },
  ORDER_STATE_CONFLICT: { status: 409, message: 'The order’s state does not allow this.' },
  PAYMENT_NOT_RECEIVED: {
    status: 409,
    message: 'The payment has not arrived yet. Nothing was changed; ask again, or wait for the order.paid webhook.',
  },
  PAYMENT_ORPHANED: {
    status: 409,
    message: 'Money of this order left the chain. Decide who bears the loss: POST /mispayments/{id}/bear.',
  },
  BOOKS_DIFFER: {
    status: 409,
    message:
      'The books of this company differ from what happened. Refunds and settlements wait until the operator explains it.',
  },
  REFUND_NOT_COVERED: {
    status: 409,
    message: 'The money was settled already, and the company’s balance does not cover the refund.',
  },
  AMBIGUOUS_REFERENCE: {
    status: 409,
    message: 'Several merchants use this reference. Send your credential, or read the order by its code.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running. Wait a moment and send it again.',
  },
  OBJECT_CONFLICT: { status: 409, message: 'The object has changed or is in use. Read it again and repeat.' },
  MALFORMED_REQUEST: { status: 400, message: 'This is not a valid HTTP/1.1 request.' },
  REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive. Send it again.' },
  HEADERS_TOO_LARGE: { status: 431, message: 'The request line or the headers are larger than 16 KiB.' },
  BODY_TOO_LARGE: { status: 413, message: 'The body is larger than 64 KiB.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'Send JSON with the header Content-Type: application/json.' },
  VALIDATION_FAILED: { status: 422, message: 'Some fields are not valid. See details.' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was used with a different body. Use a new key for a new request.',
  },
  TOO_MANY_REQUESTS: { status: 429, message: 'Too many requests. Wait as long as Retry-After says.' },
  ACCOUNT_LOCKED: {
    status: 429,
    message: 'Too many wrong passwords. Wait as long as Retry-After says, or reset the password.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something went wrong here. It was logged with this requestId; try again or ask the operator.',
  },
  CHANNEL_UNAVAILABLE: {
    status: 502,
    message: 'The payment provider did not answer in time. Nothing is lost: ask again in a moment.',
  },
  DATABASE_UNAVAILABLE: { status: 503, message: 'The service cannot reach its database. Try again in a moment.' },
  BUSY: { status: 503, message: 'The service is busy. Try again as Retry-After says.' },
} as const satisfies Record<string, { status: number; message: string }>

export type ErrorCode = keyof typeof CATALOGUE
export type ErrorDetail = { path: string; message: string }

export type ErrorOptionsOfApp = {
  /** A more exact sentence than the catalogue's, for the caller's eyes. */
  message?: string
  /** Field by field for validation; for identity checks the payer's page (`kycUrl`) and which check it is (`kycId`). */
  details?: ErrorDetail[]
  /** Seconds for the Retry-After header. */
  retryAfter?: number
  cause?: unknown
}

/** An expected failure. Anything else that is thrown is a bug: logged whole, answered 500, counted. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly details: ErrorDetail[] | undefined
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, options: ErrorOptionsOfApp = {}) {
    super(
      options.message ?? CATALOGUE[code].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.code = code
    this.details = options.details
    this.retryAfter = options.retryAfter
  }

  get status(): number {
    return CATALOGUE[this.code].status
  }
}

/** One field is wrong: 422 with the field's path. */
export const invalid = (path: string, message: string): AppError =>
  new AppError('VALIDATION_FAILED', { details: [{ path, message }] })
