import { createHash, randomBytes } from 'node:crypto'
import type { Audit } from '../audit/audit.ts'
import type { Db, Tx } from '../db/db.ts'
import { type Actor, EndedCredential, type UserRole } from '../http/actor.ts'
import { type CookieOwners, openCookieOwners } from '../http/limits/cookie-limits.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import type { AnyContext } from '../http/request-context.ts'
import { type Clock, DAY, HOUR, isRecent, isYounger, SECOND } from '../kernel/clock.ts'
import type { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { openHmac, type Vault } from '../kernel/vault.ts'
import type { Mailer } from '../mail/mail.ts'
import { companyIdOf, isValidUser, missingOf, type User } from '../users/user.ts'
import { findUserById } from '../users/user-queries.ts'
import type { AccessTokens } from './access-token.ts'
import { updateLoginKeysRevoked } from './api-keys/api-key-queries.ts'
import type { ApiKeys } from './api-keys/api-key-service.ts'
import type { Cookies } from './cookies.ts'
import { updateDeviceLoginsDenied } from './device-login/device-login-queries.ts'
import type { Session, SessionKind, SessionState } from './session-queries.ts'
import * as queries from './session-queries.ts'

export type NewSession = {
  user: User
  kind: SessionKind
  /** For a session that a PIN opens: the till. */
  tillDeviceId?: string
  /** For a session that replaces an open one there. */
  shiftStartedAt?: Date | undefined
  namedCookie: boolean
  secondFactorAt: Date | null
  context: AnyContext
}

/** The access token goes into the answer, the refresh token into a cookie. */
export type Started = { session: Session; refreshToken: string }
export type Refreshed = Started & { user: User; accessToken: string }

/** How many sessions, and the ids of the API keys of command lines. */
export type Ended = { sessions: number; keys: string[] }

/** For the audit log: which keys ended with the sessions. */
export const endedKeysOf = ({ keys }: Ended): { endedKeys?: string[] } => (keys.length > 0 ? { endedKeys: keys } : {})

export type Sessions = {
  start(tx: Tx, session: NewSession): Promise<Started>
  issue(session: Session, user: User): Promise<string>
  /**
   * Rotates a refresh token. Within 10 s the old one gets the same successor while that is unused; later its use ends
   * the whole session (RFC 9700, 4.14).
   * @param userId of `x-user-id`: the token must be this user's
   * @throws UNAUTHORIZED
   */
  refresh(token: string, userId: string | null, context: AnyContext): Promise<Refreshed>
  /** Ends the session of a refresh token; null when there is none. */
  endByToken(tx: Tx, token: string, userId: string | null): Promise<Session | null>
  end(tx: Tx, sessionId: string, reason: string): Promise<boolean>
  /** Ends all sessions of a user but one, and the logins of command lines; of all users with `userId` null. */
  endAll(tx: Tx, userId: string | null, reason: string, exceptId?: string | null): Promise<Ended>
  /**
   * Revokes the API keys of a person's command-line logins, and those not fetched yet, except for these companies; of
   * all users with `userId` null.
   * @returns the ids of the keys
   */
  endDeviceLogins(tx: Tx, userId: string | null, but: readonly string[]): Promise<string[]>
  /**
   * Ends all sessions that PINs opened at a till.
   * @returns when the shifts began whose sessions were still in use
   */
  endAtTill(tx: Tx, filter: { deviceId: string; userId: string | null }, reason: string): Promise<Date[]>
  confirmSecondFactor(tx: Tx, sessionId: string, at: Date): Promise<void>
  /**
   * The actor of an access token, as its session and user are now, or were within the last four seconds.
   * @param isAfresh as they are now: for a refusal that another node may just have lifted
   * @throws UNAUTHORIZED, as EndedCredential for a token of ours
   */
  actorOf(accessToken: string, isAfresh?: boolean): Promise<Actor>
  /** Drops all cached sessions, after a change to users or sessions on this node. */
  forget(): void
}

const GRACE_MS = 10 * SECOND
/** Other nodes learn of a revocation within this time. */
const STATE_MAX_AGE_MS = 4 * SECOND
const MAX_STATES = 20_000

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Idle and absolute life by role and client. */
function livesOf(role: UserRole, kind: SessionKind): { idleMs: number; absoluteMs: number } {
  if (kind === 'till') return { idleMs: 4 * HOUR, absoluteMs: 16 * HOUR }
  const absoluteMs = kind === 'dashboard' ? DAY : 7 * DAY
  if (role === 'SuperAdmin' || role === 'SuperManager') return { idleMs: HOUR, absoluteMs }
  return { idleMs: kind === 'dashboard' ? 12 * HOUR : absoluteMs, absoluteMs }
}

const ended = (): AppError => new EndedCredential('This session has ended. Log in again.')

/** Whose session a refresh cookie is, also an ended one. */
export function openSessionOwners(deps: {
  db: Db
  clock: Clock
  cookies: Pick<Cookies, 'ownRefreshTokenOf'>
  limits: RateLimits
}): CookieOwners {
  return openCookieOwners(deps.limits, {
    hashOf(request) {
      const token = deps.cookies.ownRefreshTokenOf(request)
      return token === null ? null : hashToken(token)
    },
    async find(hashes) {
      const rows = await queries.listSessionsByToken(deps.db, hashes, new Date(deps.clock()))
      return new Map(rows.map(({ hash, ...session }) => [hash, session]))
    },
  })
}

export type SessionDeps = {
  db: Db
  clock: Clock
  vault: Vault
  tokens: AccessTokens
  apiKeys: Pick<ApiKeys, 'forget'>
  audit: Audit
  mailer: Mailer
}

export function openSessions(deps: SessionDeps): Sessions {
  const { clock, vault, tokens, apiKeys, audit, mailer } = deps
  const states = openStates(deps)
  /** Derived from the old token, so that a repeated request gets the same one and none is stored in clear. */
  const successors = openHmac(vault, 'refresh-successor', 'base64url')

  const rotate = async (tx: Tx, session: Session, token: string, context: AnyContext): Promise<string> => {
    const at = new Date(clock())
    const next = successors.of(token)
    await queries.updateRefreshTokenReplaced(tx, hashToken(token), at)
    await queries.insertRefreshToken(tx, { hash: hashToken(next), sessionId: session.id, createdAt: at })
    const idleExpiresAt = new Date(Math.min(at.getTime() + Number(session.idleMs), session.expiresAt.getTime()))
    const { ip, userAgent } = context
    await queries.updateSessionUsed(tx, session.id, { at, idleExpiresAt, ip, userAgent })
    return next
  }
  /** The same successor for a repeated request; undefined for a reuse. */
  const repeat = async (tx: Tx, token: string, replacedAt: Date): Promise<string | undefined> => {
    if (!isRecent(replacedAt.getTime(), GRACE_MS, clock())) return undefined
    // the first request may have reached a node with another master key
    for (const next of successors.all(token)) {
      const successor = await queries.findRefreshToken(tx, hashToken(next))
      if (successor?.replacedAt === null) return next
    }
    return undefined
  }
  const endReused = async (tx: Tx, session: Session, user: User, context: AnyContext): Promise<void> => {
    await queries.updateSessionRevoked(tx, session.id, new Date(clock()), 'refresh token used twice')
    tx.afterCommit(states.forget)
    await mailer.send(tx, { to: user.email, lang: user.lang, kind: 'sessionStolen', data: { name: user.firstName } })
    const object = `session:${session.id}`
    const companyId = companyIdOf(user)
    await audit.write(tx, context, { actor: 'anyone', action: 'session.reuse', result: 'refused', companyId, object })
  }
  const isLive = (session: Session, user: User): boolean =>
    session.revokedAt === null &&
    session.expiresAt.getTime() > clock() &&
    session.idleExpiresAt.getTime() > clock() &&
    user.disabledAt === null

  const refresh: Sessions['refresh'] = async (token, userId, context) => {
    const result = await deps.db.tx(async (tx) => {
      const session = await queries.lockSessionByToken(tx, hashToken(token))
      const user = session && (await findUserById(tx, session.userId))
      if (!session || !user || (userId !== null && user.id !== userId) || !isLive(session, user)) return null
      const current = await queries.findRefreshToken(tx, hashToken(token))
      const replacedAt = current?.replacedAt ?? null
      const next = replacedAt === null ? await rotate(tx, session, token, context) : await repeat(tx, token, replacedAt)
      if (next !== undefined) return { session, user, refreshToken: next }
      await endReused(tx, session, user, context)
      return null
    })
    if (!result) throw ended()
    return { ...result, accessToken: await tokens.issue(claimsOf(result.session, result.user)) }
  }
  const endDeviceLogins: Sessions['endDeviceLogins'] = async (tx, userId, but) => {
    tx.afterCommit(apiKeys.forget)
    // first: this waits for a program that fetches its key at the moment, and the key is there then
    await updateDeviceLoginsDenied(tx, userId, but)
    return updateLoginKeysRevoked(tx, userId, { but, at: new Date(clock()) })
  }
  return {
    async start(tx, wanted) {
      const { user, kind, tillDeviceId = null, shiftStartedAt = null, namedCookie, secondFactorAt, context } = wanted
      const now = clock()
      const { idleMs, absoluteMs } = livesOf(user.role, kind)
      const session: Session = {
        id: newId(now),
        userId: user.id,
        kind,
        tillDeviceId,
        shiftStartedAt,
        namedCookie,
        idleMs: BigInt(idleMs),
        secondFactorAt,
        ip: context.ip,
        userAgent: context.userAgent,
        createdAt: new Date(now),
        lastUsedAt: new Date(now),
        idleExpiresAt: new Date(now + idleMs),
        expiresAt: new Date(now + absoluteMs),
        revokedAt: null,
      }
      const refreshToken = randomBytes(32).toString('base64url')
      await queries.insertSession(tx, session)
      await queries.insertRefreshToken(tx, {
        hash: hashToken(refreshToken),
        sessionId: session.id,
        createdAt: new Date(now),
      })
      return { session, refreshToken }
    },
    issue: (session, user) => tokens.issue(claimsOf(session, user)),
    refresh,
    async endByToken(tx, token, userId) {
      const session = await queries.lockSessionByToken(tx, hashToken(token))
      if (!session || (userId !== null && session.userId !== userId)) return null
      const changed = await queries.updateSessionRevoked(tx, session.id, new Date(clock()), 'signed out')
      tx.afterCommit(states.forget)
      return changed ? session : null
    },
    async end(tx, sessionId, reason) {
      tx.afterCommit(states.forget)
      return queries.updateSessionRevoked(tx, sessionId, new Date(clock()), reason)
    },
    async endAll(tx, userId, reason, exceptId = null) {
      tx.afterCommit(states.forget)
      const sessions = await queries.updateSessionsRevoked(tx, { userId, exceptId }, new Date(clock()), reason)
      return { sessions, keys: await endDeviceLogins(tx, userId, []) }
    },
    endDeviceLogins,
    async endAtTill(tx, filter, reason) {
      tx.afterCommit(states.forget)
      return queries.updateTillSessionsRevoked(tx, filter, new Date(clock()), reason)
    },
    async confirmSecondFactor(tx, sessionId, at) {
      await queries.updateSessionSecondFactor(tx, sessionId, at)
      tx.afterCommit(states.forget)
    },
    async actorOf(accessToken, isAfresh = false) {
      const claims = await tokens.verify(accessToken)
      const state = await states.find(claims.sid, isAfresh)
      if (!state || state.userId !== claims.userId || state.revokedAt || state.disabledAt) throw ended()
      if (state.role !== claims.role || state.expiresAt.getTime() <= clock()) throw ended()
      if (state.tillDeviceId !== null && state.tillCollectorId === null) throw ended()
      return state.tillDeviceId === null ? toActor(state) : toTillActor(state)
    },
    forget: states.forget,
  }
}

const claimsOf = (session: Session, user: User) => ({
  userId: user.id,
  role: user.role,
  companyId: companyIdOf(user),
  sid: session.id,
  expMs: session.expiresAt.getTime(),
})

function toActor(state: SessionState): Actor {
  const { role, verifiedAt, approvedAt, companyApproved } = state
  const company = companyApproved === null ? null : { approved: companyApproved }
  const standing = { role, verifiedAt, approvedAt, company }
  return {
    kind: 'user',
    id: state.userId,
    role,
    companyId: state.companyId,
    companyIds: state.companyIds,
    collectorIds: state.collectorIds,
    scopes: null,
    valid: isValidUser(standing) && company?.approved !== false,
    missing: missingOf(standing),
    sessionId: state.id,
    secondFactorAt: state.secondFactorAt?.getTime() ?? null,
  }
}

/** Whoever signs in at a till with a PIN is its cashier there and nothing else, a manager too. */
function toTillActor(state: SessionState): Actor {
  const { tillDeviceId, tillCollectorId, role, collectorIds } = state
  const isManager = role === 'Manager' || role === 'Association'
  const isGiven = (id: string): boolean => isManager || (role === 'Cashier' && collectorIds.includes(id))
  return {
    ...toActor(state),
    role: 'Cashier',
    collectorIds: tillCollectorId !== null && isGiven(tillCollectorId) ? [tillCollectorId] : [],
    secondFactorAt: null,
    tillDeviceId: tillDeviceId ?? '',
  }
}

/**
 * Caches session states for at most four seconds. A change on this node voids every copy, including one being read.
 */
function openStates({ db, clock }: SessionDeps): {
  find(sid: string, isAfresh: boolean): Promise<SessionState | undefined>
  forget(): void
} {
  const copies = new Map<string, { state: SessionState | undefined; at: number }>()
  const loading = new Map<string, Promise<SessionState | undefined>>()
  let generation = 0
  const load = async (sid: string): Promise<SessionState | undefined> => {
    const [at, startedIn] = [clock(), generation]
    const state = await queries.findSessionState(db, sid)
    if (startedIn !== generation) return load(sid)
    if (copies.size > MAX_STATES) copies.clear()
    copies.set(sid, { state, at })
    return state
  }
  return {
    async find(sid, isAfresh) {
      const known = copies.get(sid)
      if (!isAfresh && known && isYounger(known.at, STATE_MAX_AGE_MS, clock())) return known.state
      // one that runs may have read the row already
      const running = isAfresh ? undefined : loading.get(sid)
      if (running) return running
      const started = load(sid).finally(() => loading.delete(sid))
      loading.set(sid, started)
      return started
    },
    forget() {
      generation += 1
      copies.clear()
    },
  }
}
