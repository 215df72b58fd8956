import type { Queryable } from '../db/db.ts'
import type { UserRole } from '../http/actor.ts'
import { isApplicant, type User } from './user.ts'
import { hasWorked } from './user-queries.ts'

/** The operator gives these, so the operator alone takes them away. */
const OPERATOR_ROLES: readonly UserRole[] = ['SuperAdmin', 'SuperManager', 'Service']

/**
 * Anyone can register any address. Whether an invitation may replace the account that holds one, once the owner of the
 * mailbox accepts it: an account whose address was never confirmed, without a company or in one that never worked; a
 * SimpleUser without a company; or someone whom the company named in the registration has not let in, confirmed or not,
 * because anyone can name any company. A disabled account stays: otherwise an invitation would undo what its company or
 * the operator decided.
 */
export async function isReplaceable(q: Queryable, user: User): Promise<boolean> {
  const { role, company, verifiedAt, disabledAt } = user
  if (disabledAt !== null || OPERATOR_ROLES.includes(role)) return false
  if (isApplicant(user)) return true
  if (company === null) return verifiedAt === null || role === 'SimpleUser'
  return verifiedAt === null && !(await hasWorked(q, company.id, user.id))
}

/**
 * The same where nobody proves that the mailbox is theirs: an account whose address someone confirmed stays, unless it
 * waits for a company to let the person in.
 */
export const isNoOnes = async (q: Queryable, user: User): Promise<boolean> =>
  (user.verifiedAt === null || isApplicant(user)) && (await isReplaceable(q, user))
