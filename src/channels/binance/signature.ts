import { constants, createHmac, type KeyObject, randomInt, verify } from 'node:crypto'

export type Stamp = {
  /** Milliseconds since 1970, decimal text. */
  timestamp: string
  nonce: string
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Exactly 32 letters; whether digits are allowed is not documented. */
export const makeNonce = (): string => Array.from({ length: 32 }, () => LETTERS[randomInt(LETTERS.length)]).join('')

/** The signed text in both directions: every part, including the last, ends with a line feed. */
const signedBytes = ({ timestamp, nonce }: Stamp, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${timestamp}\n${nonce}\n`), body, Buffer.from('\n')])

/** HMAC-SHA-512 in upper-case hexadecimal digits; the body is exactly the text that is sent. */
export const signRequest = (secret: string, stamp: Stamp, body: string): string =>
  createHmac('sha512', secret)
    .update(signedBytes(stamp, Buffer.from(body)))
    .digest('hex')
    .toUpperCase()

/** RSA PKCS#1 v1.5 with SHA-256 over the raw bytes. @param signature Base64 */
export const isSignedBy = (key: KeyObject, stamp: Stamp, rawBody: Buffer, signature: string): boolean =>
  verify(
    'sha256',
    signedBytes(stamp, rawBody),
    { key, padding: constants.RSA_PKCS1_PADDING },
    Buffer.from(signature, 'base64'),
  )
