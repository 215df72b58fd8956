import type { Db, Tx } from '../../db/db.ts'
import { DAY } from '../../kernel/clock.ts'
import * as queries from './upkeep-queries.ts'

/** Attempts are kept for at least this long. */
const RETENTION_MS = 90 * DAY
const MONTHS_AHEAD = 2

/** The daily mail to a manager about permanent failures. */
export type FailureMail = {
  to: string
  lang: string
  facts: { day: string; companyName: string; firstName: string; failed: number; parked: number }
}

export type FailureDeps = {
  db: Db
  /** Hands the mail to the mail room, in the transaction that remembers it. */
  send(tx: Tx, mail: FailureMail): Promise<void>
}

/**
 * One mail a day to each manager of a company whose webhooks failed for good on the day before (UTC). May run on any
 * node at any time: each mail is asked for once, by its key.
 * @returns how many mails were asked for now
 */
export async function mailFailures({ db, send }: FailureDeps, nowMs: number): Promise<number> {
  const to = new Date(Math.floor(nowMs / DAY) * DAY)
  const from = new Date(to.getTime() - DAY)
  const day = from.toISOString().slice(0, 10)
  const failures = await queries.listFailures(db, from, to)
  const managers = await queries.listManagers(
    db,
    failures.map((failure) => failure.companyId),
  )
  let asked = 0
  for (const { companyId, companyName, failed, parked } of failures) {
    for (const { email, firstName, lang } of managers.filter((candidate) => candidate.companyId === companyId)) {
      const key = `webhook-failures:${companyId}:${day}:${email.toLowerCase()}`
      asked += await db.tx(async (tx) => {
        if (!(await queries.insertNotice(tx, key, new Date(nowMs)))) return 0
        await send(tx, { to: email, lang, facts: { day, companyName, firstName, failed, parked } })
        return 1
      })
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
