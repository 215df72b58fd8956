import type { Db } from '../db/db.ts'
import { listExpiredOrders, lockOrderById } from './order-queries.ts'
import { allows } from './order-states.ts'
import type { TransitionOrder } from './order-transition.ts'

const BATCH = 200

/**
 * Ends orders whose time is over. Each in its own transaction: a payment that arrives meanwhile wins or loses
 * cleanly.
 */
export async function expireOrders(db: Db, transition: TransitionOrder, nowMs: number): Promise<number> {
  const now = new Date(nowMs)
  const due = await listExpiredOrders(db, now, BATCH)
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
