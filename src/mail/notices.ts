import { OFFICE_PATHS } from '../config/office-paths.ts'
import type { Lang } from '../kernel/lang.ts'
import { TEXTS } from '../texts/languages.ts'
import type {
  AskedBackFacts,
  EmailChangeFacts,
  FailureFacts,
  KycFacts,
  NoticeText,
  PayLinkFacts,
  ReceiptFacts,
  RefundFacts,
  RestoredFacts,
  SaleFacts,
  SalesFacts,
  WaitingFacts,
} from '../texts/mail-texts.ts'
import { unlinkedName } from './alarm-words.ts'
import type { Notice } from './mail.ts'

/** A line of a mail's header (RFC 5322, section 2.1.1); most programs show less. */
const SUBJECT_LENGTH = 78

/** Truncates a shop's long name, so that the topic after it stays readable. */
function subjectOf<Facts extends object>({ subject }: NoticeText<Facts>, facts: Facts): string {
  const whole = subject(facts)
  const { merchant } = facts as { merchant?: string }
  const over = whole.length - SUBJECT_LENGTH
  if (over <= 0 || merchant === undefined) return whole
  const name = [...merchant].slice(0, Math.max(1, merchant.length - over - 1)).join('')
  return subject({ ...facts, merchant: `${name.trimEnd()}…` })
}

function write<Facts extends object>(texts: NoticeText<Facts>, facts: Facts, url = ''): Notice {
  const { paragraphs, button } = texts
  const text = { subject: subjectOf(texts, facts), paragraphs: paragraphs(facts) }
  return button === undefined ? text : { ...text, button: { label: button, url } }
}

/** A notice about one order of a payer. `contact`: where the shop can be asked; null where it has not said. */
function writePayer<Facts extends { merchant: string; shortCode: string }>(
  lang: Lang,
  texts: NoticeText<Facts>,
  given: ToPayer<Facts> & { url?: string },
): Notice {
  // the shop chose its name; its contact is there to be used
  const facts = { ...given, merchant: unlinkedName(given.merchant) }
  const { contact } = facts
  const notice = write<Facts>(texts, facts, facts.url)
  return contact === null ? notice : { ...notice, note: TEXTS[lang].mails.help({ ...facts, contact }) }
}

type ToPayer<Facts> = Facts & { contact: string | null }

/** Asks a payer to go through an identity check. */
export const kycNotice = (lang: Lang, facts: ToPayer<KycFacts> & { url: string }): Notice =>
  writePayer(lang, TEXTS[lang].mails.kycCheck, facts)

/** Asks a payer where a refund goes. */
export const refundAddressNotice = (lang: Lang, facts: ToPayer<RefundFacts> & { url: string }): Notice =>
  writePayer(lang, TEXTS[lang].mails.refundAddress, facts)

/** To a payer whose order is paid. */
export const receiptNotice = (lang: Lang, facts: ToPayer<ReceiptFacts> & { url: string }): Notice =>
  writePayer(lang, TEXTS[lang].mails.receipt, facts)

/** Asks a payer to pay an order, or reminds the payer of it. */
export const payLinkNotice = (lang: Lang, facts: ToPayer<PayLinkFacts> & { url: string }): Notice =>
  writePayer(lang, TEXTS[lang].mails.payLink, facts)

/** To the payer's old address, when the shop replaces it. */
export const emailChangedNotice = (lang: Lang, facts: ToPayer<EmailChangeFacts>): Notice =>
  writePayer(lang, TEXTS[lang].mails.emailChanged, facts)

/** To a manager, when a payer asks for money that waits. */
export const askedBackNotice = (lang: Lang, { url, ...facts }: AskedBackFacts & { url: string }): Notice =>
  write(TEXTS[lang].mails.askedBack, facts, url)

/** To a person of the shop, about one sale. */
export const saleNotice = (lang: Lang, { url, ...facts }: SaleFacts & { url: string }): Notice => {
  const { each, note } = TEXTS[lang].mails.saleMails
  return { ...write(each, facts, url), note }
}

/** The same about the sales of the rest of an hour. */
export const salesNotice = (lang: Lang, { officeUrl, ...facts }: SalesFacts & { officeUrl: string }): Notice => {
  const { rest, note } = TEXTS[lang].mails.saleMails
  return { ...write(rest, facts, `${officeUrl}${OFFICE_PATHS.orders}`), note }
}

/** The daily mail about webhooks that failed permanently. */
export const webhookFailureNotice = (
  lang: Lang,
  { officeUrl, ...facts }: FailureFacts & { officeUrl: string },
): Notice => write(TEXTS[lang].mails.webhookFailures, facts, `${officeUrl}${OFFICE_PATHS.failedWebhooks}`)

/** To a manager whose company has the settings of a backup. Whoever restores may lack the settings with our address. */
export const restoredNotice = (lang: Lang, facts: RestoredFacts): Notice => write(TEXTS[lang].mails.restored, facts)

/** The daily mail about money that waits for a decision. */
export const waitingNotice = (lang: Lang, { officeUrl, ...facts }: WaitingFacts & { officeUrl: string }): Notice =>
  write(TEXTS[lang].mails.waiting, facts, `${officeUrl}${OFFICE_PATHS.home}`)

const SPOKEN: Partial<Record<string, Lang>> = {
  FR: 'fr',
  MC: 'fr',
  PF: 'fr',
  NC: 'fr',
  DE: 'de',
  AT: 'de',
  LI: 'de',
  ES: 'es',
  IT: 'it',
}

/** The language to write in when only the shop's country is known (ISO 3166-1 alpha-2). */
export const langOfCountry = (country: string | null): Lang => SPOKEN[country ?? ''] ?? 'en'
