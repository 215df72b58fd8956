import type { Actor } from '../http/actor.ts'
import { checkPermission } from '../http/permissions.ts'
import type { RequestContext } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import type { PayerFilter } from './order-payer-queries.ts'

export type FoundOrders = {
  /** The companies that were searched. Null: all. */
  companyIds: readonly string[] | null
  /** How many orders in each company that has some. */
  found: readonly { companyId: string; orders: number }[]
  /** What was asked for. */
  as: 'list' | 'links' | 'csv' | 'xlsx'
}

/** Orders by their payer's e-mail. What is kept of payers is not this room's business, so it is passed in. */
export type PayerSearch = {
  /** The keys under which an e-mail may be stored. */
  keysOf(email: string): readonly string[]
  /**
   * Audits a search; call it before its result is shown.
   * @throws UNAUTHORIZED if the session has ended, or the person lost the role or the company
   */
  note(context: RequestContext, found: FoundOrders): Promise<void>
}

/** Whoever may not read who pays must not learn it by asking who paid what. @throws FORBIDDEN */
function checkMaySearch(actor: Actor): void {
  try {
    checkPermission('payers.read', actor, Date.now())
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'FORBIDDEN') throw error
    const message = `Finding orders by payerEmail needs the right to read payer information. ${error.message}`
    throw new AppError('FORBIDDEN', { message })
  }
}

/** @throws FORBIDDEN */
export function payerFilterOf(payers: PayerSearch, actor: Actor, email: string | undefined): PayerFilter | null {
  if (email === undefined) return null
  checkMaySearch(actor)
  return { keys: payers.keysOf(email), codes: null }
}
