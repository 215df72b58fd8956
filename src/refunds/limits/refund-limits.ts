import type { Tx } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { hasFreshFactor } from '../../http/permissions.ts'
import { DAY } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { formatDecimal, parseMoney } from '../../kernel/money.ts'
import { findKeyMaker, listAccountsOfPerson } from '../../users/maker-queries.ts'
import type { RefundApproval } from '../refund-queries.ts'
import { findRefundPolicy, listSpentSince, lockRefundDay, type RoleLimit, type Spent } from './limit-queries.ts'

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

/** USDC units in 24 hours; null: no limit. */
type Day = bigint | null

const dayOf = (role: string, limits: Record<string, RoleLimit>): Day => read(limitOf(role, limits)?.day)

const larger = (one: Day, other: Day): Day => (one === null || other === null ? null : one > other ? one : other)

/** Of the person who created the key; one whose role has no limit any more keeps that of the managers. */
function dayOfMaker(role: string, limits: Record<string, RoleLimit>): Day {
  if (role === 'SuperAdmin') return null
  return dayOf(role === 'SuperManager' || SHARE_LIMIT.includes(role) ? role : 'Manager', limits)
}

const sum = (spent: readonly Spent[]): bigint => spent.reduce((total, { units }) => total + units, 0n)

/** What this person has spent under any account, and through the keys of all of them. */
async function listSpentOf(tx: Tx, personId: string, spent: readonly Spent[]): Promise<Spent[]> {
  const others = spent.flatMap((one) => one.personId ?? [])
  const accounts = await listAccountsOfPerson(tx, personId, others)
  return spent.filter((one) => one.personId !== null && accounts.has(one.personId))
}

const WITH_MAKER = ', those of the person who made this key included'

type Spending = { companyId: string; units: bigint; limits: Record<string, RoleLimit>; now: Date }

/**
 * The daily limit that the refund exceeds, as text. A person's accounts share the limit of a role, and so do the keys
 * of a company. What a person spends in both ways fits the larger of the two: whoever may make keys and invite would
 * otherwise multiply the limit.
 */
async function findDayExcess(tx: Tx, actor: Actor, refund: Spending): Promise<string | undefined> {
  const { companyId, units, limits, now } = refund
  const isServer = actor.role === 'Service'
  const own = dayOf(actor.role, limits)
  if (own === null) return undefined
  await lockRefundDay(tx, companyId, isServer ? 'Service' : `${actor.kind}:${actor.id}`)
  const spent = await listSpentSince(tx, companyId, new Date(now.getTime() - DAY))
  const excessOf = (day: Day, used: bigint, words = ''): string | undefined =>
    day === null || used + units <= day
      ? undefined
      : `at most ${text(day)} in 24 hours, of which ${text(used)} are used${words}`
  const servers = sum(spent.filter(({ byServer }) => byServer))
  if (isServer) {
    const maker = actor.kind === 'apiKey' ? await findKeyMaker(tx, actor.id) : undefined
    const fault = excessOf(own, servers)
    if (fault !== undefined || maker === undefined) return fault
    const day = larger(own, dayOfMaker(maker.role, limits))
    return excessOf(day, sum(await listSpentOf(tx, maker.id, spent)), WITH_MAKER)
  }
  const mine = await listSpentOf(tx, actor.id, spent)
  return (
    excessOf(own, sum(mine.filter(({ byServer }) => !byServer))) ??
    excessOf(larger(own, dayOf('Service', limits)), sum(mine))
  )
}

/** The limit that the refund exceeds, as text; undefined if it fits. Locks the company’s day until the commit. */
async function findExcess(tx: Tx, actor: Actor, refund: Spending): Promise<string | undefined> {
  if (actor.role === 'SuperAdmin') return undefined
  const single = read(limitOf(actor.role, refund.limits)?.single)
  if (single !== null && refund.units > single) return `at most ${text(single)} at once`
  return findDayExcess(tx, actor, refund)
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
  const excess = await findExcess(tx, actor, { ...refund, limits: policy.refundLimits })
  if (excess !== undefined && actor.role === 'Service') {
    const message = `Servers of this company may refund ${excess}. Refund it as a person: log in; it then waits for approval.`
    throw new AppError('FORBIDDEN', { message })
  }
  if (policy.refundApproval) return 'company'
  return excess === undefined ? null : 'limit'
}
