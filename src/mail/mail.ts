import type { Tx } from '../db/db.ts'
import type { JobQueue } from '../db/job-runner.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import type { Lang } from '../kernel/lang.ts'
import type { Vault } from '../kernel/vault.ts'
import type { MailKind, MailKinds, MailText } from '../texts/mail-texts.ts'

/** A mail whose feature supplies the text. */
export type Notice = Pick<MailText, 'subject' | 'paragraphs' | 'button' | 'note'>

/**
 * `payerOf`: the order whose payer it goes to; the mail is deleted with the payer. `refundId`: the refund whose
 * destination it asks for.
 */
export type MailOrder = { to: string; lang: Lang; expiresAt?: Date; payerOf?: string; refundId?: string } & (
  | { [Kind in MailKind]: { kind: Kind; data: MailKinds[Kind] } }[MailKind]
  | { kind: 'notice'; data: Notice }
)

export type Mailer = {
  /** Sends after the caller's transaction committed, by a durable job; nothing is sent when it rolls back. */
  send(tx: Tx, mail: MailOrder): Promise<void>
}

export const MAIL_JOB = 'mail'
export const MAIL_CONTEXT = 'mail-job'

/** What waits in the jobs table: sealed, because mails carry codes and links. */
export type MailPayload = { sealed: string; expiresAt: string; payerOf?: string }

/** How long a mail without a time of its own waits for a mail server that is down. */
export const MAIL_DAYS = 3

export function openMailer(deps: { jobs: JobQueue; vault: Vault; clock: Clock }): Mailer {
  return {
    async send(tx, { expiresAt, payerOf, ...mail }) {
      const until = expiresAt ?? new Date(deps.clock() + MAIL_DAYS * DAY)
      const payload: MailPayload = {
        sealed: deps.vault.seal(JSON.stringify(mail), MAIL_CONTEXT),
        expiresAt: until.toISOString(),
        ...(payerOf === undefined ? {} : { payerOf }),
      }
      await deps.jobs.enqueue(tx, { kind: MAIL_JOB, payload })
    },
  }
}
