import type { Audit } from '../audit/audit.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Actor } from '../http/actor.ts'
import type { AnyContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { hashLinkToken } from '../users/registration.ts'
import { findVerification, updateVerificationUsed } from '../users/registration-queries.ts'
import { companyIdOf, NO_PASSWORD, TWO_FACTOR_ROLES, type User } from '../users/user.ts'
import { findUserById, lockUserById, updateUserPassword } from '../users/user-queries.ts'
import { confirmAddress } from '../users/verification-service.ts'
import { hasUnprovenFactor } from './factors/factor-queries.ts'
import type { TwoFactor } from './factors/two-factor-service.ts'
import { updateResetsVoid } from './reset-queries.ts'
import type { Resets } from './reset-service.ts'
import { lockSessionByToken } from './session-queries.ts'
import { endedKeysOf, hashToken, type Sessions } from './session-service.ts'

export type AddressProofDeps = {
  db: Db
  clock: Clock
  audit: Audit
  sessions: Sessions
  alarm: RaiseAlarm
  twoFactor: Pick<TwoFactor, 'reset'>
  resets: Pick<Resets, 'issue'>
}

/** Sessions of whoever confirms: the refresh cookie of the browser, the bearer of a program. */
export type Held = { refreshToken: string | null; bearer: string | null }

/**
 * `stays`: the confirming browser keeps its session. `ended`: none is left. `password`: the password has ended too, and
 * the token chooses one. `before`: it was confirmed earlier.
 */
export type Proven = { left: 'stays' | 'ended' | 'before' } | { left: 'password'; token: string }

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

/** Its password ended when the address was confirmed, and none was chosen since. */
export const awaitsPassword = ({ verifiedAt, disabledAt, passwordHash }: User): boolean =>
  verifiedAt !== null && disabledAt === null && passwordHash === NO_PASSWORD

const choosePassword = async ({ resets }: AddressProofDeps, tx: Tx, user: User): Promise<Proven> => ({
  left: 'password',
  token: await resets.issue(tx, user),
})

async function endPassword(
  deps: AddressProofDeps,
  tx: Tx,
  { user, keptId, at }: { user: User; keptId: string | null; at: Date },
): Promise<Proven> {
  if (keptId !== null) return { left: 'stays' }
  if (TWO_FACTOR_ROLES.includes(user.role) || user.disabledAt !== null) return { left: 'ended' }
  await updateUserPassword(tx, user.id, { passwordHash: NO_PASSWORD, at })
  await updateResetsVoid(tx, user.id, at)
  return choosePassword(deps, tx, user)
}

/**
 * The mailed link proves that the address is the user's. Anyone can register an address with a password of their own,
 * so the first proof ends all sessions from before, except the one of whoever opens the link, and removes factors from
 * before. Where it keeps no session and a password alone logs in, it ends the password too, which whoever registered
 * knows. Opening it twice does no harm.
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
    if (user.verifiedAt !== null) return awaitsPassword(user) ? choosePassword(deps, tx, user) : { left: 'before' }
    const keptId = await findHeld(tx, user, { token: held.refreshToken, actor, at })
    const ended = await sessions.endAll(tx, user.id, 'address confirmed', keptId)
    const isUnproven = await hasUnprovenFactor(tx, user.id)
    await confirmAddress(alarm, tx, user, at)
    if (isUnproven) await deps.twoFactor.reset(tx, user, context)
    const left = await endPassword(deps, tx, { user, keptId, at })
    const facts = { companyId: companyIdOf(user), object: `user:${user.id}`, detail: endedKeysOf(ended) }
    await audit.write(tx, context, { actor: `user:${user.id}`, action: 'user.verify-email', ...facts })
    return left
  })
  if (proven === 'dead') throw deadLink()
  return proven
}
