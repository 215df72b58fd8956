import type { MailTexts } from './mail-texts.ts'
import type { OrderTexts } from './order-texts.ts'
import type { AccountTexts, BusyTexts, IdentityTexts, KycTexts, PayTexts, RefundTexts } from './page-texts.ts'

/** Every word that a payer reads, on a page or in a mail. A language is `<lang>.ts` and `orders/<lang>.ts`. */
export type Texts = {
  /** For formatting numbers and dates (BCP 47). */
  locale: string
  /** The language's own name, for the switch. */
  name: string
  pay: PayTexts
  /** Where an order stands, its receipt, ways to pay it. */
  order: OrderTexts
  identity: IdentityTexts
  refund: RefundTexts
  kyc: KycTexts
  account: AccountTexts
  busy: BusyTexts
  /** Of an address that leads nowhere. */
  missing: BusyTexts
  mails: MailTexts
}
