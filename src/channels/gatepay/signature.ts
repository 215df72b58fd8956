import { createHmac, timingSafeEqual } from 'node:crypto'

export type Signed = { timestamp: string; nonce: string; body: string | Buffer }

/**
 * 128 lower-case hexadecimal digits of HMAC-SHA512. It signs three lines, each with a line feed, the last one being the
 * body. Neither path nor query string is included, so a GET signs an empty line.
 */
export const signatureOf = (secret: string, { timestamp, nonce, body }: Signed): string =>
  createHmac('sha512', secret).update(`${timestamp}\n${nonce}\n`).update(body).update('\n').digest('hex')

export function isSigned(secret: string, signed: Signed, signature: string): boolean {
  const expected = Buffer.from(signatureOf(secret, signed))
  const given = Buffer.from(signature)
  return expected.length === given.length && timingSafeEqual(expected, given)
}
