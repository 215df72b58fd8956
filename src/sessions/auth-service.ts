import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import type { JobQueue } from '../db/job-runner.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Mailer } from '../mail/mail.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { Passwords } from '../users/password.ts'
import { openRegistration, type Registration } from '../users/registration.ts'
import { type UserView, viewSelf } from '../users/user.ts'
import { type Cookies, openCookies } from './cookies.ts'
import { type Challenges, openChallenges } from './factors/challenge-service.ts'
import { openPasskeys, type Passkeys } from './factors/passkey-service.ts'
import { openTwoFactor, type TwoFactor } from './factors/two-factor-service.ts'
import { type KnownBrowsers, openKnownBrowsers } from './known-browsers.ts'
import { type LockOuts, openLockOuts } from './lock-outs.ts'
import type { LoggedIn, LoginResult } from './login-service.ts'
import { openResets, type Resets } from './reset-service.ts'
import type { Sessions } from './session-service.ts'

export type AuthBase = {
  db: Db
  clock: Clock
  vault: Vault
  config: Pick<Config, 'baseUrl' | 'payUrl' | 'officeUrl' | 'corsOrigins' | 'autoApprove'>
  passwords: Passwords
  refusedPasswords: ReadonlySet<string>
  sessions: Sessions
  mailer: Mailer
  alarm: RaiseAlarm
  jobs: JobQueue
  audit: Audit
  limits: RateLimits
}

/** Everything that the authentication routes work with. */
export type AuthDeps = AuthBase & {
  registration: Registration
  challenges: Challenges
  lockOuts: LockOuts
  resets: Resets
  twoFactor: TwoFactor
  passkeys: Passkeys
  cookies: Cookies
  knownBrowsers: KnownBrowsers
}

export function openAuth(base: AuthBase): AuthDeps {
  const lockOuts = openLockOuts(base)
  const twoFactor = openTwoFactor(base)
  const passkeys = openPasskeys(base)
  return {
    ...base,
    lockOuts,
    registration: openRegistration(base),
    challenges: openChallenges({ ...base, passkeys }),
    resets: openResets({ ...base, lockOuts, twoFactor }),
    twoFactor,
    passkeys,
    cookies: openCookies(base.config, base.clock),
    knownBrowsers: openKnownBrowsers(base),
  }
}

/** Sets the cookies of a login and returns the answer's data. */
export function answerOfLogin(
  deps: AuthDeps,
  reply: FastifyReply,
  result: LoginResult,
): { token: string | null; user: UserView } {
  if ('challenge' in result) {
    deps.cookies.setChallenge(reply, result.challenge)
    return { token: null, user: viewSelf(result.user) }
  }
  return answerOfFinishedLogin(deps, reply, result)
}

/** The same for a login that needs no further factor: its answer always has a token. */
export function answerOfFinishedLogin(
  { cookies, knownBrowsers }: AuthDeps,
  reply: FastifyReply,
  { user, started, accessToken }: LoggedIn,
): { token: string; user: UserView } {
  cookies.setRefresh(reply, started.session, started.refreshToken)
  knownBrowsers.remember(reply, user.emailKey)
  return { token: accessToken, user: viewSelf(user) }
}

/** Answers of these endpoints carry tokens: no cache may keep them. */
export const noStore = async (_request: FastifyRequest, reply: FastifyReply): Promise<void> =>
  void reply.header('cache-control', 'no-store')
