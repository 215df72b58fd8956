import type { Tx } from '../db/db.ts'
import type { Mailer } from './mail.ts'
import { listSuperAdminEmails } from './operator-queries.ts'

export type Alarm = { subject: string; paragraphs: string[] }

/** Mails the operator once the caller's transaction has committed: `OPERATOR_EMAIL`, else every SuperAdmin. */
export type RaiseAlarm = (tx: Tx, alarm: Alarm) => Promise<void>

export const openOperatorAlarm =
  ({ mailer, operatorEmail }: { mailer: Mailer; operatorEmail: string | null }): RaiseAlarm =>
  async (tx, data) => {
    const recipients = operatorEmail === null ? await listSuperAdminEmails(tx) : [operatorEmail]
    for (const to of recipients) await mailer.send(tx, { to, lang: 'en', kind: 'notice', data })
  }
