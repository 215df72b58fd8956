import { createHmac, randomBytes, randomInt } from 'node:crypto'
import type { Audit } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import type { Db, Tx } from '../db/db.ts'
import type { JobQueue } from '../db/job-runner.ts'
import type { Actor, UserRole } from '../http/actor.ts'
import type { AnyContext, RequestContext } from '../http/request-context.ts'
import { type Clock, DAY, HOUR, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Lang } from '../kernel/lang.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Mailer } from '../mail/mail.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { Passwords } from '../users/password.ts'
import { checkPassword } from '../users/password-rules.ts'
import { companyIdOf, type User } from '../users/user.ts'
import { findUserByEmailKey, updateUserPassword } from '../users/user-queries.ts'
import { confirmAddress } from '../users/verification-service.ts'
import { updateChallengesEnded, updateCodesForgotten } from './factors/challenge-queries.ts'
import { hasUnprovenFactor, updateWrongCodesForgotten } from './factors/factor-queries.ts'
import { openCodeHash } from './factors/totp.ts'
import type { TwoFactor } from './factors/two-factor-service.ts'
import type { LockOuts } from './lock-outs.ts'
import { type Claiming, lockClaiming, replaceHolder } from './replaced-account.ts'
import type { Reset } from './reset-queries.ts'
import * as queries from './reset-queries.ts'
import { endedKeysOf, hashToken, type Sessions } from './session-service.ts'

export type Resets = {
  /**
   * Requests a reset. Does the same work for unknown addresses; silently skips SuperAdmins, and mailboxes that got ten
   * mails of this kind within the hour and, of links, hold one that works.
   * @returns the token for `origin=application`, useless without the mail; null otherwise
   */
  send(request: { email: string; application: boolean; lang: Lang | null; context: AnyContext }): Promise<string | null>
  /** Confirms an application reset by its mailed link. */
  prove(proof: string): Promise<boolean>
  /** Is this link still valid? */
  isGood(token: string): Promise<boolean>
  /**
   * @returns the key of the account's address, to remember the browser by
   * @throws INVALID_RESET_TOKEN, WEAK_PASSWORD; INVALID_OTP for a wrong mailed code; EMAIL_ALREADY_REGISTERED for an
   * invitation over an account that may not be replaced any more
   */
  change(request: ChangeRequest): Promise<string>
  /** A token for a new password without a mail, for whoever has just proven that the mailbox is theirs. */
  issue(tx: Tx, user: User): Promise<string>
  /** Mails a new user a link to set the first password; valid for seven days, it also verifies the address. */
  invite(tx: Tx, user: User, by: { inviter: string; company: string }): Promise<void>
}

export type ChangeRequest = {
  token: string
  newPassword: string
  emailOtp: string | null
  /** A Service credential replaces the mailed proof within its own company. */
  context: RequestContext<Actor | null>
}

export type ResetDeps = {
  db: Db
  clock: Clock
  vault: Vault
  config: Pick<Config, 'baseUrl' | 'officeUrl'>
  passwords: Passwords
  refusedPasswords: ReadonlySet<string>
  sessions: Sessions
  lockOuts: LockOuts
  mailer: Mailer
  alarm: RaiseAlarm
  jobs: JobQueue
  audit: Audit
  twoFactor: Pick<TwoFactor, 'reset'>
}

const LINK_MS = 30 * MINUTE
const INVITATION_MS = 7 * DAY
/** Of each kind, so that who asks for one, which anyone can, uses up nothing of the other. */
const MOST_AN_HOUR = 10
/** Beyond that a link is mailed only where the mailbox holds none that works for this long. */
const ENOUGH_MS = LINK_MS / 2
const MOST_INVITATIONS_A_DAY = 5
const MAX_WRONG_CODES = 5
const MAX_WRONG_A_DAY = 30

/** A job without effect, queued for unknown addresses so that both cases take the same time. */
export const NO_MAIL_JOB = 'mail-to-nobody'

const RESETTABLE_BY_SERVICE: readonly UserRole[] = ['SimpleUser', 'Manager', 'Association', 'Cashier', 'Observer']

/** Only the scope `passwords:write` of a Service grants this; no role does. */
const isService = (actor: Actor | null): actor is Actor =>
  actor?.valid === true && actor.role === 'Service' && actor.scopes?.includes('passwords:write') === true

const mayVouch = (actor: Actor | null, user: User): boolean =>
  isService(actor) &&
  RESETTABLE_BY_SERVICE.includes(user.role) &&
  (actor.companyId === null || actor.companyId === user.company?.id)

export function openResets(deps: ResetDeps): Resets {
  const { db, clock, vault, config, sessions, lockOuts, mailer, jobs, audit } = deps
  const codeHash = openCodeHash(vault)
  const newToken = (): string => randomBytes(32).toString('base64url')
  const accountKey = vault.derive('reset-account')
  const accountKeyOf = (email: string): string =>
    createHmac('sha256', accountKey).update(emailKeyOf(email)).digest('hex')

  const mailReset = async (
    tx: Tx,
    user: User,
    lang: Lang,
    secrets: { application: boolean; token: string; proof: string; code: string; expiresAt: Date },
  ): Promise<void> => {
    const to = { to: user.email, lang, expiresAt: secrets.expiresAt }
    const name = user.firstName
    if (secrets.application) {
      const url = `${config.baseUrl}/account/confirm-reset?token=${secrets.proof}`
      return mailer.send(tx, { ...to, kind: 'resetCode', data: { name, url, code: secrets.code } })
    }
    const url = `${config.baseUrl}/account/reset-password?token=${secrets.token}`
    return mailer.send(tx, { ...to, kind: 'resetLink', data: { name, url } })
  }
  /** Strangers cause these mails, and no number of theirs may leave the owner without a link that works. */
  const mayMail = async (tx: Tx, userId: string | null, kind: queries.ResetKind): Promise<boolean> => {
    const times = { since: new Date(clock() - HOUR), until: new Date(clock() + ENOUGH_MS) }
    const { count, hasLink } = await queries.countResets(tx, { userId, kind }, times)
    return count < MOST_AN_HOUR || (kind === 'link' && !hasLink)
  }
  const isLive = (reset: Reset | undefined): reset is Reset =>
    reset !== undefined && reset.usedAt === null && reset.expiresAt.getTime() > clock()

  /**
   * Is this reset proven by its mail? Counts a wrong code. Treats unknown addresses the same way, so that a token of
   * `origin=application` reveals nothing.
   */
  const checkProof = async (
    tx: Tx,
    reset: Reset,
    user: User | undefined,
    request: ChangeRequest,
  ): Promise<'good' | 'wrong' | 'missing' | 'spent'> => {
    if (reset.kind !== 'application' || reset.provenAt !== null) return 'good'
    if (user && mayVouch(request.context.actor, user)) return 'good'
    if (request.emailOtp === null || reset.wrongCodes >= MAX_WRONG_CODES) return 'missing'
    // a reset lives for half an hour, so codes tried within the last day belong to resets at most that much older
    const since = new Date(clock() - DAY - LINK_MS)
    if ((await queries.sumWrongCodes(tx, reset.accountKey, since)) >= MAX_WRONG_A_DAY) return 'spent'
    const right = reset.codeHash !== null && codeHash.fits(`reset:${reset.tokenHash}`, request.emailOtp, reset.codeHash)
    if (right && user) return 'good'
    await queries.updateResetWrong(tx, reset.tokenHash)
    return 'wrong'
  }
  const finish = async (
    tx: Tx,
    reset: Reset,
    claiming: Claiming,
    { passwordHash, context }: { passwordHash: string; context: ChangeRequest['context'] },
  ): Promise<{ emailKey: string }> => {
    const at = new Date(clock())
    const { user, log } = await replaceHolder(deps, tx, claiming)
    await queries.updateResetUsed(tx, reset.tokenHash, at)
    await queries.updateResetsVoid(tx, user.id, at)
    await updateUserPassword(tx, user.id, { passwordHash, at })
    await updateChallengesEnded(tx, user.id, at)
    await lockOuts.clear(tx, user.emailKey)
    const ended = await sessions.endAll(tx, user.id, 'password changed')
    const byOwner = reset.kind !== 'application' || !isService(context.actor)
    if (byOwner) {
      // a stranger who registered this address may have enrolled a factor
      if (await hasUnprovenFactor(tx, user.id)) await deps.twoFactor.reset(tx, user, context)
      // whoever guessed them, or had them sent, knew the password of before
      await updateWrongCodesForgotten(tx, user.id)
      await updateCodesForgotten(tx, user.id)
      await confirmAddress(deps.alarm, tx, user, at)
    }
    if (reset.kind !== 'invitation') {
      await mailer.send(tx, {
        to: user.email,
        lang: user.lang,
        kind: 'passwordChanged',
        data: { name: user.firstName },
      })
    }
    await audit.write(tx, context, {
      ...(context.actor ? {} : { actor: `user:${user.id}` }),
      action: reset.kind === 'invitation' ? 'user.accept-invitation' : 'user.reset-password',
      companyId: companyIdOf(user),
      object: `user:${user.id}`,
      detail: endedKeysOf(ended),
    })
    await log(context)
    return user
  }
  const insert = async (
    tx: Tx,
    userId: string | null,
    kind: queries.ResetKind,
    life: { lifeMs: number; accountKey: string | null; isProven?: true },
  ): Promise<{ token: string; proof: string; code: string; expiresAt: Date }> => {
    const [token, proof, code, at] = [newToken(), newToken(), String(randomInt(1_000_000)).padStart(6, '0'), clock()]
    const application = kind === 'application'
    const tokenHash = hashToken(token)
    const expiresAt = new Date(at + life.lifeMs)
    await queries.insertReset(tx, {
      tokenHash,
      userId,
      accountKey: life.accountKey,
      kind,
      codeHash: application ? codeHash.of(`reset:${tokenHash}`, code) : null,
      proofHash: application ? hashToken(proof) : null,
      provenAt: life.isProven ? new Date(at) : null,
      at: new Date(at),
      expiresAt,
    })
    return { token, proof, code, expiresAt }
  }
  return {
    async send({ email, application, lang, context }) {
      const user = await findUserByEmailKey(db, emailKeyOf(email))
      const eligible = user && user.role !== 'SuperAdmin' && user.disabledAt === null ? user : null
      return db.tx(async (tx) => {
        const kind = application ? 'application' : 'link'
        const known = (await mayMail(tx, eligible?.id ?? null, kind)) ? eligible : null
        const secrets = await insert(tx, known?.id ?? null, kind, {
          lifeMs: LINK_MS,
          accountKey: accountKeyOf(email),
        })
        if (known) await mailReset(tx, known, lang ?? known.lang, { application, ...secrets })
        else await jobs.enqueue(tx, { kind: NO_MAIL_JOB, payload: { sealed: vault.seal(email, NO_MAIL_JOB) } })
        const facts = { object: known ? `user:${known.id}` : null, companyId: known ? companyIdOf(known) : null }
        await audit.write(tx, context, { actor: 'anyone', action: 'user.ask-reset', ...facts })
        return application ? secrets.token : null
      })
    },
    prove: (proof) => queries.updateResetProven(db, hashToken(proof), new Date(clock())),
    async isGood(token) {
      const reset = await queries.findReset(db, hashToken(token))
      return isLive(reset) && reset.userId !== null
    },
    async change(request) {
      const check = { path: 'newPassword', extra: deps.refusedPasswords }
      checkPassword(request.newPassword, { ...check, own: [] })
      // a hash costs too much for a token that anyone can make up
      const known = await queries.findReset(db, hashToken(request.token))
      if (!isLive(known)) throw invalidToken()
      const passwordHash = await deps.passwords.hash(request.newPassword)
      const outcome = await db.tx(async (tx) => {
        // the person first, as where a changed password voids the resets
        const found = await lockClaiming(tx, known.userId ?? '')
        const reset = await queries.lockReset(tx, hashToken(request.token))
        if (!isLive(reset)) return 'missing'
        const user = found?.user.disabledAt === null ? found.user : undefined
        const proof = await checkProof(tx, reset, user, request)
        if (proof !== 'good') return proof
        if (!found || !user) return 'missing'
        checkPassword(request.newPassword, { ...check, own: [user.email, user.firstName, user.lastName] })
        return finish(tx, reset, found, { passwordHash, context: request.context })
      })
      if (typeof outcome === 'object') return outcome.emailKey
      if (outcome === 'spent') {
        throw new AppError('TOO_MANY_REQUESTS', { message: TOO_MANY_CODES, retryAfter: DAY / SECOND })
      }
      if (outcome === 'wrong') throw new AppError('INVALID_OTP')
      throw invalidToken()
    },
    async issue(tx, user) {
      const life = { lifeMs: LINK_MS, accountKey: accountKeyOf(user.email), isProven: true } as const
      return (await insert(tx, user.id, 'link', life)).token
    },
    async invite(tx, user, { inviter, company }) {
      const sent = await queries.countInvitations(tx, user.id, new Date(clock() - DAY))
      if (sent >= MOST_INVITATIONS_A_DAY)
        throw new AppError('TOO_MANY_REQUESTS', { message: TOO_MANY_INVITATIONS, retryAfter: DAY / SECOND })
      await queries.updateInvitationsVoid(tx, user.id, new Date(clock()))
      const { token, expiresAt } = await insert(tx, user.id, 'invitation', {
        lifeMs: INVITATION_MS,
        accountKey: null,
      })
      const url = `${config.officeUrl}/invitation?token=${token}`
      const replaces = user.claimedEmailKey === null ? '' : 'yes'
      const data = { name: user.firstName, inviter, company, replaces, url }
      await mailer.send(tx, { to: user.email, lang: user.lang, expiresAt, kind: 'invitation', data })
    },
  }
}

const TOO_MANY_CODES = 'Too many wrong codes for this account today. Open the link in the mail instead, or wait a day.'

const TOO_MANY_INVITATIONS = 'This person was invited five times today. Check the address, or wait a day.'

const MISSING_PROOF =
  'This token is unconfirmed, used or expired. Open the link in the mail, send the mailed code as emailOtp, or request a new reset.'

const invalidToken = (): AppError => new AppError('INVALID_RESET_TOKEN', { message: MISSING_PROOF })
