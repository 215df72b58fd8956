import { DAY } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { newId } from '../ids.ts'
import * as queries from './upkeep-queries.ts'

/** Attempts are kept for at least this long. */
const RETENTION_MS = 90 * DAY
const MONTHS_AHEAD = 2

/**
 * One mail a day to each manager of a company whose webhooks failed for good on the day before (UTC). May run on any
 * node at any time: each mail is asked for once, by its key.
 * @returns how many mails were asked for now
 */
export async function mailFailures(db: Db, nowMs: number): Promise<number> {
  const to = new Date(Math.floor(nowMs / DAY) * DAY)
  const from = new Date(to.getTime() - DAY)
  const day = from.toISOString().slice(0, 10)
  const failures = await queries.listFailures(db, from, to)
  const managers = await queries.listManagers(
    db,
    failures.map((failure) => failure.companyId),
  )
  let asked = 0
  for (const { companyId, companyName, failed, parked, deliveryIds } of failures) {
    for (const manager of managers.filter((candidate) => candidate.companyId === companyId)) {
      const { email, firstName, lang } = manager
      const facts = { day, companyName, firstName, failed, parked, deliveryIds }
      const payload = { template: 'webhook-failures', companyId, to: email, lang, facts }
      const dedupeKey = `webhook-failures:${companyId}:${day}:${email.toLowerCase()}`
      asked += await queries.insertMailJob(db, { id: newId(nowMs), dedupeKey, payload, runAt: new Date(nowMs) })
    }
  }
  return asked
}

const partitionOf = (date: Date): string =>
  `delivery_attempts_${date.getUTCFullYear()}_${String(date.getUTCMonth() + 1).padStart(2, '0')}`

/** Makes the partitions of this month and the next two, and drops those whose last attempt is older than 90 days. */
export async function keepAttemptPartitions(db: Db, nowMs: number): Promise<{ made: string[]; dropped: string[] }> {
  return db.tx(async (tx) => {
    if (!(await queries.lockUpkeep(tx))) return { made: [], dropped: [] }
    const now = new Date(nowMs)
    const wanted = Array.from({ length: MONTHS_AHEAD + 1 }, (_, offset) =>
      partitionOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1))),
    )
    const existing = await queries.listAttemptPartitions(tx)
    const made = wanted.filter((partition) => !existing.includes(partition))
    const oldest = partitionOf(new Date(nowMs - RETENTION_MS))
    const dropped = existing.filter((partition) => partition < oldest)
    for (const partition of made) await queries.insertAttemptPartition(tx, partition)
    for (const partition of dropped) await queries.deleteAttemptPartition(tx, partition)
    return { made, dropped }
  })
}
