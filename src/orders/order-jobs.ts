import type { Db } from '../db/db.ts'
import { listExpiredOrders, lockOrderById } from './order-queries.ts'
import { allows } from './order-states.ts'
import type { TransitionOrder } from './order-transition.ts'
import { countOlderOrders, FOLD_CHANGES, foldOrderCounts, isEveryOrderCounted } from './totals/total-queries.ts'

const BATCH = 200

export type OrderKey = { companyId: string; id: string }

export type ExpiryChecks = {
  /** Chains that this node reads. */
  chains: readonly number[]
  /** Checks these orders for money once more. @returns those that may end now */
  beforeEnd(orders: readonly OrderKey[]): Promise<readonly OrderKey[]>
}

const NO_CHECKS: ExpiryChecks = { chains: [], beforeEnd: async (orders) => orders }

/**
 * Ends expired orders, each in its own transaction, so that a payment that arrives at the same moment either wins or
 * loses.
 */
export async function expireOrders(
  db: Db,
  transition: TransitionOrder,
  nowMs: number,
  { chains, beforeEnd }: ExpiryChecks = NO_CHECKS,
): Promise<number> {
  const now = new Date(nowMs)
  const listed = await listExpiredOrders(db, now, { chains, limit: BATCH })
  const due = await beforeEnd(listed)
  let ended = 0
  for (const { companyId, id } of due) {
    ended += await db.tx(async (tx) => {
      const order = await lockOrderById(tx, companyId, id)
      if (!order || !allows(order.status, 'expire') || order.expiresAt > now) return 0
      await transition(tx, order, { trigger: 'expire', actor: 'time', requestId: null })
      return 1
    })
  }
  return ended
}

/** Keeps totals cheap to read by folding changes into the counts. @returns whether there may be more to do */
export async function keepTotals(db: Db): Promise<boolean> {
  if (!(await isEveryOrderCounted(db))) await db.tx(countOlderOrders)
  return (await foldOrderCounts(db)) === FOLD_CHANGES
}
