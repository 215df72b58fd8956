import type { FastifyRequest } from 'fastify'
import type { Actor } from '../http/actor.ts'
import { AppError } from '../kernel/errors.ts'
import type { AuthDeps } from './auth-service.ts'
import { bearerOf } from './authenticate.ts'
import { findChallengeByToken } from './factors/challenge-queries.ts'
import { CHALLENGE_PREFIX } from './factors/challenge-service.ts'
import { hashToken } from './session-service.ts'

/** A pending login by its token, or a running session that needs a fresh factor. */
export type Challenger = { token: string } | { actor: Actor }

/**
 * Who proves a second factor: by cookie or bearer. All tabs of a browser share the cookie, so with `stepUp` only the
 * bearer counts. Without it a pending login wins: the interface wants a bearer beside the cookie, and a client has none
 * to send there but that of another session.
 * @throws UNAUTHORIZED without either; with `stepUp`, unless the bearer is of a running session
 */
export const openChallenger =
  ({ db, cookies, challenges, sessions }: Pick<AuthDeps, 'db' | 'cookies' | 'challenges' | 'sessions'>) =>
  async (request: FastifyRequest, { stepUp = false }: { stepUp?: boolean }): Promise<Challenger> => {
    const [cookie, bearer] = [cookies.challengeOf(request), bearerOf(request)]
    if (stepUp) {
      if (bearer === null) throw new AppError('UNAUTHORIZED', { message: 'A step-up needs the bearer of a session.' })
      return { actor: await sessions.actorOf(bearer) }
    }
    const pending = cookie === null ? undefined : await findChallengeByToken(db, hashToken(cookie))
    if (cookie !== null && challenges.isLive(pending)) return { token: cookie }
    if (bearer?.startsWith(CHALLENGE_PREFIX)) return { token: bearer }
    if (bearer !== null) return { actor: await sessions.actorOf(bearer) }
    if (cookie !== null) return { token: cookie }
    throw new AppError('UNAUTHORIZED', { message: 'Log in first. This needs the cookie otpValidationToken.' })
  }
