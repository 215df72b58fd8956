import type { ChannelId } from '../channels/channel.ts'

/** The pay page. */
export type PayTexts = {
  /** Names that differ by language; a provider's own name is in `CHANNEL_NAMES`. */
  channels: Partial<Record<ChannelId, string>>
  sandbox: string
  language: string
  payTo: string
  approximately: string
  rate: (one: string, other: string) => string
  rateHeld: string
  /** A link whose rate is renewed when its payer chooses a way to pay. */
  rateChosen: string
  /** The same once the payer has chosen: another way, or a later moment, may change it. */
  heldUntil: (date: string) => string
  timeLeft: string
  validUntil: (date: string) => string
  onNetwork: (network: string) => string
  qrWallet: string
  qrAddress: string
  qrApp: string
  /** The difference between the two QR codes, for screen readers. */
  qrChoice: string
  walletLink: string
  addressOnly: string
  addressOnlyHint: string
  scan: string
  scanWith: (app: string) => string
  amount: string
  address: string
  network: string
  copy: string
  copied: string
  /** For browsers that do not let a page copy. */
  byHand: string
  copyAmount: string
  copyAddress: string
  onlyOn: (network: string) => string
  openWallet: string
  arrived: string
  missing: string
  /** Seen by the provider, and not credited yet. */
  coming: string
  confirmations: (done: number, needed: number) => string
  confirmationsOpen: (done: number) => string
  received: string
  paidAt: string
  order: string
  goods: string
  transaction: string
  backToShop: string
  /** A countdown, and the same read aloud once. */
  returnIn: (seconds: string) => string
  returnSay: (seconds: string) => string
  /** Stops the countdown. `returnSay` names it. */
  stay: string
  notPaid: string
  notPaidOnline: string
  notPaidHere: string
  havePaid: string
  havePaidHelp: (merchant: string, code: string) => string
  /** The time is over, and not every block up to then is read. */
  stillLooking: string
  another: string
  cancel: string
  cancelWarning: string
  cancelNow: string
  /** For an order that is paid in part. */
  takeBack: (merchant: string, code: string) => string
  /** Money of an open order that does not count towards its price. */
  beside: (amount: string, merchant: string) => string
  /** The same while it is on its way at its provider. */
  besideComing: (amount: string, merchant: string) => string
  /** Where its payer was sent before, who may have paid there. @param place the address, and its network if known */
  sentBefore: (place: string, merchant: string, code: string) => string
  /** Money that reached the current channel, which does not count it. */
  uncredited: (amount: string, channel: string, merchant: string) => string
  help: string
  helpText: (merchant: string, code: string) => string
  lost: string
  testWallet: string
  testProvider: string
  testDecline: string
  testFull: string
  testHalf: string
  testMore: string
  problems: Record<
    | 'CHANNEL_UNAVAILABLE'
    | 'CHANNEL_NOT_AVAILABLE'
    | 'LINK_UNAVAILABLE'
    | 'ORDER_STATE_CONFLICT'
    | 'PURCHASE_SOLD'
    | 'PAYER_IDENTITY_REQUIRED'
    | 'SPENDING_LIMIT_EXCEEDED'
    | 'TRANSACTION_INVALID'
    | 'TRANSACTION_UNKNOWN'
    | 'TRANSACTION_WAITING'
    | 'TRANSACTION_ELSEWHERE'
    | 'TRANSACTION_TOKEN'
    | 'PAYMENT_NOT_RECEIVED'
    | 'CROSS_SITE_REQUEST',
    string
  >
  problem: string
  unknownTitle: string
  unknown: string
  failedTitle: string
  failed: string
}

/** The short form where a payer enters a name. */
export type IdentityTexts = {
  title: string
  why: (merchant: string) => string
  email: string
  emailHint: string
  firstName: string
  lastName: string
  orCompany: string
  companyName: string
  next: string
  faults: { emailMissing: string; emailWrong: string; firstName: string; lastName: string }
}

/** Shown instead of a page when too many were requested. */
export type BusyTexts = { title: string; text: string }

/** The page where a payer enters a refund's destination. */
export type RefundTexts = {
  title: string
  from: (merchant: string) => string
  ask: (network: string) => string
  notTheSender: string
  proposed: (merchant: string) => string
  /** Shown if the link did not come by mail. */
  passedOn: (merchant: string) => string
  label: string
  hint: string
  next: string
  checkTitle: string
  check: (network: string) => string
  confirm: string
  change: string
  invalid: string
  notYours: string
  done: string
  sentTo: string
  transaction: string
  dropped: (merchant: string) => string
  unknownTitle: string
  unknown: string
}

/** The page of an identity check. */
export type KycTexts = {
  title: string
  from: (merchant: string) => string
  order: string
  states: { pending: string; closer: string; approved: string; refused: string }
  why: (merchant: string) => string
  closerWhy: (merchant: string) => string
  notCharged: string
  byHand: (merchant: string) => string
  prepare: string
  again: string
  comeBack: string
  loading: string
  failed: string
  retry: string
  noScript: string
  approved: string
  toPayment: string
  startAgain: (merchant: string) => string
  /** Some or all of the price has arrived, or is on its way. */
  paid: string
  toPaid: string
  cannotPay: string
  mistaken: (merchant: string, shortCode: string) => string
  mailedTitle: string
  mailed: string
  notMailed: (merchant: string, shortCode: string) => string
  unknownTitle: string
  unknown: string
}

/** Pages that mails about accounts link to. */
export type AccountTexts = {
  verifyTitle: string
  verifyText(account: { email: string; role: string; company: string | null }): string
  verifyOnlyYou: string
  /** For whoever did not register, and whom nobody registered. */
  verifyNotYou: string
  verifyButton: string
  verified: string
  /** The browser keeps its session. */
  verifiedStays: string
  /** It has none. */
  verifiedEnded: string
  /** It has none, and the password ended too: stands above the field for a new one. */
  verifiedChoose: string
  goOn: string
  /** An invitation whose address got an account of its own meanwhile. */
  taken: string
  deadLink: string
  resetTitle: string
  resetLabel: string
  resetHint: string
  resetButton: string
  resetDone: string
  /** Whole sentences, one for each thing that is wrong with a password. */
  passwordFaults: Record<'short' | 'long' | 'upper' | 'lower' | 'digit' | 'special' | 'common', string>
  logIn: string
  confirmTitle: string
  confirmText: string
  confirmButton: string
  confirmed: string
}

/** The sandbox keeps mails instead of sending them. */
export type MailboxTexts = {
  title: string
  lead: string
  to: string
  show: string
  none: string
  /** The mail as its recipient sees it. */
  withLayout: string
}
