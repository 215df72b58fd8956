import { createHmac, timingSafeEqual } from 'node:crypto'

export type SignedRequest = {
  /** Upper case. */
  method: string
  /** With its query, exactly as it is sent. */
  path: string
  /** The bytes that are sent; null: no body, then nothing is appended. */
  body: string | Buffer | null
}

/**
 * `X-App-Access-Sig`: lower-case hex HMAC-SHA-256 over seconds, method, path and body without separators.
 * Source: docs.sumsub.com/reference/authentication
 */
export function signRequest(secretKey: string, seconds: number, { method, path, body }: SignedRequest): string {
  const hmac = createHmac('sha256', secretKey).update(`${seconds}${method.toUpperCase()}${path}`)
  return (body === null ? hmac : hmac.update(body)).digest('hex')
}

/** The only algorithm accepted for callbacks, so that a sender cannot choose a weaker one. */
export const CALLBACK_ALGORITHM = 'HMAC_SHA256_HEX'

/** Lower-case hex HMAC-SHA-256 of the raw bytes. */
const digestCallback = (webhookSecret: string, rawBody: Buffer): string =>
  createHmac('sha256', webhookSecret).update(rawBody).digest('hex')

/** In constant time. */
export function isDigest(webhookSecret: string, rawBody: Buffer, given: string): boolean {
  const expected = Buffer.from(digestCallback(webhookSecret, rawBody))
  const sent = Buffer.from(given)
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}
