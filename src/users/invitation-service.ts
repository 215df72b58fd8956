import { lockActor } from '../companies/company-scope.ts'
import { brokenConstraint, type Tx } from '../db/db.ts'
import { type Actor, sees, type UserRole } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Lang } from '../kernel/lang.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import { findCompanyName } from './registration-queries.ts'
import { isReplaceable } from './replaceable.ts'
import { COMPANY_ROLES, isInvited, NO_PASSWORD, TWO_FACTOR_ROLES, type User, viewUser } from './user.ts'
import * as queries from './user-queries.ts'
import {
  applyChange,
  changeOf,
  checkFreshForMoney,
  checkRoleOf,
  entryOf,
  readAgain,
  readMe,
  type UserDeps,
} from './user-service.ts'

export type Invitation = {
  email: string
  firstName: string
  lastName: string
  role: UserRole
  companyId?: string
  lang?: Lang
}

/** The company to invite into: the actor's own, or a named one that the actor can see. @throws OBJECT_NOT_FOUND */
async function findInvitingCompany({ db }: UserDeps, actor: Actor, companyId: string | undefined) {
  const id = companyId ?? actor.companyId
  if (id === null) throw invalid('companyId', 'is required for your role: the company to invite into')
  const company = sees(actor, id) ? await findCompanyName(db, id) : undefined
  if (!company)
    throw new AppError('OBJECT_NOT_FOUND', { message: 'No company in your account has this id. See GET /companies.' })
  return company
}

/**
 * Invited into the same company, and the link was never used: it may be lost or expired, or the invitation was wrong.
 * Between a company's roles the actor may choose again.
 */
const isInvitedAs = (user: User, role: UserRole, companyId: string | null): boolean =>
  isInvited(user) &&
  user.disabledAt === null &&
  (user.role === role || (COMPANY_ROLES.includes(user.role) && COMPANY_ROLES.includes(role))) &&
  (user.company?.id ?? null) === companyId

type Invited = { known: User | null; holder: User | null }

/**
 * The account that the same company invited before, and the one that holds the address, both locked with the actor's.
 * @throws EMAIL_ALREADY_REGISTERED for an address whose account stays
 */
async function lockInvited(
  tx: Tx,
  actor: Actor,
  { email, role, companyId }: { email: string; role: UserRole; companyId: string | null },
): Promise<Invited> {
  const emailKey = emailKeyOf(email)
  const found = [
    await queries.findUserByEmailKey(tx, emailKey),
    await queries.findClaim(tx, emailKey, companyId),
  ].flatMap((user) => user ?? [])
  const locked = await queries.lockUsersById(tx, [actor.id, ...found.map(({ id }) => id)])
  await lockActor(tx, actor, companyId)
  const holder = locked.find((user) => user.emailKey === emailKey) ?? null
  if (holder && isInvitedAs(holder, role, companyId)) return { known: holder, holder }
  // the same answer for all other accounts that stay, whatever they are
  if (found.length > 0 && !(holder && (await isReplaceable(tx, holder)))) throw new AppError('EMAIL_ALREADY_REGISTERED')
  const claim = locked.find(({ claimedEmailKey }) => claimedEmailKey === emailKey)
  if (claim && !isInvitedAs(claim, role, companyId)) throw new AppError('EMAIL_ALREADY_REGISTERED')
  return { known: claim ?? null, holder }
}

/**
 * Creates an approved account without a password. The mailed link lets its owner choose one and verifies the address.
 * Who has not used the link yet gets a new one, and what this invitation says about the person replaces the earlier.
 * Over an account that may be replaced (`isReplaceable`) the invited one waits beside it: only the link replaces it.
 * @throws EMAIL_ALREADY_REGISTERED, FORBIDDEN for a role that the actor cannot assign, STEP_UP_REQUIRED,
 * TOO_MANY_REQUESTS, UNAUTHORIZED, VALIDATION_FAILED for a role of the other kind of company
 */
export async function inviteUser(deps: UserDeps, context: RequestContext, body: Invitation): Promise<User> {
  const { actor } = context
  const { db, clock, hooks } = deps
  const operatorOnly = !COMPANY_ROLES.includes(body.role)
  if (operatorOnly && (actor.role !== 'SuperAdmin' || body.role !== 'SuperManager')) {
    throw new AppError('FORBIDDEN', {
      message: `You cannot invite a ${body.role}. Choose: ${COMPANY_ROLES.join(', ')}.`,
    })
  }
  const company = operatorOnly ? null : await findInvitingCompany(deps, actor, body.companyId)
  if (company) checkRoleOf(company.kind, body.role)
  const at = new Date(clock())
  const inviter = (await readMe(deps, actor)).firstName
  const companyId = company?.id ?? null
  return db.tx(async (tx) => {
    const { known, holder } = await lockInvited(tx, actor, { ...body, companyId })
    checkFreshForMoney(actor, known ? [known.role, body.role] : [body.role], at.getTime())
    const id = known?.id ?? newId(at.getTime())
    if (known) {
      const { firstName, lastName, role, lang = known.lang } = body
      await applyChange(tx, actor, known, { ...changeOf(known), firstName, lastName, role, lang }, at)
    } else await insertInvited(tx, body, { id, companyId, isOver: holder !== null, madeBy: actor.id, at })
    const user = await readAgain(tx, id)
    await hooks.sendInvitation(tx, user, { inviter, company: company?.name ?? 'Comptoir' })
    await context.remember(tx, viewUser(user))
    const before = known && known.role !== user.role ? { roleBefore: known.role } : {}
    await deps.audit.write(tx, context, { ...entryOf(user, 'user.invite'), detail: { role: user.role, ...before } })
    return user
  })
}

async function insertInvited(
  tx: Tx,
  body: Invitation,
  { id, isOver, at, ...made }: { id: string; companyId: string | null; isOver: boolean; madeBy: string; at: Date },
): Promise<void> {
  const emailKey = emailKeyOf(body.email)
  const keys = isOver ? { emailKey: `claim:${id}`, claimedEmailKey: emailKey } : { emailKey, claimedEmailKey: null }
  await queries
    .insertUser(tx, {
      id,
      email: body.email.trim(),
      ...keys,
      passwordHash: NO_PASSWORD,
      firstName: body.firstName,
      lastName: body.lastName,
      role: body.role,
      phoneNumber: null,
      phoneNumberCountry: null,
      lang: body.lang ?? 'en',
      verifiedAt: null,
      approvedAt: at,
      twoFactorEnabled: TWO_FACTOR_ROLES.includes(body.role),
      createdAt: at,
      ...made,
    })
    .catch((error: unknown) => {
      const isTaken = ['users_email_key_key', 'users__claim'].includes(brokenConstraint(error) ?? '')
      throw isTaken ? new AppError('EMAIL_ALREADY_REGISTERED') : error
    })
}
