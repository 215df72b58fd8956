import type { Db, Tx } from '../../db/db.ts'
import { DAY } from '../../kernel/clock.ts'
import * as queries from './upkeep-queries.ts'

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
