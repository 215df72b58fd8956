import type { Audit } from '../audit/audit.ts'
import { lockActor } from '../companies/company-scope.ts'
import type { Db } from '../db/db.ts'
import { type Actor, companiesSeen, sees } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import {
  type KnownDifference,
  listKnownDifferences,
  lockDifference,
  OPERATOR,
  updateDifferenceExplained,
} from './difference-queries.ts'
import { readPartSubject } from './part-refunded.ts'

export type DifferenceDeps = { db: Db; clock: Clock; audit: Audit }

const viewDifference = (difference: KnownDifference) => ({
  _id: difference.id,
  companyId: difference.companyId === OPERATOR ? null : difference.companyId,
  source: difference.source,
  subject: difference.subject,
  partRefundedOf: readPartSubject(difference.subject)?.code ?? null,
  what: difference.what,
  booked: difference.booked,
  expected: difference.expected,
  status: difference.status,
  explainedBy: difference.explainedBy,
  reason: difference.reason,
  foundAt: difference.foundAt.toISOString(),
  updatedAt: difference.updatedAt.toISOString(),
})
export type DifferenceView = ReturnType<typeof viewDifference>

export type DifferenceQuery = { companyId?: string; status?: string; page?: number; limit?: number }

/** Differences of the companies that the actor may see; only a SuperAdmin sees the operator's wallets. */
export async function listVisibleDifferences(
  { db }: DifferenceDeps,
  actor: Actor,
  { companyId, status, page = 1, limit = 20 }: DifferenceQuery,
): Promise<DifferenceView[]> {
  const companyIds = companiesSeen(actor, companyId)
  const filter = { companyIds, status: status ?? null, limit, offset: (page - 1) * limit }
  return (await listKnownDifferences(db, filter)).map(viewDifference)
}

/**
 * Records a person’s explanation. The difference stops blocking until its figures change.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, UNAUTHORIZED
 */
export async function explainDifference(
  deps: DifferenceDeps,
  context: RequestContext,
  id: string,
  { reason }: { reason: string },
): Promise<void> {
  const { actor } = context
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, null)
    const difference = await lockDifference(tx, id)
    if (!difference || !sees(actor, difference.companyId)) throw new AppError('OBJECT_NOT_FOUND')
    if (difference.status !== 'open')
      throw new AppError('OBJECT_CONFLICT', { message: `The difference is already ${difference.status}.` })
    const by = `${actor.kind}:${actor.id}`
    await updateDifferenceExplained(tx, difference, { by, reason, at: new Date(deps.clock()) })
    await context.remember(tx, null)
    const companyId = difference.companyId === OPERATOR ? null : difference.companyId
    const { subject, what, booked, expected } = difference
    const detail = { differenceId: id, subject, what, booked, expected, reason }
    await deps.audit.write(tx, context, { companyId, action: 'ledger.explain', object: `difference:${id}`, detail })
  })
}
