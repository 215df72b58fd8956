import type { ErrorCode } from '../../kernel/errors.ts'

type Words = readonly [cause: string, cure: string]

const SEE_DETAILS =
  'Read `details`: each entry names a field by its path and says what it must be. Repair them and send again.'
const WAIT = 'Wait as long as `Retry-After` says, then repeat. The SDK does so by itself.'

/** Why each error happens, and how to resolve it: the page at `/docs/errors/<code>`. */
export const ERROR_WORDS: Partial<Record<ErrorCode, Words>> = {
  MALFORMED_JSON: [
    'The body is not valid JSON, is not UTF-8, or is nested deeper than 32 levels.',
    'Serialise the body with a JSON library instead of joining text, and send one object as UTF-8.',
  ],
  ILLEGAL_AMOUNT: [
    'The amount is below 0.10, above the company’s maximum, has more decimals than the currency, or differs from the price of the session.',
    'Send decimal text with at most the currency’s digits, such as `"50.00"`. A company’s maximum is `maxOrderAmount`, in EUR; another currency is compared at its rate.',
  ],
  INVALID_EXCHANGE_RATE: [
    'Too few price sources answered in time, so no fresh rate exists. Nothing was created.',
    'Try again in a minute. As operator: `comptoir doctor` says whether `RATE_SOURCES` price the currency at all; the metric is `comptoir_rate_missing_seconds`.',
  ],
  INVALID_CREDENTIALS: [
    'The e-mail or the password is wrong. The answer is the same for both on purpose.',
    'Check both, or reset the password. After ten wrong passwords in a row the account is locked for 30 minutes.',
  ],
  INVALID_OTP: [
    'The code is wrong, was used, or is over. A code of an app works once within about a minute, a mailed one for five minutes.',
    'Enter the newest code. Check the clock of the phone.',
  ],
  INVALID_RESET_TOKEN: [
    'The link was used, is older than 30 minutes, or a newer one was asked for.',
    'Ask for a new link and open it once.',
  ],
  AUTHORIZATION_PENDING: [
    'A program asked for its key before a person confirmed the login in the back office.',
    'Show the person the code and the address, and ask again after `Retry-After`. The SDK’s `loginByDevice` and `comptoir login` do so.',
  ],
  SLOW_DOWN: [
    'The program asked for its key earlier than `intervalSeconds` after its last question.',
    'Wait as long as `Retry-After` says: the pause is five seconds longer from now on.',
  ],
  AUTHORIZATION_DENIED: [
    'The person pressed *Refuse*, or may no longer hand out keys.',
    'Start the login again and have it confirmed by a manager of the company.',
  ],
  DEVICE_CODE_EXPIRED: [
    'Ten minutes went by, or the key was already fetched with this code.',
    'Start the login again. The old code opens nothing.',
  ],
  EMAIL_ALREADY_REGISTERED: [
    'An account has this e-mail already.',
    'Log in, or reset the password. Invite the person from the company that the account belongs to.',
  ],
  WEAK_PASSWORD: [
    'The password is too short, too simple, or among the known leaked ones.',
    'Choose 12 to 128 characters with upper case, lower case, a digit and a special character.',
  ],
  UNKNOWN_MERCHANT_IDENTIFIER: [
    'No active till of your company has this `merchantIdentifier`.',
    'Read `GET /api/next/collectors/list`. A till that was closed takes no orders; open it again or use another.',
  ],
  UNKNOWN_SESSION: [
    'The buy-button session does not exist, ended, belongs to another company, or made an order already.',
    'Create a new session for each buyer with `POST /api/next/buy-button/sessions`.',
  ],
  WEBSITE_MISMATCH: [
    '`websiteUrl` has another origin than the website of the button.',
    'Send the address of the page that shows the button, or correct the button’s website.',
  ],
  ALIAS_IN_USE: [
    'An open order of your company has this alias.',
    'Cancel or expire that order, or choose another alias. Once it is paid or has ended, the alias is free again: read `GET /api/next/confirm_conversion/status/order/{alias}` before you create another.',
  ],
  CHANNEL_NOT_AVAILABLE: [
    'The channel has no credentials here, is hidden after trouble at its provider, or does not offer the network.',
    'Read `GET /api/next/channels`: it says which are offered and why one is not.',
  ],
  PAYER_IDENTITY_REQUIRED: [
    'The order’s value reaches the company’s threshold, and the payer is not known.',
    'Save e-mail and name, or the company, with `POST …/payer-information`, then accept again. The pay page asks by itself.',
  ],
  KYC_REQUIRED: [
    'The payer’s identity must be checked before this order, or the orders of the last 30 days together, may be paid.',
    'Send the payer to `kycUrl` in `details`, and accept again after the webhook `kyc.approved`.',
  ],
  SPENDING_LIMIT_EXCEEDED: [
    'With this order the payer would spend more in 30 days than was granted.',
    'Wait until earlier orders are older than 30 days, or ask for an enhanced check: `POST /api/next/kyc/{id}/edd`.',
  ],
  REFUND_TOO_LARGE: [
    'The amount is more than what is left of the payment.',
    'Read `refundedAmount` of the order, or leave `amount` out to refund all that is left.',
  ],
  UNAUTHORIZED: [
    'There is no credential, or it is wrong, revoked, or over. Access tokens live ten minutes.',
    'Send `x-api-key` and `x-api-secret`, or a fresh access token from `POST /api/next/auth/refresh-token`.',
  ],
  CALLBACK_REFUSED: [
    'A callback of a provider has no good signature, or is too old. It changed nothing.',
    'Compare the secret in the provider’s console with the setting here, and the clock of this machine.',
  ],
  FORBIDDEN: [
    'The role or the API key does not have this right; the message names what is missing.',
    'Use an account with the role, or make an API key with the scope.',
  ],
  STEP_UP_REQUIRED: [
    'This action needs a second factor that is not older than five minutes.',
    'Call `POST /api/next/auth/otp` with a code, then repeat. API keys cannot do such things.',
  ],
  CROSS_SITE_REQUEST: [
    'A browser sent this from another website, with cookies.',
    'What works with cookies (login, refresh, sign-out) is answered only on the service’s own site, or on a subdomain of ' +
      'it that the operator names in `CORS_ORIGINS`. From any other website call your own server, which calls with a key.',
  ],
  NOT_FOUND: [
    'Nothing is at this address.',
    'Compare the path with the [reference](/docs/api); order paths begin with `/api/next/confirm_conversion`.',
  ],
  ORDER_NOT_FOUND: [
    'No order has this code or reference in the account that asks. Orders of other companies do not exist for you.',
    'Check the code, and which account and instance the credential belongs to.',
  ],
  OBJECT_NOT_FOUND: [
    'Nothing in your account has this id.',
    'Check the id, and which account and instance the credential belongs to.',
  ],
  METHOD_NOT_ALLOWED: ['The address exists, but not for this method.', 'Use one of the methods in the `Allow` header.'],
  ORDER_STATE_CONFLICT: [
    'The order’s state does not allow this; the message names the state.',
    'Read the order first. [Order states](/docs/order-states) shows which step is possible when.',
  ],
  PAYMENT_NOT_RECEIVED: [
    'The channel was asked, and has no payment yet. Nothing changed.',
    'Ask again later, or wait for the webhook `order.paid`.',
  ],
  AMBIGUOUS_REFERENCE: [
    'Several companies used this reference, so an answer without a credential would be a guess.',
    'Send your credential, or read the order by its code.',
  ],
  IDEMPOTENCY_IN_PROGRESS: [
    'An earlier request with this `Idempotency-Key` is still running.',
    'Wait a second and repeat with the same key: you get its answer.',
  ],
  OBJECT_CONFLICT: [
    'The object changed meanwhile, is in use, or its state forbids this.',
    'Read it again, look at its state, and repeat if it still makes sense.',
  ],
  MALFORMED_REQUEST: [
    'What arrived is no valid HTTP request.',
    'Look at proxies in between, and send requests with an HTTP library.',
  ],
  REQUEST_TIMEOUT: ['The request came too slowly.', 'Send it again; look at the network in between.'],
  HEADERS_TOO_LARGE: [
    'The headers of the request are too large, usually by cookies.',
    'Send fewer or smaller headers.',
  ],
  BODY_TOO_LARGE: [
    'The body is larger than 64 KiB.',
    'Send less. Goods are described in at most 256 characters a field.',
  ],
  UNSUPPORTED_MEDIA_TYPE: [
    'The body is not JSON, its `Content-Type` does not say so or names a charset other than UTF-8, or it is compressed.',
    'Send `Content-Type: application/json` and plain JSON as UTF-8, without `Content-Encoding`.',
  ],
  VALIDATION_FAILED: ['At least one field or parameter is missing or not valid.', SEE_DETAILS],
  IDEMPOTENCY_KEY_REUSED: [
    'The `Idempotency-Key` was used with another body in the last 48 hours.',
    'Make a new key for each new thing you want; repeat a key only with the same body.',
  ],
  TOO_MANY_REQUESTS: ['More requests came in a minute than the limit allows; `RateLimit-Policy` names it.', WAIT],
  ACCOUNT_LOCKED: [
    'Ten wrong passwords came in a row.',
    'Wait as long as `Retry-After` says, or reset the password: that stays possible.',
  ],
  PIN_LOCKED: [
    'Five wrong PINs came in a row from this person on this till device. Time does not open it again.',
    'Set a new PIN with your second factor: `PUT /api/next/users/me/till-pin`, or in the back office under your account.',
  ],
  PAYMENT_ORPHANED: [
    'A final transfer left the chain, and it is not decided who bears the loss.',
    'Decide it: `POST /api/next/mispayments/{id}/bear`.',
  ],
  BOOKS_DIFFER: [
    'The books of the company do not verify, so no money leaves.',
    'Read `GET /api/next/ledger/differences`, and explain or correct what it names.',
  ],
  REFUND_NOT_COVERED: [
    'What is left of the company’s balance does not cover the refund: the rest was paid out, or is set aside for a settlement.',
    'Wait for new payments, keep a reserve, or let a SuperAdmin approve it.',
  ],
  ACCOUNT_IN_USE: [
    'Payments that are open, or refunds that are not finished, were made with the account that would go, or the ' +
      'provider does not tell whether new credentials are of the same account.',
    'Wait until they have ended. With `force=true` it goes all the same; save it again to find what was paid there.',
  ],
  INTERNAL_ERROR: [
    'A fault of the service. It was logged whole with the `requestId`.',
    'Repeat with the same `Idempotency-Key`; if it stays, give the operator the `requestId`.',
  ],
  ORDER_GONE: [
    'The order expired, was cancelled or failed, or its payment did not pass the screening: x402 has nothing to ask for.',
    'Do not pay it. Where money has arrived, or was sent and not seen yet, contact the shop. Otherwise ask for a new order.',
  ],
  CHANNEL_UNAVAILABLE: [
    'The payment provider did not answer in time. Whether it took the payment is not known yet; a job finds out.',
    'Accept again with the same channel: you get the same payment, never a second one.',
  ],
  DATABASE_UNAVAILABLE: ['The service cannot reach its database.', WAIT],
  BUSY: ['More work arrived at once than the service takes.', WAIT],
}
