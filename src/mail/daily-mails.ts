import type { Db, Tx } from '../db/db.ts'
import { DAY } from '../kernel/clock.ts'
import { insertNotice, listManagers } from './daily-mail-queries.ts'

/** A mail to one manager about a day of a company. */
export type DailyMail<Facts> = {
  to: string
  lang: string
  facts: Facts & { day: string; companyName: string; firstName: string }
}

export type DailyMailDeps<Facts> = {
  db: Db
  /** Queues the mail, in the transaction that remembers it. */
  send(tx: Tx, mail: DailyMail<Facts>): Promise<void>
}

/**
 * One mail a day to each active manager of the companies where something happened the day before (UTC). May run on any
 * node at any time: each mail is queued once, by its key.
 * @param topic.list what happened, by company
 * @returns number of mails queued now
 */
export async function mailDaily<Facts>(
  { db, send }: DailyMailDeps<Facts>,
  topic: { name: string; list(db: Db, from: Date, to: Date): Promise<readonly (Facts & { companyId: string })[]> },
  nowMs: number,
): Promise<number> {
  const to = new Date(Math.floor(nowMs / DAY) * DAY)
  const from = new Date(to.getTime() - DAY)
  const day = from.toISOString().slice(0, 10)
  const happened = new Map((await topic.list(db, from, to)).map((facts) => [facts.companyId, facts]))
  let asked = 0
  for (const { companyId, companyName, email, firstName, lang } of await listManagers(db, [...happened.keys()])) {
    const facts = happened.get(companyId)
    if (!facts) continue
    const key = `${topic.name}:${companyId}:${day}:${email.toLowerCase()}`
    asked += await db.tx(async (tx) => {
      if (!(await insertNotice(tx, key, new Date(nowMs)))) return 0
      await send(tx, { to: email, lang, facts: { ...facts, day, companyName, firstName } })
      return 1
    })
  }
  return asked
}
