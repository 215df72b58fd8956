import { createHash, randomBytes } from 'node:crypto'
import { lockActor } from '../companies/company-scope.ts'
import type { Config } from '../config/config.ts'
import { OFFICE_PATHS } from '../config/office-paths.ts'
import { brokenConstraint, type Db, type Tx } from '../db/db.ts'
import type { Actor, UserRole } from '../http/actor.ts'
import { countMail } from '../http/limits/mail-limits.ts'
import { hasFreshFactor } from '../http/permissions.ts'
import { type Clock, HOUR, SECOND } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { newId, newWebhookSecret } from '../kernel/ids.ts'
import type { Lang } from '../kernel/lang.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Mailer } from '../mail/mail.ts'
import type { Passwords } from './password.ts'
import { checkPassword } from './password-rules.ts'
import * as queries from './registration-queries.ts'
import { TWO_FACTOR_ROLES, type User } from './user.ts'
import { findUserById, insertUser, listManagers } from './user-queries.ts'

export type RegisterBody = {
  email: string
  password: string
  firstName: string
  lastName: string
  role: UserRole
  companyName?: string
  associationName?: string
  phoneNumber?: string
  phoneNumberCountry?: string
}

export type RegistrationDeps = {
  db: Db
  clock: Clock
  vault: Vault
  config: Pick<Config, 'baseUrl' | 'officeUrl' | 'autoApprove'>
  passwords: Passwords
  /** The operator's own list of refused passwords, in lower case. */
  refusedPasswords: ReadonlySet<string>
  mailer: Mailer
}

export type Registration = {
  /** Runs the checks and the hashing before a transaction is open. */
  prepare(body: RegisterBody, actor: Actor | null): Promise<Prepared>
  /**
   * @throws EMAIL_ALREADY_REGISTERED, TOO_MANY_REQUESTS after ten mails to one mailbox within the hour, UNAUTHORIZED if
   * the actor who vouches lost the rights a moment ago, STEP_UP_REQUIRED for an operator's account
   */
  register(tx: Tx, prepared: Prepared, lang: Lang): Promise<User>
  /** @throws TOO_MANY_REQUESTS */
  sendVerification(tx: Tx, user: User): Promise<void>
}

export type Prepared = {
  body: RegisterBody
  passwordHash: string
  /** The company of a Cashier, an Observer or a Service. */
  joins: { id: string; name: string } | null
  /** An actor who may approve users sent it, so no approval is needed. */
  vouchedBy: Actor | null
  /** Who registers an operator's account, or one that joins a company. */
  madeBy: string | null
}

const PUBLIC_ROLES: readonly UserRole[] = ['SimpleUser', 'Manager', 'Association']
const JOINING_ROLES: readonly UserRole[] = ['Cashier', 'Observer']
const OPERATOR_ROLES: readonly UserRole[] = ['SuperAdmin', 'SuperManager', 'Service']
const VERIFICATION_MS = 48 * HOUR
const TOO_MANY_MAILS = 'Ten mails went to this mailbox within the hour. Look there, or try again in an hour.'

const isManager = (actor: Actor | null): actor is Actor =>
  actor?.kind === 'user' && actor.valid && (actor.role === 'Manager' || actor.role === 'Association')

const isOperator = (actor: Actor | null): actor is Actor =>
  actor?.kind === 'user' && actor.valid && actor.role === 'SuperAdmin'

/** @throws FORBIDDEN for a role that this caller cannot assign */
function checkRole(role: UserRole, actor: Actor | null): void {
  if (PUBLIC_ROLES.includes(role) || JOINING_ROLES.includes(role)) return
  if (OPERATOR_ROLES.includes(role) && isOperator(actor)) return
  throw new AppError('FORBIDDEN', {
    message: `Only a SuperAdmin assigns the role ${role}. Send a SuperAdmin’s bearer token.`,
  })
}

/** The company that a Cashier, an Observer or a Service joins. @throws VALIDATION_FAILED when it is ambiguous */
async function findJoined(db: Db, body: RegisterBody, actor: Actor | null): Promise<Prepared['joins']> {
  if (isManager(actor) && actor.companyId !== null) return (await queries.findCompanyName(db, actor.companyId)) ?? null
  if (body.companyName === undefined) {
    if (body.role === 'Service') return null
    throw invalid('companyName', `is required for the role ${body.role}: the company’s exact name, or its id`)
  }
  const found = await queries.listCompaniesNamed(db, body.companyName)
  const exact = found.find(({ id }) => id === body.companyName) ?? (found.length === 1 ? found[0] : undefined)
  if (exact) return exact
  throw invalid('companyName', 'does not match exactly one company. Ask your manager for the company’s id.')
}

function checkNames(body: RegisterBody): void {
  if (body.role === 'Manager' && body.companyName === undefined)
    throw invalid('companyName', 'is required for the role Manager')
  if (body.role === 'Association' && body.associationName === undefined)
    throw invalid('associationName', 'is required for the role Association')
}

export const hashLinkToken = (token: string): string => createHash('sha256').update(token).digest('hex')

export function openRegistration(deps: RegistrationDeps): Registration {
  const { db, clock, vault, config, passwords, mailer } = deps

  const foundCompany = async (tx: Tx, body: RegisterBody, at: Date): Promise<string | null> => {
    if (body.role !== 'Manager' && body.role !== 'Association') return null
    const association = body.role === 'Association'
    const id = newId(at.getTime())
    const name = (association ? body.associationName : body.companyName) ?? ''
    await queries.insertCompany(tx, {
      id,
      name,
      kind: association ? 'association' : 'company',
      approved: config.autoApprove,
      webhookSecretSealed: vault.seal(newWebhookSecret(), `company:${id}:webhook-secret`),
      at,
    })
    const ids = { salesPointId: newId(at.getTime()), collectorId: newId(at.getTime()) }
    await queries.insertFirstTill(tx, { companyId: id, name, identifier: 'TILL-1', at, ...ids })
    return id
  }
  const tellManagers = async (tx: Tx, user: User): Promise<void> => {
    const { company } = user
    // anyone may apply, so these mails are limited; the back office lists all applicants
    if (!company || !(await countMail(tx, 'approval', { company: company.id }, clock()))) return
    const applicant = `${user.firstName} ${user.lastName}`
    const facts = { applicant, applicantEmail: user.email, role: user.role, company: company.name }
    for (const manager of await listManagers(tx, company.id)) {
      const data = { name: manager.firstName, ...facts, url: `${config.officeUrl}${OFFICE_PATHS.people}` }
      await mailer.send(tx, { to: manager.email, lang: manager.lang, kind: 'approvalNeeded', data })
    }
  }
  const sendVerification = async (tx: Tx, user: User): Promise<void> => {
    const token = randomBytes(32).toString('base64url')
    const now = clock()
    // nothing has shown yet that the mailbox belongs to the user
    if (!(await countMail(tx, 'verify', { email: user.email }, now)))
      throw new AppError('TOO_MANY_REQUESTS', { message: TOO_MANY_MAILS, retryAfter: HOUR / SECOND })
    await queries.insertVerification(tx, {
      tokenHash: hashLinkToken(token),
      userId: user.id,
      emailKey: user.emailKey,
      at: new Date(now),
      expiresAt: new Date(now + VERIFICATION_MS),
    })
    const url = `${config.baseUrl}/account/verify-email?token=${token}`
    const data = { name: user.firstName, role: user.role, company: user.company?.name ?? '', url }
    const expiresAt = new Date(now + VERIFICATION_MS)
    await mailer.send(tx, { to: user.email, lang: user.lang, expiresAt, kind: 'verifyEmail', data })
  }
  return {
    sendVerification,
    async prepare(body, actor) {
      checkRole(body.role, actor)
      checkNames(body)
      const names = [body.email, body.firstName, body.lastName, body.companyName ?? '', body.associationName ?? '']
      checkPassword(body.password, { path: 'password', own: names, extra: deps.refusedPasswords })
      const joining = JOINING_ROLES.includes(body.role) || body.role === 'Service'
      const joins = joining ? await findJoined(db, body, actor) : null
      const attached = actor?.role === 'SuperManager' && actor.valid && actor.companyIds.includes(joins?.id ?? '')
      const trusted = isManager(actor) || isOperator(actor) || attached
      const isMade = OPERATOR_ROLES.includes(body.role) || (joining && trusted)
      const madeBy = isMade ? (actor?.id ?? null) : null
      return {
        body,
        passwordHash: await passwords.hash(body.password),
        joins,
        vouchedBy: trusted ? actor : null,
        madeBy,
      }
    },
    async register(tx, { body, passwordHash, joins, vouchedBy, madeBy }, lang) {
      if (vouchedBy) await lockActor(tx, vouchedBy, joins?.id ?? null)
      // an operator's account decides about everyone's money, so a running session alone cannot create one
      if (OPERATOR_ROLES.includes(body.role) && !(vouchedBy && hasFreshFactor(vouchedBy, clock())))
        throw new AppError('STEP_UP_REQUIRED')
      const at = new Date(clock())
      const id = newId(at.getTime())
      const companyId = joins?.id ?? (await foundCompany(tx, body, at))
      const approved = vouchedBy !== null || !JOINING_ROLES.includes(body.role)
      // a machine has no mailbox; the operator vouches for it
      const verified = config.autoApprove || body.role === 'Service'
      await insertUser(tx, {
        id,
        email: body.email.trim(),
        emailKey: emailKeyOf(body.email),
        passwordHash,
        firstName: body.firstName,
        lastName: body.lastName,
        role: body.role,
        phoneNumber: body.phoneNumber ?? null,
        phoneNumberCountry: body.phoneNumberCountry ?? null,
        companyId,
        lang,
        verifiedAt: verified ? at : null,
        approvedAt: approved ? at : null,
        twoFactorEnabled: TWO_FACTOR_ROLES.includes(body.role),
        madeBy,
        createdAt: at,
      }).catch((error: unknown) => {
        throw brokenConstraint(error) === 'users_email_key_key' ? new AppError('EMAIL_ALREADY_REGISTERED') : error
      })
      const user = await findUserById(tx, id)
      if (!user) throw new Error('the new user cannot be read back')
      if (!verified) await sendVerification(tx, user)
      if (!approved) await tellManagers(tx, user)
      return user
    },
  }
}
