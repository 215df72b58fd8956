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
 * Every word that a payer reads, on a page or in a mail, and a cashier at a till. A language is one object, put
 * together in `<lang>.ts`: the compiler names what a new one still lacks.
 */
export type Texts = {
  /** For formatting numbers and dates (BCP 47). */
  locale: string
  /** Where the language is written from right to left. */
  dir?: 'rtl'
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
  /** Of a form whose fields are too long, or no text. */
  unreadable: BusyTexts
  mailbox: MailboxTexts
  mails: MailTexts
  /** Between a shop's button and the pay page. */
  button: ButtonTexts
  /** While a wallet in the browser pays. */
  wallet: WalletTexts
  /** What a cashier and a customer read at a till. */
  till: TillTexts
}
