import type { UserRole } from '../http/actor.ts'
import type { Lang } from '../kernel/lang.ts'
import type { Static } from '../kernel/schema.ts'
import type { UserSchema } from './user-schemas.ts'

export type UserCompany = {
  id: string
  name: string
  kind: 'company' | 'association'
  country: string | null
  siret: string | null
  approved: boolean
  settlementAddress: string | null
  settlementNetwork: number | null
}

export type User = {
  id: string
  email: string
  emailKey: string
  /** Of an invitation over another account (`isReplaceable`): the key that it takes once accepted. */
  claimedEmailKey: string | null
  passwordHash: string
  firstName: string
  lastName: string
  role: UserRole
  phoneNumber: string | null
  phoneNumberCountry: string | null
  lang: Lang
  verifiedAt: Date | null
  approvedAt: Date | null
  disabledAt: Date | null
  twoFactorEnabled: boolean
  totpEnabled: boolean
  passkeyEnabled: boolean
  /** Wants a mail for each sale of the company. */
  saleMails: boolean
  lastConnectionAt: Date | null
  createdAt: Date
  /** Who registered, invited or approved the account; null: it registered itself, and a manager so its company. */
  madeBy: string | null
  /** Public id of this user's newest working API key. */
  apiKey: string | null
  company: UserCompany | null
}

/** Roles that get a second factor from the start. */
export const TWO_FACTOR_ROLES: readonly UserRole[] = ['SuperAdmin', 'SuperManager', 'Manager', 'Cashier', 'Observer']

/** Roles inside one company, assigned by its managers. */
export const COMPANY_ROLES: readonly UserRole[] = ['Manager', 'Association', 'Cashier', 'Observer']

/** Roles that a Manager of the company must approve. */
const APPROVED_ROLES: readonly UserRole[] = ['Cashier', 'Observer']

/** Named a company at registration, and none of its managers has let the person in yet. */
export const isApplicant = ({ role, approvedAt }: Pick<User, 'role' | 'approvedAt'>): boolean =>
  APPROVED_ROLES.includes(role) && approvedAt === null

type Standing = Pick<User, 'role' | 'verifiedAt' | 'approvedAt'> & { company: Pick<UserCompany, 'approved'> | null }

/** What a user still needs before the account works, as sentences; empty when nothing is missing. */
export function missingOf(user: Standing): string[] {
  const missing: string[] = []
  if (user.verifiedAt === null) missing.push('Verify the e-mail address: open the link in the mail we sent.')
  if (isApplicant(user)) missing.push('A manager of the company has to approve this account.')
  if (user.company && !user.company.approved) missing.push('The operator has to approve the company.')
  return missing
}

/** The hash of whoever has not chosen a password yet: invited, or confirmed elsewhere. No password matches it. */
export const NO_PASSWORD = '!'

/** Invited by a company or the operator, and the link was never used. */
export const isInvited = ({ passwordHash, verifiedAt }: Pick<User, 'passwordHash' | 'verifiedAt'>): boolean =>
  passwordHash === NO_PASSWORD && verifiedAt === null

/**
 * Whether the account ended when an invitation took its address: nothing it holds works again. It stays for the log,
 * and for the orders that name it. (No address has this form.)
 */
export const isReplaced = ({ id, emailKey }: Pick<User, 'id' | 'emailKey'>): boolean => emailKey === `replaced:${id}`

/** E-mail verified and, for Cashier and Observer, approved. */
export const isValidUser = (user: Standing): boolean => user.verifiedAt !== null && !isApplicant(user)

/** The company that someone belongs to: none for a SuperManager, who may have been a Manager of one. */
export const companyIdOf = (user: User): string | null =>
  user.role === 'SuperManager' ? null : (user.company?.id ?? null)

export type UserView = Static<typeof UserSchema>

/** A user's own view: until verified and approved, it shows only the company's name and kind. */
export function viewSelf(user: User): UserView {
  const { company, ...rest } = viewUser(user)
  if (company === null || isValidUser(user)) return { ...rest, company }
  const hidden = { country: null, siret: null, approved: null, settlementAddress: null, settlementNetwork: null }
  const { _id, name, kind } = company
  return { ...rest, company: { _id, name, kind, ...hidden } }
}

/** The view of a manager of the user. */
export function viewUser(user: User): UserView {
  const { company } = user
  return {
    _id: user.id,
    email: user.email,
    firstName: user.firstName,
    lastName: user.lastName,
    role: user.role,
    phoneNumber: user.phoneNumber,
    apiKey: user.apiKey,
    valid: isValidUser(user),
    invited: isInvited(user),
    twoFactorAuthEnabled: user.twoFactorEnabled,
    authenticatorEnabled: user.totpEnabled,
    passkeyEnabled: user.passkeyEnabled,
    saleMails: user.saleMails,
    lastConnection: user.lastConnectionAt?.toISOString() ?? null,
    lang: user.lang,
    disabled: user.disabledAt !== null,
    missing: missingOf(user),
    company: company && {
      _id: company.id,
      name: company.name,
      kind: company.kind,
      country: company.country,
      siret: company.siret,
      approved: company.approved,
      settlementAddress: company.settlementAddress,
      settlementNetwork: company.settlementNetwork,
    },
  }
}
