import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A CDP API key: its id and how it signs. */
export type CdpKey = { id: string; algorithm: 'EdDSA' | 'ES256'; privateKey: KeyObject }

/** Lifetime of the token (official SDK). */
const LIFE_SECONDS = 120

/** Base64 of a 32-byte seed followed by its 32-byte public key. */
function readEd25519(secret: string): KeyObject {
  const bytes = Buffer.from(secret, 'base64')
  if (bytes.length !== 64) throw new Error('it is neither PEM nor Base64 of 64 bytes')
  const [d, x] = [bytes.toString('base64url', 0, 32), bytes.toString('base64url', 32)] as const
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
  if (createPublicKey(key).export({ format: 'jwk' }).x !== x) throw new Error('its two halves do not belong together')
  return key
}

/**
 * Reads the key in the portal's forms: Ed25519 in Base64, or EC P-256 as PEM, also with literal `\n`.
 * @throws Error saying what is wrong with the text, without the text
 */
export function readCdpKey(id: string, secret: string): CdpKey {
  const text = secret.replaceAll('\\n', '\n').trim()
  if (!text.includes('-----BEGIN')) return { id, algorithm: 'EdDSA', privateKey: readEd25519(text) }
  const privateKey = createPrivateKey(text)
  if (privateKey.asymmetricKeyType === 'ed25519') return { id, algorithm: 'EdDSA', privateKey }
  if (privateKey.asymmetricKeyDetails?.namedCurve === 'prime256v1') return { id, algorithm: 'ES256', privateKey }
  throw new Error('it must be an Ed25519 or an EC P-256 key')
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The scope of the token: one method at one host and path, without the query. */
export const jwtUri = (method: string, url: string): string => {
  const { host, pathname } = new URL(url)
  return `${method} ${host}${pathname}`
}

/** The bearer token of one request (CDP's own SDK, `jwt.ts`). */
export function makeJwt(
  { id, algorithm, privateKey }: CdpKey,
  call: { method: string; url: string; nowMs: number; nonce?: string },
): string {
  const { method, url, nowMs, nonce = randomBytes(16).toString('hex') } = call
  const now = Math.floor(nowMs / 1000)
  const header = { alg: algorithm, kid: id, typ: 'JWT', nonce }
  const uris = [jwtUri(method, url)]
  const claims = { sub: id, iss: 'cdp', uris, iat: now, nbf: now, exp: now + LIFE_SECONDS }
  const message = Buffer.from(`${part(header)}.${part(claims)}`)
  const signature =
    algorithm === 'EdDSA'
      ? sign(null, message, privateKey)
      : sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${message}.${signature.toString('base64url')}`
}
