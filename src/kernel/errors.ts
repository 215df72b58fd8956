/**
 * Every failure that a client may see. The HTTP status belongs to the code; routes never choose one. The message says
 * what to do next; where the error is thrown, a more exact sentence may replace it.
 */
export const CATALOGUE = {
  MALFORMED_JSON: {
    status: 400,
    message: 'The body is not valid JSON. Send one JSON object with double-quoted names.',
  },
  ILLEGAL_AMOUNT: {
    status: 400,
    message:
      'The amount is outside what this account accepts. Choose another amount, or ask the operator to change the limit.',
  },
  INVALID_EXCHANGE_RATE: {
    status: 400,
    message: 'There is no fresh exchange rate for this pair right now. Nothing was created; try again in a minute.',
  },
  INVALID_CREDENTIALS: {
    status: 400,
    message: 'The e-mail or the password is wrong. Check both, or reset the password.',
  },
  INVALID_OTP: {
    status: 400,
    message: 'The code is wrong, used or expired. Wait for the next one, or request a new one.',
  },
  INVALID_RESET_TOKEN: {
    status: 400,
    message: 'This reset link is no longer valid. Request a new one; each link works once, within 30 minutes.',
  },
  AUTHORIZATION_PENDING: {
    status: 400,
    message: 'This login is not confirmed yet. Ask again after the time in Retry-After.',
  },
  SLOW_DOWN: {
    status: 400,
    message: 'You ask too often. Wait as long as Retry-After says, from now on, before each question.',
  },
  AUTHORIZATION_DENIED: { status: 400, message: 'The login was refused. Start a new one if that was a mistake.' },
  DEVICE_CODE_EXPIRED: {
    status: 400,
    message: 'This code is unknown, used, or older than ten minutes. Start a new login.',
  },
  EMAIL_ALREADY_REGISTERED: {
    status: 400,
    message: 'This e-mail is already registered. Log in, or reset the password.',
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
  WEBSITE_MISMATCH: {
    status: 400,
    message: 'websiteUrl is not the website of this session’s buy button. Send the button’s own website.',
  },
  ALIAS_IN_USE: {
    status: 400,
    message: 'An open order already has this alias. Cancel or expire it, or choose another alias.',
  },
  CHANNEL_NOT_AVAILABLE: { status: 400, message: 'This payment channel is not set up here. Choose another one.' },
  PAYER_IDENTITY_REQUIRED: {
    status: 400,
    message: 'This amount needs the payer’s identity: save payer information (e-mail and name, or company) first.',
  },
  KYC_REQUIRED: {
    status: 400,
    message: 'The payer must pass an identity check before paying this order. Send the payer to the kycUrl in details.',
  },
  SPENDING_LIMIT_EXCEEDED: {
    status: 400,
    message: 'This order would exceed what the payer may spend in 30 days. Request enhanced due diligence, or wait.',
  },
  REFUND_TOO_LARGE: {
    status: 400,
    message: 'The refund exceeds what is left of the payment. Read the order, and refund at most the rest.',
  },
  UNAUTHORIZED: {
    status: 401,
    message: 'Send a valid access token (Authorization: Bearer …) or an API key (x-api-key and x-api-secret).',
  },
  CALLBACK_REFUSED: {
    status: 401,
    message:
      'The callback’s signature is wrong, or it is too old. Nothing changed; check the signing secret and the clock.',
  },
  FORBIDDEN: { status: 403, message: 'Your role does not allow this. Ask a manager or the operator.' },
  STEP_UP_REQUIRED: {
    status: 403,
    message: 'This action needs a second factor not older than five minutes. Confirm with POST /auth/otp and repeat.',
  },
  PIN_LOCKED: {
    status: 403,
    message: 'Five wrong PINs: you are locked on this till. Set a new PIN in the back office, under your account.',
  },
  CROSS_SITE_REQUEST: {
    status: 403,
    message:
      'This request came from another website. Login, refresh and sign-out work only from the service’s own site, or ' +
      'from a subdomain of it that CORS_ORIGINS names. Other websites call from their server, with an API key.',
  },
  NOT_FOUND: { status: 404, message: 'There is nothing at this address. The reference is at /docs/api.' },
  ORDER_NOT_FOUND: {
    status: 404,
    message: 'No order in your account has this code or reference. Check the code, and the account.',
  },
  OBJECT_NOT_FOUND: { status: 404, message: 'No object in your account has this id. Check the id, and the account.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This address does not support this method. See the Allow header.' },
  ORDER_STATE_CONFLICT: { status: 409, message: 'The order’s status does not allow this. Read the order again.' },
  PAYMENT_NOT_RECEIVED: {
    status: 409,
    message: 'The payment has not arrived yet. Nothing was changed; ask again, or wait for the order.paid webhook.',
  },
  PAYMENT_ORPHANED: {
    status: 409,
    message:
      'A payment of this order disappeared from the chain. Decide who bears the loss: POST /mispayments/{id}/bear.',
  },
  BOOKS_DIFFER: {
    status: 409,
    message:
      'The company’s books do not match its transactions. Refunds and settlements wait until the operator resolves it.',
  },
  REFUND_NOT_COVERED: {
    status: 409,
    message:
      'What is left of the company’s balance does not cover the refund: the rest was paid out, or is set aside for a ' +
      'settlement. Wait for new payments, or ask the operator.',
  },
  AMBIGUOUS_REFERENCE: {
    status: 409,
    message:
      'Several merchants use this reference. Send your credential or the merchant’s companyId, or read the order by its code.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running. Wait a moment and send it again.',
  },
  ACCOUNT_IN_USE: {
    status: 409,
    message:
      'Open payments or unfinished refunds still need this account. Wait until they have ended, or send force=true.',
  },
  OBJECT_CONFLICT: { status: 409, message: 'The object has changed or is in use. Read it again, then retry.' },
  MALFORMED_REQUEST: {
    status: 400,
    message: 'This is not a valid HTTP/1.1 request. Check the client or the proxy in front of it.',
  },
  REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive. Send it again.' },
  HEADERS_TOO_LARGE: {
    status: 431,
    message: 'The request line or the headers exceed 16 KiB. Send fewer or shorter headers.',
  },
  BODY_TOO_LARGE: { status: 413, message: 'The body exceeds 64 KiB. Send a smaller one.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'Send JSON with the header Content-Type: application/json.' },
  VALIDATION_FAILED: { status: 422, message: 'Some fields are not valid. See details.' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was used with a different body. Use a new key for a new request.',
  },
  TOO_MANY_REQUESTS: { status: 429, message: 'Too many requests. Try again after the time in Retry-After.' },
  ACCOUNT_LOCKED: {
    status: 429,
    message: 'Too many wrong passwords. Try again after the time in Retry-After, or reset the password.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something went wrong on our side. Try again, or send this requestId to the operator.',
  },
  ORDER_GONE: {
    status: 410,
    message:
      'The order has ended. Do not pay it: if money has arrived, contact the shop; otherwise ask for a new order.',
  },
  CHANNEL_UNAVAILABLE: {
    status: 502,
    message: 'The payment provider did not answer in time. Nothing is lost; try again in a moment.',
  },
  DATABASE_UNAVAILABLE: { status: 503, message: 'The service cannot reach its database. Try again in a moment.' },
  BUSY: { status: 503, message: 'The service is busy. Try again after the time in Retry-After.' },
} as const satisfies Record<string, { status: number; message: string }>

export type ErrorCode = keyof typeof CATALOGUE
export type ErrorDetail = { path: string; message: string }

export type ErrorOptionsOfApp = {
  /** Replaces the catalogue's message when the cause is known more exactly. */
  message?: string
  /**
   * Validation: one entry per field. Identity checks: `kycUrl`, the payer's page, and `kycId`. Refunds without cover:
   * `needs`, `left`, `missing` and `owedAfter`. A cart that has a session: its id as `liveSession`, or as `busySession`
   * where an order of it has money.
   */
  details?: ErrorDetail[]
  /** Seconds for the Retry-After header. */
  retryAfter?: number
  cause?: unknown
}

/** An expected failure. Any other exception is a bug: logged in full, counted, and answered with 500. */
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

/** What is wrong with an installation, and what its operator does about it. */
export class InstallationFault extends Error {
  override readonly name = 'InstallationFault'
  readonly what: string
  readonly fix: string
  constructor(what: string, fix: string) {
    super(`${what} ${fix}`)
    this.what = what
    this.fix = fix
  }
}
