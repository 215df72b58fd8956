import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Actor, Authenticate } from '../http/actor.ts'
import { type Clock, isYounger, MINUTE } from '../kernel/clock.ts'
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

/** Longer than a till, a shop's server or a page is silent while it is used. */
const KNOWN_MS = 10 * MINUTE
const MAX_KNOWN = 20_000

/** What was valid here within the last minutes, by its hash: no flood of wrong credentials displaces it. */
function openMemory(clock: Clock) {
  const rightAt = new Map<string, number>()
  const keyOf = (request: FastifyRequest): string | null => {
    const text = headerText(request, 'x-api-secret') ?? headerText(request, 'authorization')
    return text === null ? null : hash('sha256', text, 'base64url')
  }
  return {
    note(request: FastifyRequest, isRight: boolean): void {
      const key = keyOf(request)
      if (key === null) return
      // the one used longest ago comes first
      rightAt.delete(key)
      if (isRight) rightAt.set(key, clock())
      const [oldest] = rightAt.size > MAX_KNOWN ? rightAt.keys() : []
      if (oldest !== undefined) rightAt.delete(oldest)
    },
    knows(request: FastifyRequest): boolean {
      const at = rightAt.get(keyOf(request) ?? '')
      return at !== undefined && isYounger(at, KNOWN_MS, clock())
    },
  }
}

export type AuthenticateDeps = { apiKeys: ApiKeys; sessions: Pick<Sessions, 'actorOf'>; clock: Clock }

/**
 * Identifies the caller by `x-api-key` with `x-api-secret`, an API secret as bearer, or an access token as bearer.
 * Null without a credential. @throws UNAUTHORIZED for an invalid one
 */
export function openAuthenticate({ apiKeys, sessions, clock }: AuthenticateDeps): Authenticate {
  const memory = openMemory(clock)
  const find = async (request: FastifyRequest): Promise<Actor | null> => {
    const secret = headerText(request, 'x-api-secret')
    const publicId = headerText(request, 'x-api-key')
    if (secret !== null) return apiKeys.actorOf(secret, publicId)
    const token = bearerOf(request)
    if (token === null) {
      if (publicId !== null)
        throw new AppError('UNAUTHORIZED', { message: 'Send x-api-secret together with x-api-key.' })
      return null
    }
    if (token.startsWith(API_SECRET_PREFIX)) return apiKeys.actorOf(token, publicId)
    if (token.startsWith(CHALLENGE_PREFIX)) {
      throw new AppError('UNAUTHORIZED', {
        message: 'This login needs its second factor. Send the code with POST /auth/otp.',
      })
    }
    return sessions.actorOf(token)
  }
  const authenticate = async (request: FastifyRequest): Promise<Actor | null> => {
    try {
      const actor = await find(request)
      memory.note(request, actor !== null)
      return actor
    } catch (error) {
      // a failing database says nothing about the credential
      if (error instanceof AppError && error.code === 'UNAUTHORIZED') memory.note(request, false)
      throw error
    }
  }
  return Object.assign(authenticate, { knows: memory.knows })
}
