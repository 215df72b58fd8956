import type { Audit } from '../audit/audit.ts'
import type { Db, Tx } from '../db/db.ts'
import type { UserRole } from '../http/actor.ts'
import type { AnyContext, RequestContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import type { Passwords } from '../users/password.ts'
import { companyIdOf, type User } from '../users/user.ts'
import {
  findUserByEmailKey,
  findUserById,
  lockUserById,
  updateUserLastConnection,
  updateUserPassword,
} from '../users/user-queries.ts'
import { findChallengeByToken, lockChallengeByToken } from './factors/challenge-queries.ts'
import type { Challenges, Codes, Proof } from './factors/challenge-service.ts'
import type { LockOuts } from './lock-outs.ts'
import type { SessionKind } from './session-queries.ts'
import { hashToken, type Sessions, type Started } from './session-service.ts'

/** Logged in, or waiting for the second factor. */
export type LoginResult = { user: User; challenge: string } | { user: User; started: Started; accessToken: string }

export type LoggedIn = { user: User; started: Started; accessToken: string }

export type LoginRequest = {
  email: string
  password: string
  kind: SessionKind
  /** Roles that may log in at this address. */
  roles: readonly UserRole[]
  /** A browser that is known for this address; null: any other. */
  browser: string | null
  /** `x-user-id`: the refresh cookie gets this user's name. */
  userId: string | null
  context: AnyContext
}

export type LoginDeps = {
  db: Db
  clock: Clock
  passwords: Passwords
  sessions: Sessions
  challenges: Challenges
  lockOuts: LockOuts
  audit: Audit
}

export const MANAGER_ROLES: readonly UserRole[] = ['Manager', 'SuperManager', 'Cashier', 'Observer', 'Association']
export const OTHER_ROLES: readonly UserRole[] = ['SimpleUser', 'SuperAdmin', 'Service']

const sessionEntry = (user: User, action: string) => ({
  actor: `user:${user.id}`,
  action,
  companyId: companyIdOf(user),
  object: `user:${user.id}`,
})

/** Counts a wrong password, for known and unknown addresses alike. */
async function refuse(
  deps: LoginDeps,
  { browser, context }: LoginRequest,
  emailKey: string,
  user: User | undefined,
): Promise<never> {
  await deps.db.tx(async (tx) => {
    const locked = await deps.lockOuts.count(tx, emailKey, browser)
    const facts = { companyId: user ? companyIdOf(user) : null, object: user ? `user:${user.id}` : null }
    const detail = { locked }
    await deps.audit.write(tx, context, {
      actor: 'anyone',
      action: 'session.login',
      result: 'refused',
      ...facts,
      detail,
    })
  })
  throw new AppError('INVALID_CREDENTIALS')
}

/**
 * Locks the account for the rest of the login, so that whatever ends all sessions ends the new one too.
 * @param renewed the hash of the same password with today's parameters; null to leave it
 * @returns false if the password or the rights changed after the password was verified
 */
async function lockVerified(tx: Tx, user: User, renewed: string | null): Promise<boolean> {
  const now = await lockUserById(tx, user.id)
  if (now?.passwordHash !== user.passwordHash || now.disabledAt !== null) return false
  if (now.role !== user.role || now.twoFactorEnabled !== user.twoFactorEnabled) return false
  if (renewed !== null) await updateUserPassword(tx, user.id, { passwordHash: renewed, at: null })
  return true
}

/**
 * First step of a login: the password. Unknown addresses cost the same time and get the same answer. A password that
 * changes in the meantime is verified again.
 * @throws ACCOUNT_LOCKED, INVALID_CREDENTIALS, BUSY; FORBIDDEN for a role that logs in elsewhere
 */
export async function logIn(deps: LoginDeps, request: LoginRequest): Promise<LoginResult> {
  const { db, sessions, challenges, lockOuts, audit } = deps
  const emailKey = emailKeyOf(request.email)
  const user = await findUserByEmailKey(db, emailKey)
  const right = await deps.passwords.verify(request.password, user?.passwordHash ?? null)
  if (!user || !right || user.disabledAt !== null) return refuse(deps, request, emailKey, user)
  if (!request.roles.includes(user.role)) {
    const place = MANAGER_ROLES.includes(user.role) ? '/auth/login/manager' : '/auth/login'
    throw new AppError('FORBIDDEN', { message: `The role ${user.role} logs in elsewhere. Use POST ${place}.` })
  }
  const renewed = deps.passwords.isOutdated(user.passwordHash) ? await deps.passwords.hash(request.password) : null
  const { kind, context, browser } = request
  const namedCookie = request.userId === user.id
  const outcome = await db.tx(async (tx) => {
    if (!(await lockVerified(tx, user, renewed))) return 'changed'
    await lockOuts.clear(tx, emailKey, browser)
    if (user.twoFactorEnabled) return { challenge: await challenges.open(tx, { user, kind, namedCookie }) }
    const started = await begin(deps, tx, { user, kind, namedCookie, secondFactorAt: null, context })
    await audit.write(tx, context, sessionEntry(user, 'session.login'))
    return { started }
  })
  if (outcome === 'changed') return logIn(deps, request)
  if (outcome.started === undefined) return { user, challenge: outcome.challenge }
  return { user, started: outcome.started, accessToken: await sessions.issue(outcome.started.session, user) }
}

async function begin(
  { sessions, clock }: LoginDeps,
  tx: Tx,
  session: Parameters<Sessions['start']>[1],
): Promise<Started> {
  const at = new Date(clock())
  await updateUserLastConnection(tx, session.user.id, at)
  session.user.lastConnectionAt = at
  return sessions.start(tx, session)
}

const challengeEnded = (): AppError =>
  new AppError('UNAUTHORIZED', {
    message: 'This login has expired after too many wrong codes or five minutes. Log in again.',
  })

const wrongCode = (): AppError => new AppError('INVALID_OTP')

/**
 * Second step of a login: a code. Only one of several concurrent submissions wins.
 * @param answer.token the value of the `otpValidationToken` cookie
 * @param answer.userId `x-user-id`: the refresh cookie gets this user's name, if it is this user
 * @throws UNAUTHORIZED when the login has ended, INVALID_OTP
 */
export async function answerLogin(
  deps: LoginDeps,
  answer: { token: string; userId: string | null; codes: Codes; context: AnyContext },
): Promise<LoggedIn> {
  const { token, codes, context } = answer
  const { db, challenges, sessions, audit, clock } = deps
  const outcome = await db.tx(async (tx): Promise<'ended' | 'wrong' | { user: User; started: Started }> => {
    const pending = await findChallengeByToken(tx, hashToken(token))
    // the person first, so that whatever ends all sessions ends the new one too
    const user = pending && (await lockUserById(tx, pending.userId))
    const challenge = await lockChallengeByToken(tx, hashToken(token))
    if (!user || user.disabledAt !== null || !challenges.isLive(challenge)) return 'ended'
    const proof = await challenges.answer(tx, challenge, user, { codes, context })
    if (proof === null) return 'wrong'
    const { kind } = challenge
    const namedCookie = challenge.namedCookie || answer.userId === user.id
    const secondFactorAt = new Date(clock())
    const started = await begin(deps, tx, { user, kind, namedCookie, secondFactorAt, context })
    await audit.write(tx, context, { ...sessionEntry(user, 'session.login'), detail: { secondFactor: proof } })
    return { user, started }
  })
  if (outcome === 'ended') throw challengeEnded()
  if (outcome === 'wrong') throw wrongCode()
  return { ...outcome, accessToken: await sessions.issue(outcome.started.session, outcome.user) }
}

/** A fresh second factor for a running session (step-up). @throws INVALID_OTP, UNAUTHORIZED */
export async function answerStepUp(deps: LoginDeps, context: RequestContext, codes: Codes): Promise<Proof> {
  const { actor } = context
  const { db, challenges, sessions, audit, clock } = deps
  const { sessionId } = actor
  if (sessionId === null) throw challengeEnded()
  const outcome = await db.tx(async (tx): Promise<'ended' | 'wrong' | { proof: Proof }> => {
    const user = await findUserById(tx, actor.id)
    if (!user) return 'ended'
    const challenge = await challenges.openForSession(tx, { userId: actor.id, sessionId })
    if (!challenges.isLive(challenge)) return 'ended'
    const proof = await challenges.answer(tx, challenge, user, { codes, context })
    if (proof === null) return 'wrong'
    await sessions.confirmSecondFactor(tx, sessionId, new Date(clock()))
    const entry = sessionEntry(user, 'session.step-up')
    await audit.write(tx, context, { ...entry, detail: { secondFactor: proof } })
    return { proof }
  })
  if (outcome === 'ended') {
    throw new AppError('INVALID_OTP', { message: 'Too many wrong codes. Wait five minutes, then request a new one.' })
  }
  if (outcome === 'wrong') throw wrongCode()
  return outcome.proof
}
