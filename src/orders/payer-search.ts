import type { RequestContext } from '../http/request-context.ts'

export type FoundOrders = {
  /** The companies that were searched. Null: all. */
  companyIds: readonly string[] | null
  /** How many orders in each company that has some. */
  found: readonly { companyId: string; orders: number }[]
}

/** Orders by their payer's e-mail. What is kept of payers is not this room's business, so it is passed in. */
export type PayerSearch = {
  /** The keys under which an e-mail may be stored. */
  keysOf(email: string): readonly string[]
  /**
   * Audits a search, in each company in which orders were found; call it before its result is shown.
   * @throws UNAUTHORIZED if the session has ended, or the person lost the role or one of the companies
   */
  note(context: RequestContext, found: FoundOrders): Promise<void>
}
