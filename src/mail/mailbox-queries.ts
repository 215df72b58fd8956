import { type Queryable, sql, type Tx } from '../db/db.ts'
import { MAIL_JOB } from './mail.ts'

export type KeptMail = {
  id: string
  recipient: string
  subject: string
  bodyText: string
  bodyHtml: string
  createdAt: Date
}

export async function insertKeptMail(q: Queryable, mail: KeptMail): Promise<void> {
  await q.run(sql`
    insert into mails (id, recipient, subject, body_text, body_html, created_at)
    values (${mail.id}, ${mail.recipient}, ${mail.subject}, ${mail.bodyText}, ${mail.bodyHtml}, ${mail.createdAt})`)
}

/** Newest first. */
export async function listKeptMails(q: Queryable, recipient: string | null, limit: number): Promise<KeptMail[]> {
  return q.many<KeptMail>(sql`
    select id, recipient, subject, body_text, body_html, created_at from mails
    where ${recipient}::text is null or lower(recipient) = lower(${recipient}) order by id desc limit ${limit}`)
}

export async function findKeptMail(q: Queryable, id: string): Promise<KeptMail | undefined> {
  return q.maybe<KeptMail>(
    sql`select id, recipient, subject, body_text, body_html, created_at from mails where id = ${id}`,
  )
}

export async function deleteKeptMails(q: Queryable, before: Date): Promise<number> {
  return q.run(sql`delete from mails where created_at < ${before}`)
}

/** Of the keys of alarms, which say nothing about the daily mails. */
export const ALARM_PREFIX = 'alarm:'

/**
 * Forgets which daily mails were sent. Of a service that did not run for long, the last week is left: it says which
 * days to make up for.
 */
export const deleteOldNotices = (q: Queryable, before: Date): Promise<number> =>
  q.run(sql`
    delete from notices_sent
    where sent_at < least(${before}, (select max(sent_at) from notices_sent
      where not starts_with(key, ${ALARM_PREFIX})) - interval '7 days')`)

/** Mails that were given up, once they have expired; one that waits is dropped by its own job, which says so. */
export const deleteExpiredMails = (q: Queryable, now: Date): Promise<number> =>
  q.run(
    sql`delete from jobs where kind = ${MAIL_JOB} and run_at = 'infinity' and payload->>'expiresAt' <= ${now.toISOString()}`,
  )

/** Mails to the payer of an order that were not sent yet. */
export const deletePayerMails = (tx: Tx, orderId: string): Promise<number> =>
  tx.run(sql`delete from jobs where kind = ${MAIL_JOB} and payload->>'payerOf' = ${orderId}`)
