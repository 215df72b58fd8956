import type { ButtonTexts } from './button-texts.ts'
import type { MailTexts } from './mail-texts.ts'
import type { OrderTexts } from './order-texts.ts'
import type {
  AccountTexts,
  BusyTexts,
  IdentityTexts,
  KycTexts,
  MailboxTexts,
  PayTexts,
  RefundTexts,
} from './page-texts.ts'
import type { TillTexts } from './till-texts.ts'
import type { WalletTexts } from './wallet-texts.ts'

/**
 * All texts for payers, on pages and in mails, and for cashiers at a till. A language is one object, assembled in
 * `<lang>.ts`: the compiler reports what a new one still lacks.
 */
export type Texts = {
  /** For formatting numbers and dates (BCP 47). */
  locale: string
  /** Set if the language is written from right to left. */
  dir?: 'rtl'
  /** The language's own name, for the language switch. */
  name: string
  pay: PayTexts
  /** The order's situation, its receipt, and ways to pay. */
  order: OrderTexts
  identity: IdentityTexts
  refund: RefundTexts
  kyc: KycTexts
  account: AccountTexts
  busy: BusyTexts
  /** For a URL that leads nowhere. */
  missing: BusyTexts
  /** For a form whose fields are too long, or not text. */
  unreadable: BusyTexts
  mailbox: MailboxTexts
  mails: MailTexts
  /** Between a shop's button and the pay page. */
  button: ButtonTexts
  /** While a wallet in the browser pays. */
  wallet: WalletTexts
  /** For a cashier and a customer at a till. */
  till: TillTexts
}
