import { createHash } from 'node:crypto'
import type { Tx } from '../../db/db.ts'
import { DAY, HOUR } from '../../kernel/clock.ts'
import { emailKeyOf } from '../../kernel/people/emails.ts'
import { updateCounter } from './rate-limit-queries.ts'

/** Hourly limit per topic of mails caused by strangers, or sent to them. */
export const MOST_MAILS_AN_HOUR = 10

/** `ann+shop@example.org` is delivered to `ann@example.org`. */
const mailboxOf = (email: string): string => emailKeyOf(email).replace(/\+[^@]*(?=@[^@]*$)/, '')

/**
 * Counts a mail to a mailbox, about a company, or to the operator, that a stranger caused or gets.
 * @param about whom, with a topic, so that one kind of mail does not use up another's limit
 * @returns whether it is the last of the hour; null: the limit is reached, and this mail must not be sent
 */
export async function countMail(
  tx: Tx,
  topic: string,
  about: { email: string } | { company: string } | 'operator',
  nowMs: number,
): Promise<{ isLast: boolean } | null> {
  const whom = about === 'operator' ? about : 'email' in about ? mailboxOf(about.email) : about.company
  const key = `mail:${topic}:${createHash('sha256').update(whom).digest('base64url')}`
  const { used } = await updateCounter(tx, key, { count: 1, now: new Date(nowMs), endsAt: new Date(nowMs + HOUR) })
  return Number(used) > MOST_MAILS_AN_HOUR ? null : { isLast: Number(used) === MOST_MAILS_AN_HOUR }
}

/**
 * Counts a mail that a company's people or servers send to strangers.
 * @returns when the day that is used up ends; null: this mail may be sent
 */
export async function countDailyMail(
  tx: Tx,
  topic: string,
  { company, most }: { company: string; most: number },
  nowMs: number,
): Promise<Date | null> {
  const use = { count: 1, now: new Date(nowMs), endsAt: new Date(nowMs + DAY) }
  const { used, windowEndsAt } = await updateCounter(tx, `mail:${topic}:${company}:day`, use)
  return Number(used) > most ? windowEndsAt : null
}
