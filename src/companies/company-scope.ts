import type { Db, Tx } from '../db/db.ts'
import { type Actor, sees, type UserRole } from '../http/actor.ts'
import { PIN_HOLDERS } from '../http/permissions.ts'
import { AppError, invalid } from '../kernel/errors.ts'
import { findCompanyOfManager, isAttached, lockStanding } from './company-queries.ts'

/** How operators and SuperManagers choose a company: by its id, or by a manager's id or e-mail. */
export type CompanyChoice = { companyId?: string | undefined; childManager?: string | undefined }

const unknown = (): AppError =>
  new AppError('OBJECT_NOT_FOUND', {
    message: 'No company or manager in your account matches. Check companyId and childManager.',
  })

async function chosen(db: Db, actor: Actor, { companyId, childManager }: CompanyChoice): Promise<string | null> {
  if (companyId === undefined && childManager === undefined) return null
  const id = companyId ?? (await findCompanyOfManager(db, childManager ?? ''))
  if (id === undefined || !sees(actor, id)) throw unknown()
  return id
}

/**
 * The company that the request names, otherwise the actor's own; null: an operator names none.
 * @throws OBJECT_NOT_FOUND for a foreign choice
 */
export const companyNamedBy = async (db: Db, actor: Actor, choice: CompanyChoice): Promise<string | null> =>
  (await chosen(db, actor, choice)) ?? actor.companyId

/**
 * The company in which an object is created.
 * @throws OBJECT_NOT_FOUND for another company, VALIDATION_FAILED when an operator names none
 */
export async function companyFor(db: Db, actor: Actor, choice: CompanyChoice): Promise<string> {
  const id = await companyNamedBy(db, actor, choice)
  if (id !== null) return id
  throw invalid('companyId', 'is required for your role, or childManager instead: a manager of the company')
}

/** The companies whose objects a list shows; null: all. @throws OBJECT_NOT_FOUND for a foreign choice */
export async function companiesFor(db: Db, actor: Actor, choice: CompanyChoice): Promise<readonly string[] | null> {
  const id = await chosen(db, actor, choice)
  if (id !== null) return [id]
  if (actor.role === 'SuperAdmin') return null
  return actor.companyId === null ? actor.companyIds : [actor.companyId]
}

/**
 * Call this before writing, or handing out, what outlives a session: a key, a secret, an account, a factor, a
 * destination of money, an approval. A node may have read the session some seconds ago; whoever takes the person's
 * rights away either waits for this transaction or is noticed here. Call it first: rows are locked in the order person,
 * session, company, object. In any other order two requests of one person end in a deadlock, and a wait for a person
 * stops a whole company. Ask for a fresh second factor after it: from here on the actor has the one of this moment,
 * which another node may have just accepted.
 * @param companyId where the person acts; null when it is about no company
 * @throws UNAUTHORIZED if the session has ended, or the person lost the role or this company
 */
export async function lockActor(tx: Tx, actor: Actor, companyId: string | null): Promise<void> {
  if (actor.kind !== 'user') return
  const now = await lockStanding(tx, actor.id, actor.sessionId)
  // at a till Managers act as Cashiers
  const roles: readonly UserRole[] = actor.tillDeviceId === undefined ? [actor.role] : PIN_HOLDERS
  const isSame = now !== undefined && roles.includes(now.role) && now.disabledAt === null && now.sessionEndedAt === null
  const isLost = actor.role === 'SuperManager' && companyId !== null && !(await isAttached(tx, actor.id, companyId))
  if (!isSame || isLost) throw new AppError('UNAUTHORIZED', { message: 'This session has ended. Log in again.' })
  // a session that a PIN opened at a till proves none
  if (actor.tillDeviceId === undefined) actor.secondFactorAt = now.secondFactorAt?.getTime() ?? null
}
