import type { Db, Tx } from '../db/db.ts'
import { DAY } from '../kernel/clock.ts'
import { plainName } from './alarm-words.ts'
import { findLastNotice, insertNotice, listManagers } from './daily-mail-queries.ts'

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

type Topic<Facts> = {
  name: string
  /** What happened within a period, by company. */
  list(db: Db, from: Date, to: Date): Promise<readonly (Facts & { companyId: string })[]>
}

/** After a longer outage, older days stay untold. */
const MOST_DAYS = 7

const nameOf = (dayMs: number): string => new Date(dayMs).toISOString().slice(0, 10)
const doneKey = (topic: string, day: string): string => `${topic}:done:${day}`

/** Starts of the days after the last one done, oldest first; always yesterday, whose managers may have changed. */
async function listDue(db: Db, topic: string, nowMs: number): Promise<number[]> {
  const last = await findLastNotice(db, doneKey(topic, ''))
  const yesterdayMs = (Math.floor(nowMs / DAY) - 1) * DAY
  const days = Array.from({ length: MOST_DAYS }, (_, index) => yesterdayMs - index * DAY)
  return days.filter((dayMs, index) => index === 0 || (last !== null && doneKey(topic, nameOf(dayMs)) > last)).reverse()
}

/** @returns number of mails queued now */
async function mailDay<Facts>(
  { db, send }: DailyMailDeps<Facts>,
  topic: Topic<Facts>,
  { dayMs, now }: { dayMs: number; now: Date },
): Promise<number> {
  const day = nameOf(dayMs)
  const found = await topic.list(db, new Date(dayMs), new Date(dayMs + DAY))
  const happened = new Map(found.map((facts) => [facts.companyId, facts]))
  let asked = 0
  for (const { companyId, companyName, email, firstName, lang } of await listManagers(db, [...happened.keys()])) {
    const facts = happened.get(companyId)
    if (!facts) continue
    const names = { companyName: plainName(companyName), firstName: plainName(firstName) }
    const key = `${topic.name}:${companyId}:${day}:${email.toLowerCase()}`
    asked += await db.tx(async (tx) => {
      if (!(await insertNotice(tx, key, now))) return 0
      await send(tx, { to: email, lang, facts: { ...facts, day, ...names } })
      return 1
    })
  }
  return asked
}

/**
 * One mail about each past day (UTC) to each active manager of the companies where something happened. May run on any
 * node at any time: each mail is queued once, by its key. Days on which no node ran are made up for, up to a week.
 * @returns number of mails queued now
 */
export async function mailDaily<Facts>(
  deps: DailyMailDeps<Facts>,
  topic: Topic<Facts>,
  nowMs: number,
): Promise<number> {
  const now = new Date(nowMs)
  let asked = 0
  for (const dayMs of await listDue(deps.db, topic.name, nowMs)) {
    asked += await mailDay(deps, topic, { dayMs, now })
    await insertNotice(deps.db, doneKey(topic.name, nameOf(dayMs)), now)
  }
  return asked
}
