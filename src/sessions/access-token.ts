import { createSigner, createVerifier } from 'fast-jwt'
import { EndedCredential, USER_ROLES, type UserRole } from '../http/actor.ts'
import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { isId } from '../kernel/ids.ts'
import type { ServerKeys } from '../keys/server-key-service.ts'

const ACCESS_TOKEN_MS = 10 * MINUTE
const AUDIENCE = 'comptoir-api'
const TYPE = 'at+jwt'
const CACHED_TOKENS = 20_000

/** The claims of an access token (RFC 9068); its session decides whether it is still valid. */
export type AccessClaims = { userId: string; role: UserRole; companyId: string | null; sid: string; expMs: number }

export type AccessTokens = {
  /** @param claims.expMs the session's end, when that is earlier than the token's */
  issue(claims: AccessClaims): Promise<string>
  /** @throws UNAUTHORIZED for anything but a current token of our own, as EndedCredential if it is ours */
  verify(token: string): Promise<AccessClaims>
}

type Verify = (token: string) => Record<string, unknown>

const REFUSED = 'This access token is invalid or expired. Get a new one with POST /auth/refresh-token, or log in.'
const refused = (): AppError => new AppError('UNAUTHORIZED', { message: REFUSED })
const ended = (): AppError => new EndedCredential(REFUSED)

/** The key id, if the header is exactly what we write (RFC 8725: algorithm and type are pinned). */
function readKeyId(headerPart: string): string | undefined {
  try {
    const header = JSON.parse(Buffer.from(headerPart, 'base64url').toString('utf8')) as Record<string, unknown>
    const fits = header.alg === 'HS256' && header.typ === TYPE && header.crit === undefined
    return fits && typeof header.kid === 'string' && isId(header.kid) ? header.kid : undefined
  } catch {
    return undefined
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** @throws EndedCredential: the signature is verified, so the token was ours */
function readClaims(payload: Record<string, unknown>, nowMs: number): AccessClaims {
  const { sub, userId, role, companyId, sid, exp, iat, nbf } = payload
  const known = USER_ROLES.find((candidate) => candidate === role)
  if (!isText(sub) || sub !== userId || !known || !isText(sid)) throw ended()
  if (typeof exp !== 'number' || typeof iat !== 'number' || exp * SECOND <= nowMs) throw ended()
  if (iat * SECOND > nowMs + 30 * SECOND || (nbf !== undefined && !(Number(nbf) * SECOND <= nowMs))) throw ended()
  return { userId: sub, role: known, companyId: isText(companyId) ? companyId : null, sid, expMs: exp * SECOND }
}

/** Access tokens: JWT, HS256, verified tokens cached by fast-jwt; times are checked by our own clock. */
export function openAccessTokens(deps: { keys: ServerKeys; clock: Clock; issuer: string }): AccessTokens {
  const { keys, clock, issuer } = deps
  const verifiers = new Map<string, Verify>()
  const verifierOf = async (headerPart: string): Promise<Verify> => {
    const kid = readKeyId(headerPart)
    const key = kid === undefined ? undefined : await keys.find('access-token', kid)
    if (!kid || !key) throw refused()
    const known = verifiers.get(kid)
    if (known) return known
    const verify = createVerifier({
      key: key.key,
      algorithms: ['HS256'],
      allowedIss: issuer,
      allowedAud: AUDIENCE,
      checkTyp: TYPE,
      ignoreExpiration: true,
      ignoreNotBefore: true,
      cache: CACHED_TOKENS,
      cacheTTL: ACCESS_TOKEN_MS,
    }) as Verify
    if (verifiers.size > 10) verifiers.clear()
    verifiers.set(kid, verify)
    return verify
  }
  return {
    async issue({ userId, role, companyId, sid, expMs }) {
      const { id: kid, key } = await keys.current('access-token')
      const nowMs = clock()
      const sign = createSigner({ key, algorithm: 'HS256', header: { alg: 'HS256', typ: TYPE, kid } })
      const iat = Math.floor(nowMs / SECOND)
      const exp = Math.floor(Math.min(nowMs + ACCESS_TOKEN_MS, expMs) / SECOND)
      return sign({ sub: userId, userId, role, companyId, sid, iat, exp, iss: issuer, aud: AUDIENCE })
    },
    async verify(token) {
      const parts = token.split('.')
      if (parts.length !== 3 || token.length > 2000) throw refused()
      const verify = await verifierOf(parts[0] ?? '')
      let payload: Record<string, unknown>
      try {
        payload = verify(token)
      } catch {
        throw refused()
      }
      return readClaims(payload, clock())
    },
  }
}
