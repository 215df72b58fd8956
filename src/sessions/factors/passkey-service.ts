import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { Audit } from '../../audit/audit.ts'
import { lockActor } from '../../companies/company-scope.ts'
import { brokenConstraint, type Db, type Tx } from '../../db/db.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { type Clock, isRecent, MINUTE } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { Mailer } from '../../mail/mail.ts'
import { TWO_FACTOR_ROLES, type User } from '../../users/user.ts'
import { lockUserById } from '../../users/user-queries.ts'
import type { Sessions } from '../session-service.ts'
import { updateChallengePasskey } from './challenge-queries.ts'
import { openFactorChanges } from './factor-changes.ts'
import * as queries from './passkey-queries.ts'
import { checkMayEnrol } from './two-factor-service.ts'

/** A person has some devices; a hundred keys are a mistake or an attack. */
const MOST_PASSKEYS = 20
const REGISTRATION_MS = 5 * MINUTE

export type Passkeys = {
  list(userId: string): Promise<queries.Passkey[]>
  /** What the browser hands to the authenticator. @throws OBJECT_CONFLICT where the office has no name of its own */
  beginRegistration(context: RequestContext): Promise<PublicKeyCredentialCreationOptionsJSON>
  /** @throws INVALID_OTP for an answer that does not fit what was asked */
  register(
    context: RequestContext,
    made: { name: string; response: RegistrationResponseJSON },
  ): Promise<queries.Passkey>
  /** @throws OBJECT_NOT_FOUND */
  remove(context: RequestContext, id: string): Promise<void>
  /** The user's keys, and what one of them has to sign for this pending second factor. */
  beginProof(tx: Tx, challengeId: string, userId: string): Promise<PublicKeyCredentialRequestOptionsJSON>
  /** Does this answer sign the challenge with one of the user's keys? */
  prove(tx: Tx, userId: string, challenge: string | null, response: AuthenticationResponseJSON): Promise<boolean>
}

export type PasskeyDeps = {
  db: Db
  clock: Clock
  sessions: Pick<Sessions, 'endAll'>
  mailer: Mailer
  audit: Audit
  config: { officeUrl: string }
}

/** Loaded at the first passkey: it brings 300 files, a tenth of what a start reads. */
const loadWebAuthn = () => import('@simplewebauthn/server')

const transportsOf = (texts: readonly string[]) => texts as AuthenticatorTransport[]

/** Keys are bound to the name of the office's host, which browsers do not accept as an IP address. */
function relyingParty(officeUrl: string): { id: string; origin: string } {
  const { hostname, origin } = new URL(officeUrl)
  if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) return { id: hostname, origin }
  throw new AppError('OBJECT_CONFLICT', {
    message: 'Passkeys need a host name. Open the back office by its name, not by an IP address.',
  })
}

export function openPasskeys(deps: PasskeyDeps): Passkeys {
  const { db, clock, config } = deps
  const changes = openFactorChanges(deps)
  const userOf = async (tx: Tx, context: RequestContext): Promise<User> => {
    const user = await lockUserById(tx, context.actor.id)
    await lockActor(tx, context.actor, null)
    if (!user) throw new AppError('UNAUTHORIZED')
    return user
  }
  const verifyMade = async (challenge: string, response: RegistrationResponseJSON) => {
    const { id, origin } = relyingParty(config.officeUrl)
    const expected = { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id }
    const { verifyRegistrationResponse } = await loadWebAuthn()
    try {
      const result = await verifyRegistrationResponse({ response, ...expected, requireUserVerification: false })
      if (result.verified) return result.registrationInfo.credential
    } catch {
      // whatever is wrong with it, the answer is the same
    }
    throw new AppError('INVALID_OTP', { message: 'The passkey could not be verified. Try again.' })
  }
  return {
    list: (userId) => queries.listPasskeys(db, userId),
    async beginRegistration(context) {
      const { id } = relyingParty(config.officeUrl)
      const { generateRegistrationOptions } = await loadWebAuthn()
      return db.tx(async (tx) => {
        const user = await userOf(tx, context)
        checkMayEnrol(context.actor, user, clock())
        const known = await queries.listPasskeys(tx, user.id)
        if (known.length >= MOST_PASSKEYS)
          throw new AppError('OBJECT_CONFLICT', { message: 'You have too many passkeys. Remove one first.' })
        const options = await generateRegistrationOptions({
          rpName: 'Comptoir',
          rpID: id,
          userID: new TextEncoder().encode(user.id),
          userName: user.email,
          userDisplayName: `${user.firstName} ${user.lastName}`,
          attestationType: 'none',
          excludeCredentials: known.map((key) => ({ id: key.credentialId, transports: transportsOf(key.transports) })),
          authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred' },
        })
        await queries.updateRegistration(tx, user.id, options.challenge, new Date(clock()))
        return options
      })
    },
    async register(context, { name, response }) {
      const now = clock()
      const work = db.tx(async (tx) => {
        const user = await userOf(tx, context)
        checkMayEnrol(context.actor, user, now)
        const { challenge, at } = await queries.findRegistration(tx, user.id)
        if (challenge === null || at === null || !isRecent(at.getTime(), REGISTRATION_MS, now))
          throw new AppError('INVALID_OTP', { message: 'Begin again: POST /auth/passkeys/options.' })
        const { id: credentialId, publicKey, counter, transports = [] } = await verifyMade(challenge, response)
        const passkey = {
          ...{ id: newId(now), userId: user.id, credentialId, publicKey: Buffer.from(publicKey) },
          ...{ counter: BigInt(counter), transports: [...transports], name, createdAt: new Date(now) },
        }
        await queries.insertPasskey(tx, passkey)
        await queries.updateRegistration(tx, user.id, null, new Date(now))
        await queries.updateTwoFactorEnabled(tx, user.id, true)
        const mail = { kind: 'passkeyAdded', data: { name: user.firstName, passkey: name } } as const
        await changes.added(tx, user, context, { action: 'passkey.add', detail: { passkey: passkey.id }, mail })
        return { ...passkey, lastUsedAt: null }
      })
      return work.catch((error: unknown) => {
        if (brokenConstraint(error) === undefined) throw error
        throw new AppError('OBJECT_CONFLICT', { message: 'This passkey belongs to an account already.' })
      })
    },
    async remove(context, id) {
      await db.tx(async (tx) => {
        const user = await userOf(tx, context)
        const removed = await queries.deletePasskey(tx, user.id, id)
        if (!removed) throw new AppError('OBJECT_NOT_FOUND')
        const left = await queries.listPasskeys(tx, user.id)
        const keeps = user.totpEnabled || left.length > 0 || TWO_FACTOR_ROLES.includes(user.role)
        await queries.updateTwoFactorEnabled(tx, user.id, keeps)
        const mail = { kind: 'passkeyRemoved', data: { name: user.firstName, passkey: removed.name } } as const
        await changes.removed(tx, user, context, { action: 'passkey.remove', detail: { passkey: id }, mail })
      })
    },
    async beginProof(tx, challengeId, userId) {
      const { id } = relyingParty(config.officeUrl)
      const { generateAuthenticationOptions } = await loadWebAuthn()
      const known = await queries.listPasskeys(tx, userId)
      const options = await generateAuthenticationOptions({
        rpID: id,
        allowCredentials: known.map((key) => ({ id: key.credentialId, transports: transportsOf(key.transports) })),
        userVerification: 'preferred',
      })
      await updateChallengePasskey(tx, challengeId, options.challenge)
      return options
    },
    async prove(tx, userId, challenge, response) {
      const passkey = challenge === null ? undefined : await queries.lockPasskey(tx, userId, response.id)
      if (challenge === null || !passkey) return false
      const { id, origin } = relyingParty(config.officeUrl)
      const { credentialId, publicKey, counter, transports } = passkey
      const { verifyAuthenticationResponse } = await loadWebAuthn()
      const credential = { id: credentialId, publicKey: new Uint8Array(publicKey), counter: Number(counter) }
      try {
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          ...{ response, expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id },
          credential: { ...credential, transports: transportsOf(transports) },
          requireUserVerification: false,
        })
        if (!verified) return false
        const used = { counter: BigInt(authenticationInfo.newCounter), at: new Date(clock()) }
        await queries.updatePasskeyUsed(tx, passkey.id, used)
        return true
      } catch {
        return false
      }
    },
  }
}
