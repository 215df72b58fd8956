import type { Db } from '../db/db.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { faultLogOf } from '../kernel/process/fault-log.ts'
import { deleteOldNotes } from './notes/note-queries.ts'
import { type ExpiredOrder, listExpiredOrders, lockOrderById } from './order-queries.ts'
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
  /** For orders that cannot end: the next round tries them again. Without it, the first failure ends the round. */
  log?: Parameters<typeof faultLogOf>[0]
}

const NO_CHECKS: ExpiryChecks = { chains: [], beforeEnd: async (orders) => orders }

/** Without the database no other order can end either. */
const isAway = (error: unknown): boolean => error instanceof AppError && error.code === 'DATABASE_UNAVAILABLE'

/**
 * Ends expired orders, each in its own transaction, so that a payment that arrives at the same moment either wins or
 * loses. A round looks at each once, so those that may not end yet, or cannot, do not keep later ones from ending.
 * @returns how many ended
 */
export async function expireOrders(
  db: Db,
  transition: TransitionOrder,
  nowMs: number,
  { chains, beforeEnd, log }: ExpiryChecks = NO_CHECKS,
): Promise<number> {
  const now = new Date(nowMs)
  const expire = (key: OrderKey): Promise<number> =>
    expireOrder(db, transition, key, now).catch((error: unknown) => {
      if (!log || isAway(error)) throw error
      faultLogOf(log).failed(error, 'orders.expire', `order ${key.id} could not expire; it is tried again`)
      return 0
    })
  let ended = 0
  let after: ExpiredOrder | undefined = { companyId: '', id: '', expiresAt: new Date(0) }
  while (after) {
    const listed: ExpiredOrder[] = await listExpiredOrders(db, now, { chains, after, limit: BATCH })
    for (const key of await beforeEnd(listed)) ended += await expire(key)
    after = listed[BATCH - 1]
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

const NOTES_BATCH = 500

/** Erases notes that are older than that many days: they may hold personal data. @returns how many were erased */
export const eraseNotesOlderThan = ({ db, clock }: { db: Db; clock: Clock }, days: number): Promise<number> =>
  deleteOldNotes(db, new Date(clock() - days * DAY), NOTES_BATCH)
