import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { DAY, SECOND } from '../kernel/clock.ts'

/** The longest that browsers keep a cookie; each visit renews it. */
const LIFE_MS = 400 * DAY

export type TillCookies = {
  tokenOf(request: FastifyRequest): string | null
  set(reply: FastifyReply, token: string): void
  clear(reply: FastifyReply): void
}

/** The cookie of an enrolled device. */
export function openTillCookies({ baseUrl }: Pick<Config, 'baseUrl'>): TillCookies {
  const secure = baseUrl.startsWith('https://')
  const name = `${secure ? '__Host-' : ''}tillDevice`
  const options = { httpOnly: true, sameSite: 'strict', secure, path: '/' } as const
  return {
    tokenOf: (request) => request.cookies[name] || null,
    set: (reply, token) => void reply.setCookie(name, token, { ...options, maxAge: LIFE_MS / SECOND }),
    clear: (reply) => void reply.setCookie(name, '', { ...options, maxAge: 0 }),
  }
}
