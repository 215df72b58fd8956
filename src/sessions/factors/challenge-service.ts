import { randomBytes, randomInt } from 'node:crypto'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Audit } from '../../audit/audit.ts'
import type { Tx } from '../../db/db.ts'
import type { AnyContext } from '../../http/request-context.ts'
import { CLOCKS_DIFFER_MS, type Clock, DAY, HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { Mailer } from '../../mail/mail.ts'
import { companyIdOf, type User } from '../../users/user.ts'
import { CHALLENGE_MS } from '../cookies.ts'
import type { SessionKind } from '../session-queries.ts'
import { hashToken } from '../session-service.ts'
import type { Challenge } from './challenge-queries.ts'
import * as queries from './challenge-queries.ts'
import * as factors from './factor-queries.ts'
import type { Passkeys } from './passkey-service.ts'
import { openCodeHash, stepOfCode, totpContext } from './totp.ts'

/** Marks tokens that prove a right password only; they are not access tokens. */
export const CHALLENGE_PREFIX = 'ovt_'

export const MAX_WRONG_CODES = 5
const MOST_WRONG_A_DAY = 30
const MOST_MAILS_AN_HOUR = 10
const CODE_MS = 5 * MINUTE
const RESEND_MS = MINUTE

export type Codes = {
  otp?: string | undefined
  emailOtp?: string | undefined
  recoveryCode?: string | undefined
  passkey?: unknown
}
export type Proof = 'otp' | 'emailOtp' | 'recoveryCode' | 'passkey'

export type Challenges = {
  /**
   * Opens a challenge after a right password. @returns the value of the `otpValidationToken` cookie
   * @throws TOO_MANY_REQUESTS when the code would have to be sent and ten were sent within the hour
   */
  open(tx: Tx, login: { user: User; kind: SessionKind; namedCookie: boolean }): Promise<string>
  /** Opens a challenge for a session that needs a fresh factor; reuses a live one with its remaining tries. */
  openForSession(tx: Tx, session: { userId: string; sessionId: string }): Promise<Challenge>
  isLive(challenge: Challenge | undefined): challenge is Challenge
  /** Sends a code by e-mail, at most one a minute. @throws TOO_MANY_REQUESTS after ten in an hour */
  sendCode(tx: Tx, challenge: Challenge, user: User): Promise<void>
  /**
   * A code for the newest login, or confirmation, that waits for one: handed to the operator, because mails do not
   * arrive, or wrong codes locked the factor. It replaces the mailed one. Codes that were mailed in vain no longer
   * count against the hourly limit, nor, with a code in hand, wrong ones against the daily.
   * @returns null where nothing waits
   */
  handCode(tx: Tx, user: User): Promise<{ code: string; expiresAt: Date; begunAt: Date } | null>
  /**
   * Checks a code against a locked challenge. Commit either way: wrong codes are counted.
   * @returns the factor that matched, or null
   * @throws ACCOUNT_LOCKED after thirty wrong codes in a day
   */
  answer(tx: Tx, challenge: Challenge, user: User, given: { codes: Codes; context: AnyContext }): Promise<Proof | null>
}

export type ChallengeDeps = {
  clock: Clock
  vault: Vault
  mailer: Mailer
  audit: Audit
  passkeys: Pick<Passkeys, 'prove'>
}

const sixDigits = (): string => String(randomInt(1_000_000)).padStart(6, '0')

export function openChallenges(deps: ChallengeDeps): Challenges {
  const { clock, vault, mailer, audit, passkeys } = deps
  const codeHash = openCodeHash(vault)

  const make = async (
    tx: Tx,
    facts: Pick<Challenge, 'tokenHash' | 'userId' | 'sessionId' | 'kind' | 'namedCookie'>,
  ): Promise<Challenge> => {
    const now = clock()
    const none = {
      passkeyChallenge: null,
      codeHash: null,
      codeSentAt: null,
      codeExpiresAt: null,
      wrongCodes: 0,
      endedAt: null,
    }
    const times = { createdAt: new Date(now), expiresAt: new Date(now + CHALLENGE_MS) }
    const challenge: Challenge = { id: newId(now), ...facts, ...none, ...times }
    await queries.insertChallenge(tx, challenge)
    return challenge
  }
  const proveTotp = async (tx: Tx, user: User, sealed: string | null, code: string): Promise<boolean> => {
    if (sealed === null) return false
    const step = stepOfCode(vault.open(sealed, totpContext(user.id)), code, clock())
    return step !== undefined && (await factors.updateTotpStep(tx, user.id, step))
  }
  const proveMail = (challenge: Challenge, code: string): boolean =>
    challenge.codeHash !== null &&
    (challenge.codeExpiresAt?.getTime() ?? 0) > clock() &&
    codeHash.fits(`mail:${challenge.id}`, code, challenge.codeHash)
  const proveRecovery = async (tx: Tx, user: User, code: string): Promise<boolean> => {
    const hashes = codeHash.all(`recovery:${user.id}`, code)
    const used = await factors.updateRecoveryCodeUsed(tx, user.id, hashes, new Date(clock()))
    if (!used) return false
    const left = String(await factors.countRecoveryCodes(tx, user.id))
    const data = { name: user.firstName, left }
    await mailer.send(tx, { to: user.email, lang: user.lang, kind: 'recoveryCodeUsed', data })
    return true
  }
  const prove = async (
    tx: Tx,
    challenge: Challenge,
    user: User,
    { codes, sealed }: { codes: Codes; sealed: string | null },
  ) => {
    if (codes.otp !== undefined && (await proveTotp(tx, user, sealed, codes.otp))) return 'otp'
    if (codes.emailOtp !== undefined && proveMail(challenge, codes.emailOtp)) return 'emailOtp'
    if (codes.recoveryCode !== undefined && (await proveRecovery(tx, user, codes.recoveryCode))) return 'recoveryCode'
    if (codes.passkey !== undefined) {
      const response = codes.passkey as AuthenticationResponseJSON
      if (await passkeys.prove(tx, user.id, challenge.passkeyChallenge, response)) return 'passkey'
    }
    return null
  }
  const countWrong = async (tx: Tx, challenge: Challenge, user: User, known: factors.Factors): Promise<void> => {
    const now = clock()
    const fresh = known.wrongCodesSince === null || now - known.wrongCodesSince.getTime() >= DAY
    const since = fresh ? new Date(now) : (known.wrongCodesSince ?? new Date(now))
    await queries.updateChallengeWrong(tx, challenge.id)
    await factors.updateWrongCodes(tx, user.id, { wrong: fresh ? 1 : known.wrongCodes + 1, since })
    if (challenge.wrongCodes + 1 >= MAX_WRONG_CODES) await queries.updateChallengeEnded(tx, challenge.id, new Date(now))
  }
  const checkDay = (known: factors.Factors): void => {
    const sinceMs = known.wrongCodesSince?.getTime() ?? 0
    const leftMs = sinceMs + DAY - clock()
    if (known.wrongCodes < MOST_WRONG_A_DAY || leftMs <= 0) return
    throw new AppError('ACCOUNT_LOCKED', {
      message:
        'Too many wrong codes today. Try again after the time in Retry-After, or ask the operator to reset the factor.',
      retryAfter: leftMs / SECOND,
    })
  }
  return {
    async open(tx, { user, kind, namedCookie }) {
      const token = CHALLENGE_PREFIX + randomBytes(32).toString('base64url')
      const facts = { tokenHash: hashToken(token), userId: user.id, sessionId: null, kind, namedCookie }
      const challenge = await make(tx, facts)
      if (!user.totpEnabled && !user.passkeyEnabled) {
        await checkMailsLeft(tx, user, clock())
        await sendCode(tx, challenge, user)
      }
      return token
    },
    async openForSession(tx, { userId, sessionId }) {
      // so that concurrent requests open one challenge; before the session, as lockActor says
      await factors.lockFactors(tx, userId)
      const known = await queries.lockChallengeBySession(tx, sessionId)
      if (
        known &&
        known.expiresAt.getTime() > clock() &&
        (known.endedAt === null || known.wrongCodes >= MAX_WRONG_CODES)
      )
        return known
      return make(tx, { tokenHash: null, userId, sessionId, kind: 'dashboard', namedCookie: false })
    },
    isLive: (challenge): challenge is Challenge =>
      challenge !== undefined && challenge.endedAt === null && challenge.expiresAt.getTime() > clock(),
    async sendCode(tx, challenge, user) {
      if (challenge.codeSentAt !== null && clock() - challenge.codeSentAt.getTime() < RESEND_MS) return
      await checkMailsLeft(tx, user, clock())
      await sendCode(tx, challenge, user)
    },
    async handCode(tx, user) {
      // the person first, as a login locks them
      await factors.lockFactors(tx, user.id)
      await queries.updateCodesForgotten(tx, user.id)
      const challenge = await queries.lockWaitingChallenge(tx, user.id, new Date(clock()))
      if (!challenge) return null
      await factors.updateWrongCodesForgotten(tx, user.id)
      return { ...(await newCode(tx, challenge)), begunAt: challenge.createdAt }
    },
    async answer(tx, challenge, user, { codes, context }) {
      const known = await factors.lockFactors(tx, user.id)
      checkDay(known)
      const proof = await prove(tx, challenge, user, { codes, sealed: known.totpSealed })
      if (proof === null) await countWrong(tx, challenge, user, known)
      else await queries.updateChallengeEnded(tx, challenge.id, new Date(clock()))
      if (proof === null) {
        const companyId = companyIdOf(user)
        const entry = {
          action: 'session.second-factor',
          result: 'refused',
          object: `user:${user.id}`,
          companyId,
        } as const
        await audit.write(tx, context, { actor: 'anyone', ...entry })
      }
      return proof
    },
  }

  async function newCode(tx: Tx, challenge: Challenge): Promise<{ code: string; expiresAt: Date }> {
    const [now, code] = [clock(), sixDigits()]
    const expiresAt = new Date(now + CODE_MS)
    const hash = codeHash.of(`mail:${challenge.id}`, code)
    await queries.updateChallengeCode(tx, challenge.id, { hash, sentAt: new Date(now), expiresAt })
    return { code, expiresAt }
  }

  async function sendCode(tx: Tx, challenge: Challenge, user: User): Promise<void> {
    const { code, expiresAt } = await newCode(tx, challenge)
    const data = { name: user.firstName, code }
    const kind = challenge.sessionId === null ? 'loginCode' : 'confirmCode'
    await mailer.send(tx, { to: user.email, lang: user.lang, expiresAt, kind, data })
  }
}

/** @throws TOO_MANY_REQUESTS until fewer codes were sent within the last hour */
async function checkMailsLeft(tx: Tx, user: User, nowMs: number): Promise<void> {
  const [now, since] = [new Date(nowMs), new Date(nowMs - HOUR)]
  const times = { now, since, until: new Date(nowMs + CLOCKS_DIFFER_MS) }
  const { count, first } = await queries.countRecentCodes(tx, user.id, times)
  if (count < MOST_MAILS_AN_HOUR || first === null) return
  throw new AppError('TOO_MANY_REQUESTS', {
    message: 'Ten codes were sent to this account within an hour. Try again after the time in Retry-After.',
    retryAfter: (first.getTime() + HOUR - nowMs) / SECOND,
  })
}
