import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/db.ts'
import { findEndsHeld } from '../db/restored-queries.ts'
import { type Clock, DAY, MINUTE, SECOND } from '../kernel/clock.ts'
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
  /** Orders that cannot end wait here for their next try. Without it, the first failure ends the round. */
  stuck?: StuckExpiries
}

/** A poison row may hold a lock or a statement for seconds: the pause between two tries grows. */
const RETRY_MS = 2 * SECOND
const LONGEST_RETRY_MS = 10 * MINUTE

/** Orders that could not end, as this node knows them. */
export type StuckExpiries = {
  count(): number
  isDue(key: OrderKey, nowMs: number): boolean
  failed(key: OrderKey, error: unknown, nowMs: number): void
  /** It ended, or need not. */
  over(key: OrderKey): void
  /** Forgets those that a whole round did not list: they ended otherwise. */
  keepOnly(listed: ReadonlySet<string>): void
}

type StuckDeps = { log: Parameters<typeof faultLogOf>[0]; metrics: Registry }

export function openStuckExpiries({ log, metrics }: StuckDeps): StuckExpiries {
  const stuck = new Map<string, { failures: number; dueMs: number }>()
  new Gauge({
    name: 'comptoir_expiries_failing',
    help: 'Orders that are over and that this process fails to end; each is tried again, at last every ten minutes.',
    registers: [metrics],
    collect() {
      this.set(stuck.size)
    },
  })
  return {
    count: () => stuck.size,
    isDue: ({ id }, nowMs) => (stuck.get(id)?.dueMs ?? 0) <= nowMs,
    failed({ id }, error, nowMs) {
      const failures = (stuck.get(id)?.failures ?? 0) + 1
      const pauseMs = Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** Math.min(failures - 1, 20))
      stuck.set(id, { failures, dueMs: nowMs + pauseMs })
      faultLogOf(log).failed(error, 'orders.expire', `order ${id} could not expire; it is tried again`)
    },
    over: ({ id }) => void stuck.delete(id),
    keepOnly(listed) {
      for (const id of stuck.keys()) if (!listed.has(id)) stuck.delete(id)
    },
  }
}

const NO_CHECKS: ExpiryChecks = { chains: [], beforeEnd: async (orders) => orders }

/** Without the database no other order can end either. */
const isAway = (error: unknown): boolean => error instanceof AppError && error.code === 'DATABASE_UNAVAILABLE'

/**
 * Ends expired orders, each in its own transaction, so that a payment that arrives at the same moment either wins or
 * loses. A round looks at each once, so those that may not end yet do not keep later ones from ending; those that could
 * not end are left out, checks and all, until their pause is over. After a restore, those of before it wait until it is
 * reconciled: a shop may know them as paid.
 * @returns how many ended
 */
export async function expireOrders(
  db: Db,
  transition: TransitionOrder,
  nowMs: number,
  { chains, beforeEnd, stuck }: ExpiryChecks = NO_CHECKS,
): Promise<number> {
  const now = new Date(nowMs)
  const expire = async (key: OrderKey): Promise<number> => {
    try {
      const ended = await expireOrder(db, transition, key, now)
      stuck?.over(key)
      return ended
    } catch (error) {
      if (!stuck || isAway(error)) throw error
      stuck.failed(key, error, nowMs)
      return 0
    }
  }
  const heldUntil = (await findEndsHeld(db))?.madeUntil ?? null
  let ended = 0
  const seen = new Set<string>()
  let after: ExpiredOrder | undefined = { companyId: '', id: '', expiresAt: new Date(0) }
  while (after) {
    const listed: ExpiredOrder[] = await listExpiredOrders(db, now, { chains, after, limit: BATCH, heldUntil })
    for (const { id } of listed) seen.add(id)
    const due = stuck ? listed.filter((key) => stuck.isDue(key, nowMs)) : listed
    for (const key of await beforeEnd(due)) ended += await expire(key)
    after = listed[BATCH - 1]
  }
  stuck?.keepOnly(seen)
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
