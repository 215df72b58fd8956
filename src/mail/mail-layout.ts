import { OFFICE_PATHS } from '../config/office-paths.ts'
import { escapeHtml, withoutTurns } from '../kernel/html.ts'
import type { Lang } from '../kernel/lang.ts'
import { TEXTS } from '../texts/languages.ts'
import type { MailKind, MailKinds, MailText, OfficeScreen } from '../texts/mail-texts.ts'
import { unlinkedName } from './alarm-words.ts'
import type { MailOrder } from './mail.ts'

export type WrittenMail = { subject: string; text: string; html: string }

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"

function layoutText(greeting: string | null, mail: MailText, closing: string): string {
  const { paragraphs, code, button, note } = mail
  const parts = [greeting, ...paragraphs, code, button && `${button.label}\n${button.url}`, note, `--\n${closing}`]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

function layoutHtml(lang: Lang, greeting: string | null, mail: MailText, closing: string): string {
  const paragraph = (text: string, style = ''): string =>
    `<p style="margin:0 0 16px;font-size:16px;line-height:1.5;color:#1c1917;${style}">${escapeHtml(text)}</p>`
  const { paragraphs, code, button, note } = mail
  const body = [
    greeting === null ? '' : paragraph(greeting),
    ...paragraphs.map((text) => paragraph(text)),
    code === undefined ? '' : paragraph(code, 'font-size:32px;letter-spacing:6px;font-weight:700;'),
    button === undefined
      ? ''
      : `<p style="margin:24px 0"><a href="${escapeHtml(button.url)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#0f766e;color:#ffffff;text-decoration:none;font-size:16px">${escapeHtml(button.label)}</a></p>`,
    note === undefined ? '' : paragraph(note, 'font-size:14px;color:#57534e;'),
    paragraph(closing, 'font-size:12px;color:#78716c;border-top:1px solid #e7e5e4;padding-top:16px;'),
  ].join('\n')
  return `<!doctype html>
<html lang="${lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(mail.subject)}</title></head>
<body style="margin:0;background:#f5f5f4;${FONT}"><div style="max-width:560px;margin:0 auto;padding:32px 24px;background:#ffffff">
${body}
</div></body></html>
`
}

/** Mails about an account end with a link to where its owner can check it, and undo what someone else did. */
const SCREENS: Partial<Record<MailKind, OfficeScreen>> = {
  accountApproved: 'home',
  companyApproved: 'home',
  passwordChanged: 'account',
  authenticatorAdded: 'account',
  authenticatorRemoved: 'account',
  secondFactorReset: 'account',
  passkeyAdded: 'account',
  passkeyRemoved: 'account',
  recoveryCodeUsed: 'account',
  sessionStolen: 'account',
  deviceLogin: 'keys',
}

/** Facts of `MailKinds` that we made, or that are there to be used. All others are words of a person. */
const AS_IS: readonly string[] = ['url', 'code', 'address', 'applicantEmail']

/** Nobody writes a link into a mail of ours by the choice of a name. */
const withoutLinks = <Facts extends object>(facts: Facts): Facts =>
  Object.fromEntries(
    Object.entries(facts).map(([fact, text]) => [fact, AS_IS.includes(fact) ? text : unlinkedName(text)]),
  ) as Facts

/** Facts that the version before did not queue: its mails may wait for a server for days. Empty says nothing. */
const ADDED: Partial<Record<MailKind, Record<string, string>>> = {
  verifyEmail: { role: '', company: '' },
  invitation: { replaces: '' },
}

function textOf(order: MailOrder, officeUrl: string): { greeting: string | null; mail: MailText } {
  if (order.kind === 'notice') return { greeting: null, mail: order.data }
  const texts = TEXTS[order.lang].mails
  const write = texts.kinds[order.kind] as (data: MailKinds[MailKind]) => MailText
  const screen = SCREENS[order.kind]
  const button = screen && { label: texts.screens[screen], url: `${officeUrl}${OFFICE_PATHS[screen]}` }
  const data = { ...ADDED[order.kind], ...withoutLinks(order.data) }
  return { greeting: texts.greeting(data.name), mail: { ...(button && { button }), ...write(data) } }
}

/** A mail as text and as HTML without pictures or remote parts; user-given words are escaped. */
export function writeMail(order: MailOrder, officeUrl: string): WrittenMail {
  const { greeting, mail } = textOf(order, officeUrl)
  const { closing } = TEXTS[order.lang].mails
  return {
    subject: withoutTurns(mail.subject).replace(/\s+/g, ' '),
    text: withoutTurns(layoutText(greeting, mail, closing)),
    html: layoutHtml(order.lang, greeting, mail, closing),
  }
}
