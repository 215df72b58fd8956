import type { FastifyRequest } from 'fastify'
import type { Actor, Authenticate } from '../http/actor.ts'
import { AppError } from '../kernel/errors.ts'
import { API_SECRET_PREFIX, type ApiKeys } from './api-keys/api-key-service.ts'
import { CHALLENGE_PREFIX } from './factors/challenge-service.ts'
import type { Sessions } from './session-service.ts'

const headerText = (request: FastifyRequest, name: string): string | null => {
  const value = request.headers[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** The token of `Authorization: Bearer …`, or null without that header. @throws UNAUTHORIZED for another form */
export function bearerOf(request: FastifyRequest): string | null {
  const authorization = headerText(request, 'authorization')
  if (authorization === null) return null
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token !== undefined) return token
  throw new AppError('UNAUTHORIZED', { message: 'Write the header as: Authorization: Bearer <token>.' })
}

export type AuthenticateDeps = { apiKeys: ApiKeys; sessions: Pick<Sessions, 'actorOf'> }

/**
 * Identifies the caller by `x-api-key` with `x-api-secret`, an API secret as bearer, or an access token as bearer.
 * Null without a credential. @throws UNAUTHORIZED for an invalid one
 */
export function openAuthenticate({ apiKeys, sessions }: AuthenticateDeps): Authenticate {
  return async (request, { isGuess = false, isAfresh = false } = {}): Promise<Actor | null> => {
    const secret = headerText(request, 'x-api-secret')
    const publicId = headerText(request, 'x-api-key')
    if (secret !== null) return apiKeys.actorOf(secret, publicId, isGuess)
    const token = bearerOf(request)
    if (token === null) {
      if (publicId !== null)
        throw new AppError('UNAUTHORIZED', { message: 'Send x-api-secret together with x-api-key.' })
      return null
    }
    if (token.startsWith(API_SECRET_PREFIX)) return apiKeys.actorOf(token, publicId, isGuess)
    if (token.startsWith(CHALLENGE_PREFIX)) {
      throw new AppError('UNAUTHORIZED', {
        message: 'This login needs its second factor. Send the code with POST /auth/otp.',
      })
    }
    // costs a guess no look-up: the signature is verified in memory first
    return sessions.actorOf(token, isAfresh)
  }
}
