import type { ChannelId } from '../channels/channel.ts'
import type { UserRole } from '../http/actor.ts'

/** The words for roles, those of the back office. */
export type RoleWords = Readonly<Record<UserRole, string>>

/** @param role also another word, such as what an entry of the audit log says */
export const roleWord = (words: RoleWords, role: string): string => (words as Record<string, string>)[role] ?? role

/** The facts that each kind of mail needs. Values are text, already formatted for people. */
export type MailKinds = {
  /** `company`: empty where there is none. */
  verifyEmail: { name: string; role: string; company: string; url: string }
  loginCode: { name: string; code: string }
  /** For a person who is already logged in and does something that needs a fresh factor. */
  confirmCode: { name: string; code: string }
  resetLink: { name: string; url: string }
  resetCode: { name: string; url: string; code: string }
  passwordChanged: { name: string }
  /** `replaces`: empty unless another account with the address ends when it is accepted. */
  invitation: { name: string; inviter: string; company: string; replaces: string; url: string }
  approvalNeeded: {
    name: string
    applicant: string
    applicantEmail: string
    role: string
    company: string
    url: string
  }
  accountApproved: { name: string; company: string }
  companyApproved: { name: string; company: string }
  authenticatorAdded: { name: string }
  authenticatorRemoved: { name: string }
  /** `app`: empty where there was none; `passkeys`: their names. */
  secondFactorReset: { name: string; app: string; passkeys: string }
  deviceLogin: { name: string; computer: string; address: string }
  passkeyAdded: { name: string; passkey: string }
  passkeyRemoved: { name: string; passkey: string }
  recoveryCodeUsed: { name: string; left: string }
  sessionStolen: { name: string }
}
export type MailKind = keyof MailKinds

/** Screens that mails about an account link to. */
export type OfficeScreen = 'home' | 'account' | 'keys'

/** The text of one mail; the layout adds the rest. */
export type MailText = {
  subject: string
  paragraphs: string[]
  /** Shown large, because people type it. */
  code?: string
  button?: { label: string; url: string }
  /** Small print: how long it is valid, and what to do if it was not you. */
  note?: string
}

/** A mail to a payer or a merchant that a feature sends; the feature adds the link. */
export type NoticeText<Facts> = {
  subject(facts: Facts): string
  paragraphs(facts: Facts): string[]
  button?: string
}

export type EmailChangeFacts = { merchant: string; shortCode: string }
export type KycFacts = { merchant: string; shortCode: string; closer: boolean }
/** `amount` with its currency, in the format of the language. */
export type RefundFacts = { merchant: string; amount: string; network: string; shortCode: string }
/** `amount` as above. */
export type ReceiptFacts = { merchant: string; amount: string; shortCode: string }
/** `purpose`: what the shop says it is for; null: nothing. `until`: with its time zone. */
export type PayLinkFacts = {
  merchant: string
  shortCode: string
  amount: string
  purpose: string | null
  until: string
  isReminder: boolean
}
/** `amounts` as people read them; empty where they have none. */
export type AskedBackFacts = { companyName: string; firstName: string; shortCode: string; amounts: string }
/**
 * `amount` in the order's currency, `received` in USDC, both as people read them. `alias`: the shop's own reference,
 * null where there is none; `channel`: its name, null where no channel was chosen.
 */
export type SaleFacts = {
  companyName: string
  firstName: string
  shortCode: string
  alias: string | null
  amount: string
  received: string
  channel: string | null
}
/** `amounts`: one for each currency; `most`: after how many mails in an hour they are summed up. */
export type SalesFacts = { companyName: string; firstName: string; sales: number; amounts: string; most: number }

/** To people of a shop who want to hear of each sale. */
export type SaleMailTexts = {
  each: NoticeText<SaleFacts>
  /** Two or more. */
  rest: NoticeText<SalesFacts>
  /** Where they end. */
  note: string
  /** Names that differ by language. */
  channels: Partial<Record<ChannelId, string>>
}
export type FailureFacts = { day: string; companyName: string; firstName: string; failed: number; parked: number }

/** `person` with the e-mail address. */
type OfPerson = { company: string; person: string }

/** About a change to where money goes, or to what protects it. */
export type MoneyChangeTexts = {
  /** `text` says what changed, in one paragraph. */
  kinds: {
    /** An address with the name of its network; null: none. */
    payout: Told<{ company: string; before: string | null; after: string | null }>
    /** The database was restored, and the company has confirmed the address of the backup. */
    payoutConfirmed: Told<{ company: string; address: string }>
    refundRules: Told<{ company: string }>
    /** `channel`: its name in the API. `before`, `after`: addresses or hints of the account, in no language. */
    account: Told<{
      company: string
      channel: string
      isRemoved: boolean
      before: string | null
      after: string | null
    }>
    apiKey: Told<{ company: string; key: string; scopes: string }>
    webhookSecret: Told<{ company: string }>
    access: Told<OfPerson & { role: string; isDisabled: boolean }>
    attached: Told<OfPerson>
    secondFactor: Told<OfPerson>
  }
  /** `at` with its time zone; `from`: an IP address, null where there is none. */
  by(facts: { by: string; at: string; from: string | null }): string
  /** For who did not expect it. */
  toDo: string
  /** Of a long list of companies: its first names, and how many follow (two or more). */
  more(facts: { names: string; count: number }): string
  /** In the last mail of an hour. */
  last: string
  button: string
}
type Told<Facts> = (facts: Facts) => { subject: string; text: string }

/** `at`: the time of the backup, with its time zone. */
export type RestoredFacts = { companyName: string; firstName: string; at: string }

export type WaitingFacts = {
  day: string
  companyName: string
  firstName: string
  mispayments: number
  unmatched: number
  refunds: number
  byHand: number
}

/** "2 refunds need the payer’s address; 1 transfer fits no order.". Zero counts are left out. */
export const countLines = (counts: readonly (readonly [number, string, string])[]): string =>
  `${counts
    .filter(([count]) => count > 0)
    .map(([count, one, more]) => `${count} ${count === 1 ? one : more}`)
    .join('; ')}.`

/** Without the paragraphs that do not apply. */
export const someOf = (paragraphs: readonly (string | false)[]): string[] => paragraphs.filter((one) => one !== false)

/** `contact` is an e-mail address or a phone number of the shop, or both. */
export type HelpFacts = { merchant: string; contact: string; shortCode: string }

export type MailTexts = {
  greeting(name: string): string
  closing: string
  /** At the end of every mail to a payer, because replies are not read. */
  help(facts: HelpFacts): string
  /** Buttons of mails that link to the back office. */
  screens: Record<OfficeScreen, string>
  roles: RoleWords
  kinds: { [Kind in MailKind]: (data: MailKinds[Kind]) => MailText }
  kycCheck: NoticeText<KycFacts>
  receipt: NoticeText<ReceiptFacts>
  payLink: NoticeText<PayLinkFacts>
  saleMails: SaleMailTexts
  refundAddress: NoticeText<RefundFacts>
  emailChanged: NoticeText<EmailChangeFacts>
  webhookFailures: NoticeText<FailureFacts>
  askedBack: NoticeText<AskedBackFacts>
  waiting: NoticeText<WaitingFacts>
  restored: NoticeText<RestoredFacts>
  moneyChange: MoneyChangeTexts
}
