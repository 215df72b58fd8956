import type { Tx } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { hasFreshFactor } from '../../http/permissions.ts'
import { DAY } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { formatDecimal, parseMoney } from '../../kernel/money.ts'
import type { RefundApproval } from '../refund-queries.ts'
import { findRefundPolicy, lockRefundDay, type RoleLimit, sumRefundsOfDay } from './limit-queries.ts'

const text = (units: bigint): string => `${formatDecimal(units, 6)} USDC`
const read = (limit: string | null | undefined): bigint | null =>
  limit === null || limit === undefined ? null : parseMoney(limit, 'USDC').units

/** Large refunds need a person with a fresh second factor; a server's key is not enough. */
function checkStepUp(actor: Actor, units: bigint, limitUnits: bigint, nowMs: number): void {
  if (units <= limitUnits) return
  if (actor.kind === 'apiKey') {
    throw new AppError('FORBIDDEN', {
      message: `Refunds above ${text(limitUnits)} need a person: log in and confirm with a second factor.`,
    })
  }
  checkFreshFactor(actor, nowMs)
}

/** @throws STEP_UP_REQUIRED */
export function checkFreshFactor(actor: Actor, nowMs: number): void {
  if (!hasFreshFactor(actor, nowMs)) throw new AppError('STEP_UP_REQUIRED')
}

/** A Manager and an Association have the same rights, and the people of either kind create the API keys. */
const SHARE_LIMIT = ['Manager', 'Association', 'Service']

/** One of these roles without a limit of its own has the limit of the others. */
function limitOf(role: string, limits: Record<string, RoleLimit>): RoleLimit | undefined {
  return limits[role] ?? (SHARE_LIMIT.includes(role) ? (limits.Manager ?? limits.Association) : undefined)
}

/** The limit that the refund exceeds, as text; undefined if it fits. Locks the spender’s day until the commit. */
async function findExcess(
  tx: Tx,
  actor: Actor,
  refund: { companyId: string; units: bigint; limit: RoleLimit; now: Date },
): Promise<string | undefined> {
  const { companyId, units, limit, now } = refund
  const [single, day] = [read(limit.single), read(limit.day)]
  if (single !== null && units > single) return `at most ${text(single)} at once`
  if (day === null) return undefined
  // all keys of a company share one limit, because anyone with a key can create another
  const requestedBy = actor.role === 'Service' ? null : `${actor.kind}:${actor.id}`
  await lockRefundDay(tx, companyId, requestedBy ?? 'Service')
  const since = new Date(now.getTime() - DAY)
  const spent = await sumRefundsOfDay(tx, { companyId, requestedBy, since })
  if (spent + units <= day) return undefined
  return `at most ${text(day)} in 24 hours, of which ${text(spent)} are used`
}

/**
 * Whether the refund is allowed, and who must approve it first. A refund that waits for approval does not count towards
 * the role's daily limit. An API key over its limit is refused at once instead, because a program should learn it
 * immediately.
 * @throws FORBIDDEN, STEP_UP_REQUIRED
 */
export async function decideApproval(
  tx: Tx,
  actor: Actor,
  refund: { companyId: string; units: bigint; now: Date },
): Promise<RefundApproval | null> {
  const policy = await findRefundPolicy(tx, refund.companyId)
  checkStepUp(actor, refund.units, BigInt(policy.refundLimitUnits), refund.now.getTime())
  const limit = actor.role === 'SuperAdmin' ? undefined : limitOf(actor.role, policy.refundLimits)
  const excess = limit && (await findExcess(tx, actor, { ...refund, limit }))
  if (excess !== undefined && actor.role === 'Service') {
    const message = `Servers of this company may refund ${excess}. Refund it as a person: log in; it then waits for approval.`
    throw new AppError('FORBIDDEN', { message })
  }
  if (policy.refundApproval) return 'company'
  return excess === undefined ? null : 'limit'
}
