import type { MailTexts } from './mail-texts.ts'
import type { AccountTexts, BusyTexts, IdentityTexts, KycTexts, PayTexts, RefundTexts } from './page-texts.ts'

/** Every word that a payer reads, on a page or in a mail. A language is one file with all of them. */
export type Texts = {
  /** For formatting numbers and dates (BCP 47). */
  locale: string
  /** The language's own name, for the switch. */
  name: string
  pay: PayTexts
  identity: IdentityTexts
  refund: RefundTexts
  kyc: KycTexts
  account: AccountTexts
  busy: BusyTexts
  mails: MailTexts
}
