import { createHmac, timingSafeEqual } from 'node:crypto'

export type SignedRequest = {
  /** Milliseconds since 1970 as decimal text. */
  timestamp: string
  method: 'GET' | 'POST'
  /** Everything behind the base address, with its query string. */
  path: string
  /** Empty for a GET. */
  body: string
}

/**
 * 64 lower-case hexadecimal digits of HMAC-SHA256 over four lines: time, method, path, body. The body is the last of
 * them and has no line feed of its own.
 */
export const signatureOf = (secret: string, { timestamp, method, path, body }: SignedRequest): string =>
  createHmac('sha256', secret).update(`${timestamp}\n${method}\n${path}\n${body}`).digest('hex')

/** Callbacks have a secret of their own: HMAC-SHA256 over the time, a full stop and the bytes of the body. */
export const callbackSignatureOf = (secret: string, timestamp: string, body: Buffer): string =>
  createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')

/** In constant time. */
export function isSame(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)]
  return left.length === right.length && timingSafeEqual(left, right)
}
