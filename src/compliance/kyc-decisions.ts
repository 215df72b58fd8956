import { lockActor } from '../companies/company-scope.ts'
import type { Tx } from '../db/db.ts'
import type { RequestContext } from '../http/request-context.ts'
import { DAY } from '../kernel/clock.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { formatDecimal, parseDecimal } from '../kernel/money.ts'
import { type EddOutcome, isEddAsked, type Kyc, type KycState } from './kyc.ts'
import { listWaitingOrders } from './kyc-queries.ts'
import { findByHandFault, maySetLimit } from './kyc-rules.ts'
import { type Change, changeKyc, findSeenKyc, type KycDeps, lockSeenKyc, openEmail } from './kyc-service.ts'
import { completeEdd, NOTHING, openEdd } from './kyc-states.ts'
import { viewKyc } from './kyc-views.ts'

type Deciding = {
  context: RequestContext
  id: string
  reason?: string | undefined
  /** Of the check that the person saw. */
  updatedAt?: string | undefined
}
type Work = (tx: Tx, kyc: Kyc) => Promise<Change | null>

/** One manual decision in one transaction; null: the check is already in that state. */
async function decide(deps: KycDeps, { context, id, reason, updatedAt }: Deciding, work: Work): Promise<Kyc> {
  const { companyId } = await findSeenKyc(deps, context.actor, id)
  return deps.db.tx(async (tx) => {
    await lockActor(tx, context.actor, companyId)
    const kyc = await lockSeenKyc(tx, context.actor, id)
    const change = await work(tx, kyc)
    if (!change) {
      await context.remember(tx, viewKyc(kyc))
      return kyc
    }
    if (updatedAt !== undefined && Date.parse(updatedAt) !== kyc.updatedAt.getTime())
      throw conflict('The check has changed. Read it again, then repeat.')
    const cause = { by: context, reason: reason ?? null }
    const changed = await changeKyc(deps, tx, kyc, { ...change, cause })
    await context.remember(tx, viewKyc(changed))
    return changed
  })
}

const conflict = (message: string): AppError => new AppError('OBJECT_CONFLICT', { message })

/** Decides a check that no provider decides. @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT */
export async function decideByHand(deps: KycDeps, deciding: Deciding, status: 'approved' | 'refused'): Promise<Kyc> {
  return decide(deps, deciding, async (_, kyc) => {
    const fault = findByHandFault(deps, deciding.context.actor, kyc)
    if (fault !== null) throw conflict(fault)
    if (kyc.status === status) return null
    const { eddStatus, eddOutcome, spendingLimit } = kyc
    const state: KycState = { status, eddStatus, eddOutcome, spendingLimit }
    return { state, trigger: status === 'approved' ? 'approve' : 'refuse', nextCheckAt: null }
  })
}

/** @throws OBJECT_CONFLICT */
function checkApproved({ status }: Kyc): void {
  if (status !== 'approved')
    throw conflict(`The check is ${status}. Enhanced due diligence needs an approved check; approve it first.`)
}

/** EUR with two digits. @throws VALIDATION_FAILED */
function readLimit(text: string): string {
  const units = parseDecimal(text, 2)
  if (units === undefined || text.length > 18)
    throw invalid('spendingLimit', 'must be decimal text in EUR, such as 50000.00')
  return formatDecimal(units, 2)
}

/**
 * Requests EDD for a payer who passed the basic check. @param limit what the payer may spend once the provider
 * approves; only a SuperAdmin sets it, otherwise a SuperAdmin completes the EDD
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, FORBIDDEN
 */
export async function requestEdd(deps: KycDeps, deciding: Deciding, limit: string | undefined): Promise<Kyc> {
  const { actor } = deciding.context
  if (limit !== undefined && !maySetLimit(actor))
    throw new AppError('FORBIDDEN', {
      message: 'Only a SuperAdmin sets a spendingLimit. Leave it out, or ask the operator.',
    })
  const eddLimit = limit === undefined ? null : readLimit(limit)
  return decide(deps, deciding, async (tx, kyc) => {
    checkApproved(kyc)
    const isAsked = isEddAsked(kyc)
    if (isAsked && eddLimit === null) return null
    const [order] = await listWaitingOrders(tx, kyc, 1)
    const email = openEmail(deps, kyc)
    const state = openEdd(kyc, kyc.eddStatus === 'pending' ? 'pending' : 'requested')
    if (order && email !== null && !isAsked) await deps.askPayer(tx, order, { ...kyc, ...state }, email)
    const nextCheckAt = kyc.provider === 'manual' ? null : new Date(deps.clock())
    return { state, trigger: 'requestEdd', eddLimit, nextCheckAt }
  })
}

/** Completes EDD, by a SuperAdmin. @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, VALIDATION_FAILED */
export async function finishEdd(
  deps: KycDeps,
  deciding: Deciding,
  { outcome, spendingLimit }: { outcome: EddOutcome; spendingLimit?: string | undefined },
): Promise<Kyc> {
  if (outcome === 'approved' && spendingLimit === undefined)
    throw invalid('spendingLimit', 'is required with the outcome approved: EUR that the payer may spend in 30 days')
  const limit = spendingLimit === undefined ? NOTHING : readLimit(spendingLimit)
  return decide(deps, deciding, async (_, kyc) => {
    checkApproved(kyc)
    if (!isEddAsked(kyc))
      throw conflict(`Enhanced due diligence is ${kyc.eddStatus}; there is nothing to complete. Request it first.`)
    const nextCheckAt = kyc.provider === 'manual' ? null : new Date(deps.clock() + DAY)
    return { state: completeEdd(kyc, outcome, limit), trigger: 'completeEdd', nextCheckAt }
  })
}
