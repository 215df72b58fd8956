import type { Actor } from '../http/actor.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { formatDecimal, parseDecimal } from '../kernel/money.ts'

/** Roles that may refund and can be limited; `Service` is what API keys are. A SuperAdmin has no limit. */
export const LIMITED_ROLES = ['SuperManager', 'Manager', 'Association', 'Service'] as const
export type LimitedRole = (typeof LIMITED_ROLES)[number]

/** The most that a role may refund without approval, at once and in any 24 hours: USDC, null for no limit. */
export type RefundLimit = { single: string | null; day: string | null }
export type RefundLimits = Partial<Record<LimitedRole, RefundLimit>>

/** As requests send it; null removes a role's limits. */
export type RefundLimitsChange = Record<string, { single?: string | null; day?: string | null } | null>

const isLimited = (role: string): role is LimitedRole => LIMITED_ROLES.some((known) => known === role)

/**
 * No user can raise their own limit: a SuperAdmin sets all limits, a SuperManager those of the roles below.
 * @throws FORBIDDEN
 */
function checkRank(actor: Actor, roles: readonly string[]): void {
  if (actor.role === 'SuperAdmin') return
  if (actor.role === 'SuperManager' && !roles.includes('SuperManager')) return
  const who = roles.includes('SuperManager') ? 'a SuperAdmin' : 'a SuperAdmin, or a SuperManager of the company,'
  throw new AppError('FORBIDDEN', { message: `Only ${who} may change the refund limits of ${roles.join(', ')}.` })
}

function readLimit(path: string, text: string | null | undefined): bigint | null {
  if (text === null || text === undefined) return null
  const units = parseDecimal(text, 6)
  if (units === undefined)
    throw invalid(path, 'must be USDC as decimal text with at most 6 digits after the point, or null for no limit')
  return units
}

function readRole(role: LimitedRole, { single, day }: NonNullable<RefundLimitsChange[string]>): RefundLimit {
  const path = `refundLimits.${role}`
  const [singleUnits, dayUnits] = [readLimit(`${path}.single`, single), readLimit(`${path}.day`, day)]
  if (singleUnits === null && dayUnits === null)
    throw invalid(path, 'must have single, day or both; null removes the limits')
  if (singleUnits !== null && dayUnits !== null && dayUnits < singleUnits)
    throw invalid(`${path}.day`, 'must not be less than single: no refund could then use the single limit')
  const write = (units: bigint | null): string | null => (units === null ? null : formatDecimal(units, 6))
  return { single: write(singleUnits), day: write(dayUnits) }
}

/**
 * The limits after a change; roles that the change leaves out keep theirs.
 * @throws VALIDATION_FAILED at the field, FORBIDDEN
 */
export function changeRefundLimits(actor: Actor, limits: RefundLimits, change: RefundLimitsChange): RefundLimits {
  const changed = { ...limits }
  for (const [role, limit] of Object.entries(change)) {
    if (!isLimited(role))
      throw invalid(
        `refundLimits.${role}`,
        `is not a role with refund limits. Choose from: ${LIMITED_ROLES.join(', ')}`,
      )
    if (limit === null) delete changed[role]
    else changed[role] = readRole(role, limit)
  }
  checkRank(actor, Object.keys(change))
  return changed
}
