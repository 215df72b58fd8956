import type { Queryable } from '../../../db/db.ts'
import { findPayout } from '../payout-queries.ts'
import { answersOf, type Question } from './states.ts'

/** What refunds and settlements ask about a payout by its id; no to all of it while no row is stored. */
async function isSo(
  q: Queryable,
  id: string,
  isYes: (answers: Record<Question, boolean>) => boolean,
): Promise<boolean> {
  const payout = await findPayout(q, id)
  return payout !== undefined && isYes(answersOf(payout))
}

/** Whether no node ever sends it: it was withdrawn or given up. */
export const isPayoutOver = async (q: Queryable, id: string): Promise<boolean> =>
  (await findPayout(q, id))?.status === 'failed'

/**
 * Whether a transaction was signed that can pay it, or it was paid. Until then all checks are repeated: what was only
 * announced, or authorized and not submitted, pays nothing by itself. What left before a restore was not signed here.
 */
export const mayPayoutHaveLeft = (q: Queryable, id: string): Promise<boolean> =>
  isSo(q, id, ({ mayHaveLeft }) => mayHaveLeft)

/** Whether something was announced or signed that can pay it, or did, also if it ran out and is not forgotten yet. */
export const isPayoutSigned = (q: Queryable, id: string): Promise<boolean> =>
  isSo(q, id, ({ mayHaveLeft, isStarted }) => mayHaveLeft || isStarted)

/** Whether something was signed for it here, or it left before a restore exactly as asked. */
export const isPayoutStarted = (q: Queryable, id: string): Promise<boolean> => isSo(q, id, ({ isStarted }) => isStarted)
