import type { FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { Authenticate } from '../http/actor.ts'
import { API_SECRET_PREFIX, type ApiKeys } from './api-key-service.ts'

const headerText = (request: FastifyRequest, name: string): string | null => {
  const value = request.headers[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/**
 * Reads who calls: `x-api-key` with `x-api-secret`, an API secret as bearer, or an access token as bearer.
 * Null without any credential; UNAUTHORIZED for one that is not good.
 */
export function openAuthenticate({ apiKeys }: { apiKeys: ApiKeys }): Authenticate {
  return async (request) => {
    const secret = headerText(request, 'x-api-secret')
    const publicId = headerText(request, 'x-api-key')
    if (secret !== null) return apiKeys.actorOf(secret, publicId)
    const authorization = headerText(request, 'authorization')
    if (authorization === null) {
      if (publicId !== null)
        throw new AppError('UNAUTHORIZED', { message: 'Send x-api-secret together with x-api-key.' })
      return null
    }
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
    if (token === undefined)
      throw new AppError('UNAUTHORIZED', { message: 'Write the header as: Authorization: Bearer <token>.' })
    if (token.startsWith(API_SECRET_PREFIX)) return apiKeys.actorOf(token, publicId)
    throw new AppError('UNAUTHORIZED')
  }
}
