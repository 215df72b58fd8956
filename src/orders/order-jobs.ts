import type { Db } from '../db/db.ts'
import { listExpiredOrders, lockOrderById } from './order-queries.ts'
import { allows } from './order-states.ts'
import type { TransitionOrder } from './order-transition.ts'
import { countOlderOrders, FOLD_CHANGES, foldOrderCounts, isEveryOrderCounted } from './totals/total-queries.ts'

const BATCH = 200
/** Pages of a round, so that orders that may not end yet do not make it endless. */
const MOST_PAGES = 10

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
 * loses. Those that may not end yet do not keep later ones from ending.
 */
export async function expireOrders(
  db: Db,
  transition: TransitionOrder,
  nowMs: number,
  { chains, beforeEnd }: ExpiryChecks = NO_CHECKS,
): Promise<number> {
  const now = new Date(nowMs)
  const held: string[] = []
  let ended = 0
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const listed = await listExpiredOrders(db, now, { chains, held, limit: BATCH })
    const due = await beforeEnd(listed)
    for (const key of due) ended += await expireOrder(db, transition, key, now)
    if (listed.length < BATCH || due.length === listed.length) break
    const free = new Set(due.map(({ id }) => id))
    held.push(...listed.map(({ id }) => id).filter((id) => !free.has(id)))
  }
  return ended
}

const expireOrder = (db: Db, transition: TransitionOrder, { companyId, id }: OrderKey, now: Date): Promise<number> =>
  db.tx(async (tx) => {
    const order = await lockOrderById(tx, companyId, id)
    if (!order || !allows(order.status, 'expire') || order.expiresAt > now) return 0
    await transition(tx, order, { trigger: 'expire', actor: 'time', requestId: null })
    return 1
  })

/** Keeps totals cheap to read by folding changes into the counts. @returns whether there may be more to do */
export async function keepTotals(db: Db): Promise<boolean> {
  if (!(await isEveryOrderCounted(db))) await db.tx(countOlderOrders)
  return (await foldOrderCounts(db)) === FOLD_CHANGES
}
