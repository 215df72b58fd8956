import type { Audit } from '../../audit/audit.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { hasFreshFactor } from '../../http/permissions.ts'
import type { AnyContext, RequestContext } from '../../http/request-context.ts'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { Mailer } from '../../mail/mail.ts'
import { companyIdOf, TWO_FACTOR_ROLES, type User } from '../../users/user.ts'
import { findUserById, lockUserById } from '../../users/user-queries.ts'
import type { Sessions } from '../session-service.ts'
import { openFactorChanges } from './factor-changes.ts'
import * as queries from './factor-queries.ts'
import { deletePasskeys, updateRegistration } from './passkey-queries.ts'
import { enrolmentOf, newRecoveryCodes, newTotpSecret, openCodeHash, stepOfCode, totpContext } from './totp.ts'

export type TwoFactor = {
  /** Creates a secret for an authenticator app; it takes effect once `enable` gets a code of it. */
  setup(context: RequestContext): Promise<{ otpauthUri: string; qrSvg: string }>
  /** @returns ten recovery codes, shown this once. @throws INVALID_OTP */
  enable(context: RequestContext, otp: string): Promise<{ recoveryCodes: string[] }>
  /** Ten new recovery codes; the old ones stop working. */
  renewCodes(context: RequestContext): Promise<{ recoveryCodes: string[] }>
  /** The person's own: removes the authenticator. */
  disable(context: RequestContext): Promise<void>
  /**
   * Not the person's own doing: the factors are lost, stolen, or a stranger enrolled them. No authenticator, recovery
   * code or passkey is left, nor one half enrolled. Codes come by e-mail; roles for which a second factor is optional
   * lose it. Wrong codes of before no longer count. The caller ends the sessions.
   */
  reset(tx: Tx, user: User, context: AnyContext): Promise<void>
}

export type TwoFactorDeps = {
  db: Db
  clock: Clock
  vault: Vault
  sessions: Sessions
  mailer: Mailer
  audit: Audit
}

const UNPROVEN = 'Confirm your e-mail address first: open the link in the mail we sent. Then set up the second factor.'

/**
 * Anyone can register any address, so only a proven one gets a factor. A stolen access token must not suffice either:
 * after the first login, adding one takes a fresh second factor.
 * @throws FORBIDDEN before the address is confirmed, STEP_UP_REQUIRED
 */
export function checkMayEnrol(actor: Actor, user: User, nowMs: number): void {
  if (user.verifiedAt === null) throw new AppError('FORBIDDEN', { message: UNPROVEN })
  const isFirstVisit = user.lastConnectionAt === null && !user.totpEnabled && !user.passkeyEnabled
  if (isFirstVisit || hasFreshFactor(actor, nowMs)) return
  throw new AppError('STEP_UP_REQUIRED')
}

export function openTwoFactor(deps: TwoFactorDeps): TwoFactor {
  const { db, clock, vault, sessions, audit } = deps
  const changes = openFactorChanges(deps)
  const codeHash = openCodeHash(vault)
  const userOf = async (tx: Tx, actor: Actor): Promise<User> => {
    const user = await lockUserById(tx, actor.id)
    await lockActor(tx, actor, null)
    if (!user) throw new AppError('UNAUTHORIZED')
    return user
  }
  const storeCodes = async (tx: Tx, userId: string): Promise<string[]> => {
    const codes = newRecoveryCodes()
    await queries.deleteRecoveryCodes(tx, userId)
    const hashes = codes.map((code) => codeHash.of(`recovery:${userId}`, code))
    await queries.insertRecoveryCodes(tx, userId, hashes)
    return codes
  }
  const deleteApp = async (tx: Tx, user: User): Promise<void> => {
    await queries.updateTotpDisabled(tx, user.id, user.passkeyEnabled || TWO_FACTOR_ROLES.includes(user.role))
    await queries.deleteRecoveryCodes(tx, user.id)
  }
  return {
    setup: (context) =>
      db.tx(async (tx) => {
        const { actor } = context
        const user = await userOf(tx, actor)
        checkMayEnrol(actor, user, clock())
        const secret = newTotpSecret()
        await queries.updateTotpPending(tx, user.id, vault.seal(secret, totpContext(user.id)))
        const enrolment = enrolmentOf(secret, user.email)
        await context.remember(tx, enrolment)
        return enrolment
      }),
    enable: (context, otp) =>
      db.tx(async (tx) => {
        const { actor } = context
        const user = await userOf(tx, actor)
        checkMayEnrol(actor, user, clock())
        const { totpPendingSealed } = await queries.lockFactors(tx, user.id)
        if (totpPendingSealed === null) {
          throw new AppError('INVALID_OTP', { message: 'Request a new secret first: POST /auth/2fa/setup.' })
        }
        const step = stepOfCode(vault.open(totpPendingSealed, totpContext(user.id)), otp, clock())
        if (step === undefined) throw new AppError('INVALID_OTP')
        const at = new Date(clock())
        await queries.updateTotpEnabled(tx, user.id, { step, at })
        const recoveryCodes = await storeCodes(tx, user.id)
        if (actor.sessionId !== null) await sessions.confirmSecondFactor(tx, actor.sessionId, at)
        await context.remember(tx, { recoveryCodes })
        const mail = { kind: 'authenticatorAdded', data: { name: user.firstName } } as const
        await changes.added(tx, user, context, { action: 'two-factor.enable', mail })
        return { recoveryCodes }
      }),
    renewCodes: (context) =>
      db.tx(async (tx) => {
        const { actor } = context
        const user = await userOf(tx, actor)
        if (!user.totpEnabled) {
          throw new AppError('OBJECT_CONFLICT', { message: 'Enrol an authenticator app first: POST /auth/2fa/setup.' })
        }
        const recoveryCodes = await storeCodes(tx, user.id)
        await context.remember(tx, { recoveryCodes })
        const facts = { companyId: companyIdOf(user), object: `user:${user.id}` }
        await audit.write(tx, context, { action: 'two-factor.renew-codes', ...facts })
        return { recoveryCodes }
      }),
    disable: (context) =>
      db.tx(async (tx) => {
        const user = await userOf(tx, context.actor)
        await context.remember(tx, null)
        await deleteApp(tx, user)
        const mail = { kind: 'authenticatorRemoved', data: { name: user.firstName } } as const
        await changes.removed(tx, user, context, { action: 'two-factor.remove', mail })
      }),
    async reset(tx, user, context) {
      // the person first, as a login locks them
      await queries.lockFactors(tx, user.id)
      const passkeys = await deletePasskeys(tx, user.id)
      await updateRegistration(tx, user.id, null, new Date(clock()))
      await queries.updateWrongCodesForgotten(tx, user.id)
      await deleteApp(tx, { ...user, passkeyEnabled: false })
      const app = user.totpEnabled ? 'yes' : ''
      const data = { name: user.firstName, app, passkeys: passkeys.map(({ name }) => name).join(', ') }
      const detail = { authenticator: user.totpEnabled, passkeys: passkeys.map(({ id }) => id) }
      await changes.removed(tx, user, context, {
        ...{ action: 'two-factor.remove', detail, mail: { kind: 'secondFactorReset', data } },
      })
    },
  }
}

/** The user behind an actor. @throws UNAUTHORIZED */
export async function userOfActor(db: Db, actor: Actor): Promise<User> {
  const user = actor.kind === 'user' ? await findUserById(db, actor.id) : undefined
  if (!user)
    throw new AppError('UNAUTHORIZED', { message: 'This needs a logged-in user, not an API key. Log in first.' })
  return user
}
