import type { FastifyBaseLogger } from 'fastify'
import type { Transporter, TransportOptions } from 'nodemailer'
import { Counter, type Registry } from 'prom-client'
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

export type MailJobDeps = {
  db: Db
  vault: Vault
  clock: Clock
  log: FastifyBaseLogger
  metrics: Registry
  config: Pick<Config, 'mode' | 'mail' | 'officeUrl'>
  /** The mail never left: its recipient is refused for good, or it expired first. */
  onDropped?(mail: MailOrder): Promise<void>
}

/** In the sandbox without SMTP_URL, mails are kept for `/mailbox`; in live mode they wait until it is set. */
export const keepsMails = (config: Pick<Config, 'mode' | 'mail'>): boolean =>
  config.mail.smtpUrl === null && config.mode === 'sandbox'

function openDeliver({ db, clock, config }: Pick<MailJobDeps, 'db' | 'clock' | 'config'>): Deliver {
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

const ADDRESS = /[^\s<>"'(),:;[\]]+@[^\s<>"'(),:;[\]]+/g

/** What a mail server says often repeats the recipient, which no log and no row may hold unsealed. */
const cutAddresses = (text: string): string => text.replaceAll(ADDRESS, '…@…')

const withoutAddresses = (error: unknown): Error => {
  const { message, code } = error as Error & { code?: string }
  return Object.assign(new Error(cutAddresses(message)), { code })
}

/** The recipient does not exist, has moved or takes no mail any more (RFC 3463, 3.2 and 3.3; RFC 7505 for 5.1.10). */
const NO_SUCH_RECIPIENT = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1'])
const SAYS_NO_SUCH_RECIPIENT = /no such user|unknown user|user unknown|does not exist/i
const BLAMES_US = /sender|relay(?! recipient)|policy/i

type SmtpError = Error & { code?: string; command?: string; responseCode?: number; response?: string }

/**
 * Whether the server refuses this recipient for good, by name. Many servers say at RCPT TO, with a 550 too, what they
 * have against us: the sender's address, a login, a limit, a blocked network. That holds for every mail, and an
 * operator can mend it. Addresses are no words of the server: `policy@shop.example` is a recipient like any other.
 */
const isRecipientRefused = (error: unknown, to: string, from: string): boolean => {
  const { code, command, responseCode = 0, response = '' } = error as SmtpError
  if (code !== 'EENVELOPE' || command !== 'RCPT TO' || responseCode < 500) return false
  const words = cutAddresses(response)
  const named = (response.match(ADDRESS) ?? []).map((address) => address.toLowerCase().replace(/[.!?]+$/, ''))
  const own = (from.match(ADDRESS) ?? []).map((address) => address.toLowerCase())
  if (BLAMES_US.test(words) || named.some((address) => own.includes(address))) return false
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  if (enhanced !== undefined) return NO_SUCH_RECIPIENT.has(enhanced)
  return SAYS_NO_SUCH_RECIPIENT.test(words) && named.includes(to.toLowerCase())
}

/** Writes and sends one mail, as long as it is valid; drops an expired one, and one whose recipient is refused. */
export function openMailJob(deps: MailJobDeps): JobHandler {
  const deliver = openDeliver(deps)
  const refused = new Counter({
    name: 'comptoir_mails_refused_total',
    help: 'Mails that were dropped because the mail server refused their recipient for good.',
    registers: [deps.metrics],
  })
  const drop = async (order: MailOrder, reason: string, facts: { err?: Error } = {}): Promise<void> => {
    await deps.onDropped?.(order)
    deps.log.warn({ ...facts, mail: order.kind }, `${reason}; the mail is dropped`)
  }
  return {
    until: (payload) => new Date((payload as MailPayload).expiresAt),
    async run(payload) {
      const { sealed, expiresAt } = payload as MailPayload
      const order = JSON.parse(deps.vault.open(sealed, MAIL_CONTEXT)) as MailOrder
      if (new Date(expiresAt).getTime() <= deps.clock())
        return drop(order, 'the mail expired before a mail server took it')
      await deliver(order.to, writeMail(order, deps.config.officeUrl), newId(deps.clock())).catch(
        async (error: unknown) => {
          if (!isRecipientRefused(error, order.to, deps.config.mail.from)) throw withoutAddresses(error)
          await drop(order, 'the mail server refuses the recipient for good', { err: withoutAddresses(error) })
          refused.inc()
        },
      )
    },
  }
}
