/** What the payer meets on the pay page. Several order states look the same, and one can look different. */
export const SITUATIONS = [
  'choose',
  'unavailable',
  'preparing',
  'providerDown',
  'waiting',
  'partly',
  'wrongToken',
  'seen',
  'hold',
  'paid',
  'overpaid',
  'expired',
  'late',
  'sentBack',
  'cancelled',
  'error',
  'refundApproval',
  'refundAddress',
  'refundMailed',
  'refunding',
  'refundedPart',
  'refunded',
  'review',
] as const
export type Situation = (typeof SITUATIONS)[number]

/** What the sentences speak of, as the payer reads it: amounts with their unit. */
export type Facts = {
  merchant: string
  /** The order's short code, for reading aloud. */
  code: string
  /** What it is about: what is missing, was too much, arrived late, goes back. */
  amount: string
  /** What the order cost, in USDC. */
  due: string
  network: string
  /** Empty before a way to pay was chosen. */
  channel: string
  /** The name of a token that is not USDC. */
  token: string
}

/** One situation in words: what happened, what it means for the payer, what to do. */
export type SituationTexts = {
  title: string
  text: (facts: Facts) => string
  /** The label of the button where there is one, else a sentence. */
  next: (facts: Facts) => string
}

/** A receipt. Its labels are shared by the page, the print and the mail. */
export type ReceiptTexts = {
  title: string
  from: (merchant: string) => string
  /** Of the shop. */
  vatNumber: string
  number: string
  reference: string
  price: string
  paid: string
  rate: string
  channel: string
  sentBack: string
  sentTo: string
  show: string
  onExplorer: string
  print: string
  signed: string
  verify: string
  terms: string
  unknown: string
}

/** Ways to pay, in groups as people think of them, and what the page asks beside them. */
export type WayTexts = {
  groups: { exchange: string; wallet: string; card: string }
  /** How long it takes and what it costs the payer. */
  notes: { exchange: string; wallet: string; card: string }
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
  /** The shop can be reached; contact lines follow. */
  ask: (merchant: string, code: string) => string
  phone: string
  email: string
  /** The subject of a mail to the shop. */
  subject: (code: string) => string
  reference: string
  referenceHint: string
  referenceSend: string
  /** The money went to the right address on a network that is not read. */
  otherNetwork: (network: string, merchant: string, code: string) => string
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
  closedTitle: string
  closed: (merchant: string) => string
  /** What is wrong with an amount that was typed. */
  faults: { wrong: (example: string) => string; low: (least: string) => string; high: (most: string) => string }
}

/** The page that checks a signed receipt by itself. `%` stands for the service that issued it. */
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
  /** On the receipt, leads there. */
  link: string
}

export type OrderTexts = {
  situations: Record<Situation, SituationTexts>
  receipt: ReceiptTexts
  ways: WayTexts
  help: HelpTexts
  link: LinkTexts
  verify: VerifyTexts
}
