import type { Transporter, TransportOptions } from 'nodemailer'
import type { Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import type { JobHandler } from '../db/job-runner.ts'
import { type Clock, SECOND } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { Vault } from '../kernel/vault.ts'
import { MAIL_CONTEXT, type MailOrder, type MailPayload } from './mail.ts'
import { type WrittenMail, writeMail } from './mail-layout.ts'
import { insertKeptMail } from './mailbox-queries.ts'

/**
 * A mail that hangs at the server holds one connection and delays no other mail. nodemailer's own timeout is ten
 * minutes, and a job passes to another node after one.
 */
const SMTP = {
  maxConnections: 10,
  connectionTimeout: 10 * SECOND,
  greetingTimeout: 10 * SECOND,
  socketTimeout: 30 * SECOND,
}

type Deliver = (to: string, mail: WrittenMail, id: string) => Promise<void>

export type MailJobDeps = { db: Db; vault: Vault; clock: Clock; config: Pick<Config, 'mode' | 'mail' | 'officeUrl'> }

/** In the sandbox without SMTP_URL, mails are kept for `/mailbox`; in live mode they wait until it is set. */
export const keepsMails = (config: Pick<Config, 'mode' | 'mail'>): boolean =>
  config.mail.smtpUrl === null && config.mode === 'sandbox'

function openDeliver({ db, clock, config }: MailJobDeps): Deliver {
  const { smtpUrl, from } = config.mail
  if (smtpUrl !== null) {
    // loaded with the first mail: most processes send none
    let transport: Transporter | undefined
    return async (to, { subject, text, html }, id) => {
      const { createTransport } = await import('nodemailer')
      transport ??= createTransport({ url: smtpUrl, pool: true, ...SMTP } as TransportOptions, { from })
      const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'comptoir.invalid'
      await transport.sendMail({
        to: { name: '', address: to },
        subject,
        text,
        html,
        messageId: `<${id}@${domain}>`,
        headers: { 'auto-submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    }
  }
  return async (to, { subject, text, html }, id) => {
    if (config.mode === 'live') throw new Error('SMTP_URL is not set, so mails wait here')
    const createdAt = new Date(clock())
    await insertKeptMail(db, { id, recipient: to, subject, bodyText: text, bodyHtml: html, createdAt })
  }
}

/** What a mail server says often repeats the recipient, which no log and no row may hold unsealed. */
const withoutAddresses = (error: unknown): Error => {
  const { message, code } = error as Error & { code?: string }
  return Object.assign(new Error(message.replaceAll(/[^\s<>"'(),:;]+@[^\s<>"'(),:;]+/g, '…@…')), { code })
}

/** Writes and sends one mail, as long as it is valid; drops an expired one. */
export function openMailJob(deps: MailJobDeps): JobHandler {
  const deliver = openDeliver(deps)
  return {
    until: (payload) => new Date((payload as MailPayload).expiresAt),
    async run(payload) {
      const { sealed, expiresAt } = payload as MailPayload
      if (new Date(expiresAt).getTime() <= deps.clock()) return
      const order = JSON.parse(deps.vault.open(sealed, MAIL_CONTEXT)) as MailOrder
      await deliver(order.to, writeMail(order, deps.config.officeUrl), newId(deps.clock())).catch((error: unknown) => {
        throw withoutAddresses(error)
      })
    },
  }
}
