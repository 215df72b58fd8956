import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../kernel/clock.ts'
import { insertClosed, listCompaniesToClose, lockNextDays } from './day-queries.ts'

export type CloseDeps = { db: Db; clock: Clock; log: FastifyBaseLogger }

/** Of one company in a row: others wait for the first closing of a large one, and so does the end of the service. */
const DAYS_AT_ONCE = 50

/** @returns whether it closed any */
const closeNext = ({ db, clock }: CloseDeps, companyId: string): Promise<boolean> =>
  db.tx(async (tx) => {
    const days = await lockNextDays(tx, companyId, new Date(clock()))
    if (!days) return false
    await insertClosed(tx, companyId, days)
    return true
  })

/**
 * Adds up the days that have ended, for each company. A day that is being booked into waits until the next time.
 * @returns whether there may be more
 */
export async function closeDays(deps: CloseDeps): Promise<boolean> {
  let isMore = false
  for (const companyId of await listCompaniesToClose(deps.db, new Date(deps.clock()))) {
    try {
      let closed = 0
      while (closed < DAYS_AT_ONCE && (await closeNext(deps, companyId))) closed += 1
      isMore ||= closed === DAYS_AT_ONCE
    } catch (error) {
      deps.log.warn({ err: error, companyId }, 'the days of this company’s books were not closed')
    }
  }
  return isMore
}
