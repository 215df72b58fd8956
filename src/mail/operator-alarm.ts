import type { Config } from '../config/config.ts'
import type { Tx } from '../db/db.ts'
import type { Mailer } from './mail.ts'
import { listSuperAdminEmails } from './operator-queries.ts'

/** `path`: the screen of the back office where it is dealt with. */
export type Alarm = { subject: string; paragraphs: string[]; path: string }

/** Mails the operator once the caller's transaction has committed: `OPERATOR_EMAIL`, else every SuperAdmin. */
export type RaiseAlarm = (tx: Tx, alarm: Alarm) => Promise<void>

export const openOperatorAlarm =
  ({ mailer, config }: { mailer: Mailer; config: Pick<Config, 'operatorEmail' | 'officeUrl'> }): RaiseAlarm =>
  async (tx, { path, ...words }) => {
    const { operatorEmail, officeUrl } = config
    const data = { ...words, button: { label: 'Open the back office', url: `${officeUrl}${path}` } }
    const recipients = operatorEmail === null ? await listSuperAdminEmails(tx) : [operatorEmail]
    for (const to of recipients) await mailer.send(tx, { to, lang: 'en', kind: 'notice', data })
  }
