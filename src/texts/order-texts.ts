/** The pay page's situations. Several order states look the same to a payer, and one state can look different. */
export const SITUATIONS = [
  'choose',
  'unavailable',
  'preparing',
  'providerDown',
  'waiting',
  'partly',
  'onItsWay',
  'accountGone',
  'wrongToken',
  'seen',
  'hold',
  'paid',
  'overpaid',
  'expired',
  'late',
  'onItsWayEnded',
  'wrongTokenEnded',
  'sentBack',
  'cancelled',
  'error',
  'refundApproval',
  'refundAddress',
  'refundCheck',
  'refundMailed',
  'refundByHand',
  'refunding',
  'refundedPart',
  'refunded',
  'review',
] as const
export type Situation = (typeof SITUATIONS)[number]

/** Facts in the sentences, as the payer reads them: amounts with their unit. */
export type Facts = {
  merchant: string
  /** The order's short code, for reading aloud. */
  code: string
  /** The amount that the sentence is about: missing, too much, late, or refunded. */
  amount: string
  /** The order's price, in USDC; after a refund what was paid. */
  due: string
  network: string
  /** The provider, or the payer's wallet; empty until a way to pay is chosen. */
  channel: string
  /** The name of a token that is not USDC. */
  token: string
  /** What the payer was told to pay to, so money may be under way; null: nothing. */
  shown: 'address' | 'provider' | null
  /**
   * How the rest of a part payment is paid: to the address that is shown, or at the provider. `whole`: the provider
   * sends the part back, and takes the price in one payment.
   */
  rest: 'address' | 'provider' | 'whole'
  /** The provider that has the payment and confirms it; empty: the network does. */
  confirms: string
  /** How the order ended without being paid. */
  ending: 'expired' | 'cancelled' | 'other'
  /** The provider that may mail the payer to ask where a refund should go; empty: none. */
  mailer: string
}

/** Sentences that depend on one fact. */
export type RestTexts = Record<Facts['rest'], (facts: Facts) => string>
export type EndingTexts = Record<Facts['ending'], (facts: Facts) => string>

/** One situation: what happened, what it means for the payer, what to do. */
export type SituationTexts = {
  title: string
  text: (facts: Facts) => string
  /** The label of the button if there is one, otherwise a sentence. */
  next: (facts: Facts) => string
}

/** A receipt. Page, print and mail share its labels. */
export type ReceiptTexts = {
  title: string
  from: (merchant: string) => string
  /** The shop's VAT number. */
  vatNumber: string
  number: string
  reference: string
  price: string
  paid: string
  rate: string
  channel: string
  sentBack: string
  /** Money next to the payment, such as a second payment. */
  sentBackBeside: string
  sentTo: string
  show: string
  onExplorer: string
  print: string
  signed: string
  verify: string
  terms: string
  unknown: string
}

/** Ways to pay, in the groups that people think in, and the page's questions next to them. */
export type WayTexts = {
  groups: { exchange: string; wallet: string; onramp: string }
  /** Duration, and cost for the payer. */
  notes: { exchange: string; wallet: string; onramp: string }
  lastUsed: string
  otherWays: string
  showCode: string
  /** Names the app or the page that a button opens. */
  openApp: (app: string) => string
  openPage: (provider: string) => string
  newPrice: string
  newPriceWith: (channel: string) => string
  newPriceHint: string
}

export type HelpTexts = {
  title: string
  /** The shop can be contacted; contact lines follow. */
  ask: (merchant: string, code: string) => string
  phone: string
  email: string
  /** The subject of a mail to the shop. */
  subject: (code: string) => string
  reference: string
  referenceHint: string
  referenceSend: string
  /** The money went to the right address on a network that we do not read. */
  otherNetwork: (network: string, merchant: string, code: string) => string
  /** A coin that is not listed among an order's money until a person looks for it. */
  otherToken: (merchant: string, code: string) => string
}

/** What the payer of money that did not pay an order may ask. */
export type AskBackTexts = {
  /** What asking does. */
  offer: (merchant: string) => string
  button: string
  /** Once it was asked for. */
  asked: (merchant: string) => string
}

/** A payment link in a messenger, its poster, and the page of a static link. */
export type LinkTexts = {
  preview: (merchant: string, amount: string) => string
  previewText: string
  poster: string
  posterText: string
  print: string
  /** Titles and buttons of a static link, without and with its amount. */
  payTo: (merchant: string) => string
  payNow: (amount: string) => string
  goOn: string
  amountLabel: (currency: string) => string
  between: (least: string, most: string) => string
  nothingYet: string
  /** The newest payment of this browser: one that is not finished, and any other. */
  last: {
    unfinished: (amount: string) => string
    resumeHint: string
    resume: string
    another: string
    see: (amount: string) => string
  }
  closedTitle: string
  closed: (merchant: string) => string
  /** The shop has to mend it. */
  notSetUp: (merchant: string) => string
  /** What is wrong with an amount that the payer entered. */
  faults: { wrong: (example: string) => string; low: (least: string) => string; high: (most: string) => string }
}

/** The page that verifies a signed receipt without a server. `%` stands for the service that issued it. */
export type VerifyTexts = {
  title: string
  lead: string
  receipt: string
  receiptHint: string
  file: string
  keys: string
  keysHint: string
  fetchKeys: string
  check: string
  good: string
  goodText: string
  bad: string
  badText: string
  unreadable: string
  noKeys: string
  keyMissing: string
  noFetch: string
  altered: string
  unsupported: string
  save: string
  /** Link on the receipt to the verification page. */
  link: string
}

export type OrderTexts = {
  situations: Record<Situation, SituationTexts>
  receipt: ReceiptTexts
  ways: WayTexts
  help: HelpTexts
  askBack: AskBackTexts
  link: LinkTexts
  verify: VerifyTexts
}
