import type { Audit } from '../audit/audit.ts'
import { lockActor } from '../companies/company-scope.ts'
import type { Config } from '../config/config.ts'
import type { Db, Tx } from '../db/db.ts'
import { type Actor, companiesSeen, decidesAboutMoney, sees, type UserRole } from '../http/actor.ts'
import { hasFreshFactor } from '../http/permissions.ts'
import type { AnyContext, RequestContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import type { Lang } from '../kernel/lang.ts'
import { filterText } from '../kernel/schema.ts'
import type { Mailer } from '../mail/mail.ts'
import { updateUserMaker } from './maker-queries.ts'
import { chooseSaleMails } from './sale-mail-choice.ts'
import {
  COMPANY_ROLES,
  isApplicant,
  isReplaced,
  TWO_FACTOR_ROLES,
  type User,
  type UserCompany,
  viewUser,
} from './user.ts'
import * as queries from './user-queries.ts'

/** Implemented by src/sessions, which may import src/users but not the reverse. */
export type SessionHooks = {
  /** Ends all sessions, and the logins of command lines. @returns the ids of the API keys of those */
  endSessions(tx: Tx, userId: string, reason: string): Promise<string[]>
  /**
   * Revokes the API keys of a person's command-line logins, and those not fetched yet, except for these companies.
   * @returns the ids of the keys
   */
  endDeviceLogins(tx: Tx, userId: string, but: readonly string[]): Promise<string[]>
  forgetSessions(): void
  sendInvitation(tx: Tx, user: User, by: { inviter: string; company: string }): Promise<void>
  resetTwoFactor(tx: Tx, user: User, context: AnyContext): Promise<void>
}

export type UserDeps = {
  db: Db
  clock: Clock
  audit: Audit
  mailer: Mailer
  config: Pick<Config, 'officeUrl'>
  hooks: SessionHooks
}

/** Those of a company or of an association: both have the same rights, and each its own word for who leads it. */
const rolesOf = (kind: UserCompany['kind']): readonly UserRole[] =>
  COMPANY_ROLES.filter((role) => role !== (kind === 'association' ? 'Manager' : 'Association'))

/** @throws VALIDATION_FAILED */
export function checkRoleOf(kind: UserCompany['kind'], role: UserRole): void {
  const roles = rolesOf(kind)
  if (!roles.includes(role)) throw invalid('role', `must be one of: ${roles.join(', ')}`)
}

/** May this actor manage that user? To others the user does not exist. */
function manages(actor: Actor, user: User): boolean {
  if (actor.role === 'SuperAdmin') return true
  return user.company !== null && COMPANY_ROLES.includes(user.role) && sees(actor, user.company.id)
}

const ENDED =
  'This account has ended for good: an invitation took its address. The owner of the address has another account now.'

/**
 * The user, locked together with the actor: two people who take each other's rights act one after the other.
 * @throws OBJECT_NOT_FOUND; OBJECT_CONFLICT for an account that was replaced; UNAUTHORIZED if the actor lost the own
 * rights a moment ago
 */
async function lockManaged(tx: Tx, actor: Actor, id: string): Promise<User> {
  const locked = await queries.lockUsersById(tx, [actor.id, id])
  const user = locked.find((one) => one.id === id)
  if (!user || !manages(actor, user)) throw new AppError('OBJECT_NOT_FOUND')
  await lockActor(tx, actor, user.company?.id ?? null)
  if (isReplaced(user)) throw new AppError('OBJECT_CONFLICT', { message: ENDED })
  return user
}

export const entryOf = (user: User, action: string) => ({
  action,
  companyId: user.company?.id ?? null,
  object: `user:${user.id}`,
})

export const changeOf = (user: User): queries.UserChange => ({
  firstName: user.firstName,
  lastName: user.lastName,
  phoneNumber: user.phoneNumber,
  phoneNumberCountry: user.phoneNumberCountry,
  lang: user.lang,
  role: user.role,
  disabledAt: user.disabledAt,
  twoFactorEnabled: user.twoFactorEnabled,
})

export async function readAgain(tx: Tx, id: string): Promise<User> {
  const user = await queries.findUserById(tx, id)
  if (!user) throw new AppError('OBJECT_NOT_FOUND')
  return user
}

/** The caller's own profile, available even before approval. @throws UNAUTHORIZED */
export async function readMe({ db }: UserDeps, actor: Actor): Promise<User> {
  const user = actor.kind === 'user' ? await queries.findUserById(db, actor.id) : undefined
  if (!user)
    throw new AppError('UNAUTHORIZED', { message: 'This needs a logged-in user, not an API key. Log in first.' })
  return user
}

export type ProfileChange = {
  firstName?: string
  lastName?: string
  phoneNumber?: string
  phoneNumberCountry?: string
  lang?: Lang
  saleMails?: boolean
}

/** @throws UNAUTHORIZED, VALIDATION_FAILED */
export async function changeMe(deps: UserDeps, context: RequestContext, change: ProfileChange): Promise<User> {
  const { actor } = context
  const me = await readMe(deps, actor)
  return deps.db.tx(async (tx) => {
    const user = (await queries.lockUserById(tx, me.id)) ?? me
    await lockActor(tx, actor, null)
    const { role, disabledAt, twoFactorEnabled } = user
    const changes = { ...changeOf(user), ...change, role, disabledAt, twoFactorEnabled }
    await queries.updateUser(tx, user.id, changes, new Date(deps.clock()))
    if (change.saleMails !== undefined) await chooseSaleMails(tx, user, change.saleMails)
    const changed = await readAgain(tx, user.id)
    const detail = { fields: Object.keys(change) }
    await deps.audit.write(tx, context, { ...entryOf(user, 'user.change-profile'), detail })
    return changed
  })
}

export type UserListQuery = {
  companyId?: string
  role?: string
  search?: string
  pending?: boolean
  page: number
  limit: number
}
export type UserPage = { users: User[]; total: number; page: number; limit: number }

export async function listUsers({ db }: UserDeps, actor: Actor, query: UserListQuery): Promise<UserPage> {
  const { page, limit } = query
  const filter: queries.UserFilter = {
    companyIds: companiesSeen(actor, query.companyId),
    role: query.role ?? null,
    search: filterText(query.search),
    pendingOnly: query.pending ?? false,
  }
  const [users, total] = await Promise.all([
    queries.listUsers(db, filter, { limit, offset: (page - 1) * limit }),
    queries.countUsers(db, filter),
  ])
  return { users, total, page, limit }
}

export async function readUser({ db }: UserDeps, actor: Actor, id: string): Promise<User> {
  const user = await queries.findUserById(db, id)
  if (!user || (user.id !== actor.id && !manages(actor, user))) throw new AppError('OBJECT_NOT_FOUND')
  return user
}

/** Who decides about money changes only after a fresh second factor, whichever way. @throws STEP_UP_REQUIRED */
export function checkFreshForMoney(actor: Actor, roles: readonly UserRole[], nowMs: number): void {
  if (roles.some(decidesAboutMoney) && !hasFreshFactor(actor, nowMs)) throw new AppError('STEP_UP_REQUIRED')
}

/** Writes the change, and what follows from a new role. */
export async function applyChange(
  tx: Tx,
  actor: Actor,
  user: User,
  change: queries.UserChange,
  at: Date,
): Promise<void> {
  const { id } = user
  const { role } = change
  const twoFactorEnabled = user.twoFactorEnabled || TWO_FACTOR_ROLES.includes(role)
  await queries.updateUser(tx, id, { ...change, twoFactorEnabled }, at)
  if (role === user.role) return
  // a SuperManager loses the companies together with the role, a Cashier the tills; neither comes back with it
  await queries.deleteSuperManagerCompanies(tx, id)
  await queries.deleteTills(tx, id)
  // whoever grants an account its say about money counts as its creator from then on
  // and whoever lets an applicant in, as with an approval
  const isLetIn = user.approvedAt === null
  if (isLetIn || decidesAboutMoney(role)) await updateUserMaker(tx, id, actor.id)
  if (isLetIn) await queries.updateUserApproved(tx, id, at)
}

/**
 * A manager approves a Cashier or an Observer. Idempotent.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT if disabled or replaced
 */
export async function approveUser(deps: UserDeps, context: RequestContext, id: string): Promise<User> {
  const { actor } = context
  return deps.db.tx(async (tx) => {
    const user = await lockManaged(tx, actor, id)
    if (!isApplicant(user)) return user
    if (user.disabledAt !== null)
      throw new AppError('OBJECT_CONFLICT', { message: 'This account is disabled. Enable it, then approve it.' })
    await queries.updateUserApproved(tx, id, new Date(deps.clock()))
    await updateUserMaker(tx, id, actor.id)
    tx.afterCommit(() => deps.hooks.forgetSessions())
    const data = { name: user.firstName, company: user.company?.name ?? '' }
    await deps.mailer.send(tx, { to: user.email, lang: user.lang, kind: 'accountApproved', data })
    const approved = await readAgain(tx, id)
    await context.remember(tx, viewUser(approved))
    await deps.audit.write(tx, context, entryOf(user, 'user.approve'))
    return approved
  })
}

export type ManagedChange = { firstName?: string; lastName?: string; role?: UserRole; disabled?: boolean }

/** @throws VALIDATION_FAILED */
function checkRoleChange(actor: Actor, { company }: User, role: UserRole): void {
  const isOperators = !COMPANY_ROLES.includes(role)
  if (isOperators && actor.role === 'SuperAdmin') return
  if (company === null) throw invalid('role', `${role} needs a company; invite the person into one instead`)
  checkRoleOf(company.kind, role)
}

/**
 * Renames, disables or enables a user, or changes the role. A new role or disabling ends the user's sessions at once,
 * including those of command lines; API keys of the company's servers stay.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT for the caller's own account or a replaced one, VALIDATION_FAILED,
 * STEP_UP_REQUIRED
 */
export async function changeUser(
  deps: UserDeps,
  context: RequestContext,
  id: string,
  change: ManagedChange,
): Promise<User> {
  const { actor } = context
  const { db, clock, hooks } = deps
  return db.tx(async (tx) => {
    const user = await lockManaged(tx, actor, id)
    const touchesAccess = change.role !== undefined || change.disabled !== undefined
    if (touchesAccess && user.id === actor.id) {
      throw new AppError('OBJECT_CONFLICT', {
        message: 'You cannot change your own role or disable yourself. Ask another manager.',
      })
    }
    const role = change.role ?? user.role
    if (role !== user.role) checkRoleChange(actor, user, role)
    const isDisabled = user.disabledAt !== null
    if (role !== user.role || (change.disabled ?? isDisabled) !== isDisabled)
      checkFreshForMoney(actor, [user.role, role], clock())
    const at = new Date(clock())
    const disabledAt =
      change.disabled === undefined ? user.disabledAt : change.disabled ? (user.disabledAt ?? at) : null
    const { firstName = user.firstName, lastName = user.lastName } = change
    // those of a SuperManager go with the role
    const lostCompanies = role === user.role ? [] : await queries.listSuperManagerCompanies(tx, id)
    await applyChange(tx, actor, user, { ...changeOf(user), firstName, lastName, role, disabledAt }, at)
    const endedKeys = touchesAccess ? await hooks.endSessions(tx, id, 'role or access changed') : []
    const changed = await readAgain(tx, id)
    const disabled = disabledAt !== null
    const before = {
      ...(role !== user.role && { roleBefore: user.role }),
      ...(disabled !== isDisabled && { disabledBefore: isDisabled }),
    }
    const lists = { ...(lostCompanies.length > 0 && { lostCompanies }), ...(endedKeys.length > 0 && { endedKeys }) }
    const detail = { role, disabled, ...before, ...lists }
    await deps.audit.write(tx, context, { ...entryOf(user, 'user.change'), detail })
    return changed
  })
}

/** Replaces the list of companies that a SuperManager manages. @throws OBJECT_NOT_FOUND, VALIDATION_FAILED */
export async function attachCompanies(
  deps: UserDeps,
  context: RequestContext,
  id: string,
  companyIds: readonly string[],
): Promise<string[]> {
  const { actor } = context
  const wanted = [...new Set(companyIds)]
  return deps.db.tx(async (tx) => {
    const user = await lockManaged(tx, actor, id)
    if (user.role !== 'SuperManager') {
      throw new AppError('OBJECT_CONFLICT', {
        message: 'Only a SuperManager can be attached to companies. Change the role first.',
      })
    }
    const known = new Set(await queries.listSuperManagerCompanies(tx, id))
    // an accomplice would want one more company; taking one away need not wait for a code
    const added = wanted.filter((companyId) => !known.has(companyId))
    if (added.length > 0) checkFreshForMoney(actor, [user.role], deps.clock())
    await queries.deleteSuperManagerCompanies(tx, id)
    const count = await queries.insertSuperManagerCompanies(tx, id, wanted)
    if (count !== wanted.length) throw invalid('companies', 'contains the id of a company that does not exist')
    const endedKeys = await deps.hooks.endDeviceLogins(tx, id, wanted)
    tx.afterCommit(() => deps.hooks.forgetSessions())
    await deps.audit.write(tx, context, {
      ...entryOf(user, 'user.attach-companies'),
      detail: { companies: wanted, added, ...(endedKeys.length > 0 && { endedKeys }) },
    })
    return wanted
  })
}

/** For a user who lost their phone: codes come by e-mail again, and all sessions end. */
export async function resetTwoFactor(deps: UserDeps, context: RequestContext, id: string): Promise<void> {
  const { actor } = context
  await deps.db.tx(async (tx) => {
    const user = await lockManaged(tx, actor, id)
    await deps.hooks.endSessions(tx, id, 'second factor reset')
    await context.remember(tx, null)
    await deps.hooks.resetTwoFactor(tx, user, context)
  })
}

export const listAttached = ({ db }: UserDeps, id: string): Promise<string[]> =>
  queries.listSuperManagerCompanies(db, id)
