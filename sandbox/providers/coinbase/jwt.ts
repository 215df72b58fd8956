import { createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto'

/** The key that the sandbox gives to its merchant. */
export type SandboxKey = { id: string; publicKey: KeyObject; secret: string }

/** PKCS#8 of an Ed25519 seed is this prefix and the seed (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * @param seed 32 bytes in hexadecimal
 * @returns with `secret` in the portal's form: seed and public key in Base64
 */
export function makeKey(seed: string, idSeed: string): SandboxKey {
  const bytes = Buffer.from(seed, 'hex')
  const der = Buffer.concat([PKCS8_HEAD, bytes])
  const publicKey = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const groups = [
    idSeed.slice(0, 8),
    idSeed.slice(8, 12),
    idSeed.slice(12, 16),
    idSeed.slice(16, 20),
    idSeed.slice(20, 32),
  ]
  return { id: groups.join('-'), publicKey, secret: Buffer.concat([bytes, raw]).toString('base64') }
}

type Part = Record<string, unknown>

function readPart(text: string): Part {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Part) : {}
  } catch {
    return {}
  }
}

const LIFE_SECONDS = 120
/** Tolerated clock difference. */
const SKEW_SECONDS = 5

function claimsFault(claims: Part, { keyId, uri, nowSeconds }: { keyId: string; uri: string; nowSeconds: number }) {
  const [iat, nbf, exp] = [claims.iat, claims.nbf, claims.exp].map(Number) as [number, number, number]
  if (claims.sub !== keyId || claims.iss !== 'cdp') return 'sub or iss is wrong'
  if (!Array.isArray(claims.uris) || !claims.uris.includes(uri)) return `uris does not hold ${uri}`
  if (![iat, nbf, exp].every(Number.isInteger)) return 'iat, nbf or exp is missing'
  if (exp - iat > LIFE_SECONDS) return 'the token lives too long'
  if (nbf > nowSeconds + SKEW_SECONDS) return 'the token is not valid yet'
  return exp <= nowSeconds ? 'the token is expired' : null
}

/** What is wrong with a bearer token for one request, or null. */
export function jwtFault(
  key: SandboxKey,
  authorization: string | undefined,
  request: { uri: string; nowSeconds: number },
): string | null {
  const [, token = ''] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? []
  const [head = '', body = '', signature = '', ...more] = token.split('.')
  if (signature === '' || more.length > 0) return 'no token'
  const header = readPart(head)
  if (header.alg !== 'EdDSA') return 'the algorithm does not fit the key'
  if (header.kid !== key.id) return 'unknown key'
  if (!/^[0-9a-f]{32}$/.test(String(header.nonce ?? ''))) return 'no nonce'
  const right = verify(null, Buffer.from(`${head}.${body}`), key.publicKey, Buffer.from(signature, 'base64url'))
  if (!right) return 'wrong signature'
  return claimsFault(readPart(body), { keyId: key.id, ...request })
}
