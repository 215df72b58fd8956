import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { isId } from '../kernel/ids.ts'
import type { Session } from './session-queries.ts'

const CHALLENGE_COOKIE = 'otpValidationToken'
export const CHALLENGE_MS = 5 * MINUTE

export type Cookies = {
  /** `x-user-id`, when it was sent. @throws VALIDATION_FAILED unless it is 24 hex characters */
  userIdOf(request: FastifyRequest): string | null
  refreshTokenOf(request: FastifyRequest, userId: string | null): string | null
  /** The same by the request's own `x-user-id`; null when that is malformed. */
  ownRefreshTokenOf(request: FastifyRequest): string | null
  challengeOf(request: FastifyRequest): string | null
  setRefresh(reply: FastifyReply, session: Session, token: string): void
  clearRefresh(reply: FastifyReply, userId: string | null): void
  setChallenge(reply: FastifyReply, token: string): void
  clearChallenge(reply: FastifyReply): void
  /** Requests that carry cookies must come from our own pages. @throws CROSS_SITE_REQUEST */
  checkSite(request: FastifyRequest): void
}

/** The cookies of the authentication endpoints and who may send them. */
export function openCookies(
  config: Pick<Config, 'baseUrl' | 'payUrl' | 'officeUrl' | 'corsOrigins'>,
  clock: Clock,
): Cookies {
  const secure = config.baseUrl.startsWith('https://')
  const prefix = secure ? '__Host-' : ''
  const nameOf = (userId: string | null): string => `${prefix}refreshToken${userId === null ? '' : `_${userId}`}`
  const refreshTokenOf: Cookies['refreshTokenOf'] = (request, userId) => request.cookies[nameOf(userId)] || null
  const common: CookieSerializeOptions = { httpOnly: true, sameSite: 'strict', secure }
  const challenge: CookieSerializeOptions = { ...common, path: '/api/next/auth' }
  const origins = new Set([
    ...[config.baseUrl, config.payUrl, config.officeUrl].map((url) => new URL(url).origin),
    ...config.corsOrigins,
  ])
  /** Undefined: malformed. */
  const readUserId = ({ headers }: FastifyRequest): string | null | undefined => {
    const header = headers['x-user-id']
    if (header === undefined || header === '') return null
    return typeof header === 'string' && isId(header) ? header : undefined
  }
  return {
    userIdOf(request) {
      const userId = readUserId(request)
      if (userId !== undefined) return userId
      throw invalid('x-user-id', 'must be the 24 hex characters of a user’s id')
    },
    refreshTokenOf,
    ownRefreshTokenOf(request) {
      const userId = readUserId(request)
      return userId === undefined ? null : refreshTokenOf(request, userId)
    },
    challengeOf: (request) => request.cookies[CHALLENGE_COOKIE] || null,
    setRefresh(reply, session, token) {
      const lifeMs = Math.min(Number(session.idleMs), session.expiresAt.getTime() - clock())
      const maxAge = Math.max(1, Math.floor(lifeMs / SECOND))
      const name = nameOf(session.namedCookie ? session.userId : null)
      void reply.setCookie(name, token, { ...common, path: '/', maxAge })
    },
    clearRefresh: (reply, userId) => void reply.setCookie(nameOf(userId), '', { ...common, path: '/', maxAge: 0 }),
    setChallenge: (reply, token) =>
      void reply.setCookie(CHALLENGE_COOKIE, token, { ...challenge, maxAge: CHALLENGE_MS / SECOND }),
    clearChallenge: (reply) => void reply.setCookie(CHALLENGE_COOKIE, '', { ...challenge, maxAge: 0 }),
    checkSite(request) {
      const { origin, host } = request.headers
      if (request.headers['sec-fetch-site'] === 'cross-site') throw new AppError('CROSS_SITE_REQUEST')
      if (origin === undefined || origins.has(origin)) return
      if (URL.canParse(origin) && new URL(origin).host === host) return
      throw new AppError('CROSS_SITE_REQUEST')
    },
  }
}
