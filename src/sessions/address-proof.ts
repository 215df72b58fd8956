import type { Audit } from '../audit/audit.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import type { AnyContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { hashLinkToken } from '../users/registration.ts'
import { findVerification, updateVerificationUsed } from '../users/registration-queries.ts'
import { companyIdOf, type User } from '../users/user.ts'
import { findUserById, lockUserById } from '../users/user-queries.ts'
import { confirmAddress } from '../users/verification-service.ts'
import { hasUnprovenFactor } from './factors/factor-queries.ts'
import type { TwoFactor } from './factors/two-factor-service.ts'
import { lockSessionByToken } from './session-queries.ts'
import { endedKeysOf, hashToken, type Sessions } from './session-service.ts'

export type AddressProofDeps = {
  db: Db
  clock: Clock
  audit: Audit
  sessions: Sessions
  alarm: RaiseAlarm
  twoFactor: Pick<TwoFactor, 'reset'>
}

/** Sessions of whoever confirms: the refresh cookie of the browser, the bearer of a program. */
export type Held = { refreshToken: string | null; bearer: string | null }

/** `stays`: the confirming browser keeps its session. `ended`: none is left. `before`: it was confirmed earlier. */
export type Proven = 'stays' | 'ended' | 'before'

const deadLink = (): AppError =>
  new AppError('INVALID_RESET_TOKEN', {
    message: 'This link is no longer valid. Log in and request a new verification mail.',
  })

/** The account that a verification link is about; undefined for a link that no longer works. */
export async function findByVerification({ db, clock }: AddressProofDeps, token: string): Promise<User | undefined> {
  const found = await findVerification(db, hashLinkToken(token), new Date(clock()))
  return found && findUserById(db, found.userId)
}

/** The user's session that whoever confirms holds, if it still works. */
async function findHeld(tx: Tx, user: User, held: { token: string | null; actor: Actor | null; at: Date }) {
  if (held.actor?.id === user.id) return held.actor.sessionId
  const session = held.token === null ? undefined : await lockSessionByToken(tx, hashToken(held.token))
  if (session?.userId !== user.id || session.revokedAt !== null) return null
  return session.expiresAt > held.at && session.idleExpiresAt > held.at ? session.id : null
}

/**
 * The mailed link proves that the address is the user's. Anyone can register an address with a password of their own,
 * so the first proof ends all sessions from before, except the one of whoever opens the link, and removes factors from
 * before. Opening it twice does no harm.
 * @throws INVALID_RESET_TOKEN when the link is unknown or older than 48 hours
 */
export async function verifyEmail(
  deps: AddressProofDeps,
  { token, held }: { token: string; held: Held },
  context: AnyContext,
): Promise<Proven> {
  const { db, clock, audit, sessions, alarm } = deps
  const at = new Date(clock())
  const actor = held.bearer === null ? null : await sessions.actorOf(held.bearer).catch(() => null)
  const proven = await db.tx(async (tx): Promise<Proven | 'dead'> => {
    const found = await updateVerificationUsed(tx, hashLinkToken(token), at)
    const user = found && (await lockUserById(tx, found.userId))
    // an invitation may just have given the address to another account
    if (!user || user.emailKey !== found.emailKey) return 'dead'
    if (user.verifiedAt !== null) return 'before'
    const keptId = await findHeld(tx, user, { token: held.refreshToken, actor, at })
    const ended = await sessions.endAll(tx, user.id, 'address confirmed', keptId)
    const isUnproven = await hasUnprovenFactor(tx, user.id)
    await confirmAddress(alarm, tx, user, at)
    if (isUnproven) await deps.twoFactor.reset(tx, user, context)
    const facts = { companyId: companyIdOf(user), object: `user:${user.id}`, detail: endedKeysOf(ended) }
    await audit.write(tx, context, { actor: `user:${user.id}`, action: 'user.verify-email', ...facts })
    return keptId === null ? 'ended' : 'stays'
  })
  if (proven === 'dead') throw deadLink()
  return proven
}
