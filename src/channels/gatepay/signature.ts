import { createHmac, timingSafeEqual } from 'node:crypto'

export type Signed = { timestamp: string; nonce: string; body: string | Buffer }

/**
 * 128 lower-case hexadecimal digits of HMAC-SHA512. Three lines are signed, each with its line feed, and the body is
 * the last of them: neither path nor query string belongs to it, so a GET signs an empty line.
 */
export const signatureOf = (secret: string, { timestamp, nonce, body }: Signed): string =>
  createHmac('sha512', secret).update(`${timestamp}\n${nonce}\n`).update(body).update('\n').digest('hex')

export function isSigned(secret: string, signed: Signed, signature: string): boolean {
  const expected = Buffer.from(signatureOf(secret, signed))
  const given = Buffer.from(signature)
  return expected.length === given.length && timingSafeEqual(expected, given)
}
