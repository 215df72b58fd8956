import type { Audit } from '../audit/audit.ts'
import { lockActor } from '../companies/company-scope.ts'
import type { Db, Tx } from '../db/db.ts'
import { isLeased } from '../db/poll-queries.ts'
import { type Actor, sees } from '../http/actor.ts'
import { nameOf, type RequestContext } from '../http/request-context.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { acceptedWith } from './doubts.ts'
import type { WakeSubject } from './screening-polls.ts'
import {
  findScreening,
  listLatestAnswers,
  lockScreening,
  SCREENING_POLLS,
  type Screening,
  updateScreening,
} from './screening-queries.ts'

export type DecisionDeps = {
  db: Db
  clock: Clock
  audit: Audit
  wakeSubject: WakeSubject
  /** What a payment's provider blocks is returned, all or what it named. Runs in the transaction of the decision. */
  returnBlock(tx: Tx, payment: { companyId: string; id: string }, of: { isWhole: boolean; now: Date }): Promise<void>
}

const conflict = (message: string): AppError => new AppError('OBJECT_CONFLICT', { message })

/** @throws OBJECT_NOT_FOUND for another company's */
async function findSeenScreening({ db }: Pick<DecisionDeps, 'db'>, actor: Actor, id: string): Promise<Screening> {
  const screening = await findScreening(db, id)
  if (!screening || !sees(actor, screening.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return screening
}

const DECISIONS = {
  /** Continues as long as its sources say nothing else than now. What a source blocks is never released. */
  release: { status: 'released', from: ['held'] },
  /** The money does not count, and may be returned as a separate refund. */
  return: { status: 'returned', from: ['held', 'blocked'] },
} as const
export const DECISION_NAMES = ['release', 'return'] as const satisfies readonly (keyof typeof DECISIONS)[]
export type Decision = (typeof DECISION_NAMES)[number]

/** The company's payouts and the operator's own deposits are the operator's to decide. */
const isOperators = ({ purpose }: Pick<Screening, 'purpose'>): boolean =>
  purpose === 'settlement' || purpose === 'sweep'

const isFrom = ({ status }: Pick<Screening, 'status'>, decision: Decision): boolean => {
  const { from }: { from: readonly string[] } = DECISIONS[decision]
  return from.includes(status)
}

/** What this person may decide about it as it stands. */
export const decisionsOf = (actor: Actor, screening: Pick<Screening, 'status' | 'purpose'>): Decision[] =>
  isOperators(screening) && actor.role !== 'SuperAdmin'
    ? []
    : DECISION_NAMES.filter((name) => isFrom(screening, name) && (name !== 'return' || screening.purpose === 'payment'))

function checkDecidable(screening: Screening, decision: Decision, isAsked: boolean): void {
  const { status, purpose } = screening
  if (decision === 'return' && purpose !== 'payment')
    throw conflict(`Only a payment can be returned; this is a ${purpose}. Reject or cancel it instead.`)
  // a decision now would overtake an answer that the address is listed
  if (status === 'checking' || (status === 'held' && isAsked))
    throw conflict('Its sources are being asked. Try again in a moment.')
  if (isFrom(screening, decision)) return
  if (status === 'blocked')
    throw conflict('A source names this address, so it cannot be released. Return the payment, or leave it as it is.')
  throw conflict(`The screening is ${status} already. Nothing changed.`)
}

/** What its provider blocks may have become more, or less, than the person saw. */
function checkShown({ updatedAt }: Screening, shown: string | undefined): void {
  if (shown !== undefined && Date.parse(shown) !== updatedAt.getTime())
    throw conflict('The screening has changed. Read it again, then repeat.')
}

/**
 * A person decides about an address that is not cleared.
 * @param decision `updatedAt`: of the screening that the person saw
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, FORBIDDEN, UNAUTHORIZED
 */
export async function decideScreening(
  deps: DecisionDeps,
  context: RequestContext,
  id: string,
  { decision, reason, updatedAt }: { decision: Decision; reason: string; updatedAt?: string },
): Promise<void> {
  const { actor } = context
  const found = await findSeenScreening(deps, actor, id)
  if (isOperators(found) && actor.role !== 'SuperAdmin')
    throw new AppError('FORBIDDEN', { message: `Only a SuperAdmin can decide about a ${found.purpose}.` })
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, found.companyId)
    const now = new Date(deps.clock())
    await deps.wakeSubject(tx, found, now)
    const screening = await lockScreening(tx, found)
    if (!screening) throw new AppError('OBJECT_NOT_FOUND')
    checkShown(screening, updatedAt)
    checkDecidable(screening, decision, await isLeased(tx, SCREENING_POLLS.table, screening, now))
    const { status } = DECISIONS[decision]
    const accepted =
      decision === 'release'
        ? { accepted: acceptedWith(screening.accepted ?? [], await listLatestAnswers(tx, screening)) }
        : {}
    const change = { status, nextCheckAt: null, decidedBy: nameOf(context), reason, ...accepted }
    await updateScreening(tx, screening, change, now)
    const { companyId, purpose, subjectId, address, isWhole, status: before } = screening
    // a block that an older node noted counts as one of all
    if (decision === 'return' && address === null)
      await deps.returnBlock(tx, { companyId, id: subjectId }, { isWhole: isWhole !== false, now })
    await context.remember(tx, null)
    const detail = { screeningId: id, purpose, subjectId, address, isWhole, before, reason }
    await deps.audit.write(tx, context, {
      ...{ companyId, action: `screening.${decision}`, object: `screening:${id}`, detail },
    })
  })
}
