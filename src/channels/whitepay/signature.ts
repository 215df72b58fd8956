import { createHmac, timingSafeEqual } from 'node:crypto'

/** Lower-case hexadecimal HMAC-SHA256, the whole signature (docs.whitepay.com/docs/webhooks/auth). */
export const sign = (token: string, message: string | Buffer): string =>
  createHmac('sha256', token).update(message).digest('hex')

/** How the sender serialised the JSON that it signed. */
export type SignedForm = 'raw' | 'stringified' | 'escaped'

const HEX = /^[0-9a-f]{64}$/

const matches = (token: string, message: string | Buffer, signature: string): boolean =>
  timingSafeEqual(Buffer.from(sign(token, message), 'hex'), Buffer.from(signature, 'hex'))

/** The default form of PHP's json_encode: slashes and non-ASCII characters escaped. */
const escapeLikePhp = (json: string): string =>
  json
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

function reencode(rawBody: Buffer): string | null {
  try {
    return JSON.stringify(JSON.parse(rawBody.toString('utf8')))
  } catch {
    return null
  }
}

/**
 * Which form of the body the signature matches, or null for none. The documents sign a re-encoded object, public code
 * the raw bytes; accepting both is safe, because key and content are the same.
 */
export function findSignedForm(token: string, rawBody: Buffer, signature: string): SignedForm | null {
  if (token === '' || !HEX.test(signature)) return null
  if (matches(token, rawBody, signature)) return 'raw'
  const json = reencode(rawBody)
  if (json === null) return null
  if (matches(token, json, signature)) return 'stringified'
  return matches(token, escapeLikePhp(json), signature) ? 'escaped' : null
}
