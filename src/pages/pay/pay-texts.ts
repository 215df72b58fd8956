import type { ChannelId } from '../../channels/channel.ts'
import type { PayState } from './pay-state.ts'

/** English defines the keys; every other language must have all of them, with the same parameters. */
const en = {
  /** For formatting numbers and dates. */
  locale: 'en-GB',
  states: {
    choose: 'Choose how to pay',
    preparing: 'Preparing your payment',
    waiting: 'Waiting for your payment',
    partly: 'Part of your payment arrived',
    seen: 'Payment seen',
    paid: 'Paid',
    expired: 'The time to pay is over',
    cancelled: 'This order was cancelled',
    error: 'The payment could not be completed',
    refunding: 'Your refund is on its way',
    refunded: 'Refunded',
    review: 'This payment is being reviewed',
  } satisfies Record<PayState, string>,
  channels: {
    crypto: 'USDC from your wallet',
    binance: 'Binance Pay',
    whitepay: 'Whitepay',
    'whitepay-non-custody': 'Any wallet, through Whitepay',
    cryptopay: 'Crypto.com Pay',
    gatepay: 'Gate Pay',
    coinbase: 'Card or bank, through Coinbase',
    kucoinpay: 'KuCoin Pay',
  } satisfies Record<ChannelId, string>,
  sandbox: 'Sandbox: this is test money.',
  payTo: 'Payment to',
  approximately: 'about',
  rate: (one: string, other: string) => `${one} = ${other}`,
  rateHeld: 'The rate is held until the time is over.',
  timeLeft: 'Time left',
  validUntil: (date: string) => `valid until ${date}`,
  onNetwork: (network: string) => `on ${network}`,
  continueWith: (channel: string) => `Pay with ${channel}`,
  preparing: 'The payment provider has not answered yet. This page continues by itself.',
  noChannel: 'This shop cannot take payments right now. Please tell the shop; nothing was charged.',
  qrWallet: 'QR code for wallet apps: address, network and amount',
  qrAddress: 'QR code with the address only',
  qrApp: 'QR code for the payment app',
  walletLink: 'For wallet apps',
  addressOnly: 'Address only',
  addressOnlyHint: 'For exchanges and other apps: enter the amount yourself.',
  scan: 'Scan with your wallet app',
  scanWith: (app: string) => `Scan with the app of ${app}, or continue below.`,
  amount: 'Amount',
  address: 'Address',
  network: 'Network',
  copy: 'Copy',
  copied: 'Copied',
  copyAmount: 'amount',
  copyAddress: 'address',
  onlyOn: (network: string) => `Send only USDC, and only on ${network}. Anything else may not arrive.`,
  openWallet: 'Open in wallet app',
  openApp: 'Open the app',
  openCheckout: 'Continue to payment',
  arrived: 'Arrived',
  missing: 'Still missing',
  partly: (missing: string) => `Please send the missing ${missing} USDC to the same address before the time is over.`,
  confirming: 'Your payment is on the chain and is being confirmed. There is nothing more to send.',
  seen: 'It is being confirmed. You need not do anything more, and you may close this page.',
  confirmations: (done: number, needed: number) => `${done} of ${needed} confirmations`,
  confirmationsOpen: (done: number) => (done === 1 ? '1 confirmation' : `${done} confirmations`),
  paid: (merchant: string) => `${merchant} has received your payment.`,
  received: 'Received',
  paidAt: 'Date',
  order: 'Order',
  goods: 'For',
  transaction: 'Transaction',
  backToShop: 'Back to the shop',
  notPaid: 'I have not paid',
  notPaidOnline:
    'Please do not send anything to the old address. Start again at the shop: you will get a new amount and address.',
  notPaidHere: 'Please do not send anything to the old address. Ask at the till for a new code.',
  havePaid: 'I have already paid',
  havePaidHelp: (merchant: string, code: string) =>
    'Please do not pay again. Your payment is not lost: as soon as it is confirmed, it is added to this order or ' +
    `${merchant} sends it back. Keep your transaction number and this order number: ${code}.`,
  havePaidSeen: (amount: string) => `${amount} USDC have arrived for this order.`,
  cancelled: 'Nothing more is expected from you.',
  error: (merchant: string, code: string) =>
    `The payment provider reports a failure. If money left your account, contact ${merchant} and name order ${code}.`,
  refunding: (merchant: string) => `${merchant} is sending your money back. This can take a while.`,
  refunded: (amount: string) => `${amount} USDC were sent back.`,
  review: (merchant: string, code: string) =>
    'It needs a check before it can be completed. Please do not pay again. ' +
    `If you have questions, contact ${merchant} and name order ${code}.`,
  another: 'Pay another way',
  cancel: 'Cancel this order',
  cancelWarning: 'Only cancel if you have not sent anything.',
  cancelNow: 'Yes, cancel',
  help: 'I have paid, but nothing happens',
  helpText: (merchant: string, code: string) =>
    'A transfer usually shows here within a minute of leaving your wallet. Check in your wallet that it was sent ' +
    'in USDC, on the network named here and to this address. If it was and nothing changes, ' +
    `contact ${merchant} and name order ${code}.`,
  txHash: 'Transaction hash',
  txHashHint: 'Your wallet or exchange shows it with the payment. It begins with 0x.',
  txHashSend: 'Look up this transaction',
  lost: 'No connection. This page tries again by itself; your payment is not affected.',
  testWallet: 'Pay from the test wallet',
  testProvider: 'Act at the imitated provider',
  testDecline: 'Decline',
  testFull: 'Full amount',
  testHalf: 'Half',
  testMore: 'Too much',
  problems: {
    CHANNEL_UNAVAILABLE: 'The payment provider did not answer. Nothing was charged; try again in a moment.',
    CHANNEL_NOT_AVAILABLE: 'This way to pay is not available any more. Choose another one.',
    ORDER_STATE_CONFLICT: 'That is not possible any more. This page shows how the order stands now.',
    PAYER_IDENTITY_REQUIRED: 'For this amount the shop must know who pays.',
    SPENDING_LIMIT_EXCEEDED:
      'With this order you would spend more in 30 days than the shop may accept. Please contact the shop.',
    TRANSACTION_INVALID: 'A transaction hash is 0x and 64 digits or letters from a to f. Copy it whole.',
    TRANSACTION_UNKNOWN:
      'No network of this shop knows this transaction yet. Check the hash, or try again in a minute.',
    TRANSACTION_WAITING: 'The transaction is on its way. It shows here as soon as the network confirms it.',
    TRANSACTION_ELSEWHERE: 'This transaction does not pay this order: check the address, the token and the network.',
    CROSS_SITE_REQUEST: 'For your safety this step has to start on this page. Please try again.',
  },
  problem: 'That did not work. Please try again in a moment.',
  unknownTitle: 'There is no such order',
  unknown:
    'Check that the whole link was copied, or scan the code of the shop again. ' +
    'If you came from a shop, go back and start the payment again.',
  failedTitle: 'Something went wrong here',
  failed: 'Your payment is not affected. Load this page again in a moment.',
}

export type PayTexts = typeof en

/** What went wrong with the payer's last step, by the code of the error. */
export function problemText(texts: PayTexts, code: string): string {
  const known: Partial<Record<string, string>> = Object.hasOwn(texts.problems, code) ? texts.problems : {}
  return known[code] ?? texts.problem
}

const DICTIONARIES = { en } as const satisfies Record<string, PayTexts>

export type PayLanguage = keyof typeof DICTIONARIES

export const PAY_LANGUAGES = Object.keys(DICTIONARIES) as PayLanguage[]

export const textsOf = (language: PayLanguage): PayTexts => DICTIONARIES[language]

const isPayLanguage = (text: string): text is PayLanguage => Object.hasOwn(DICTIONARIES, text)

/**
 * The language of a page: the one asked for by `?lang=`, else the browser's first one that we have, else English.
 * @param header the value of Accept-Language; its order counts, weights are written in descending order by browsers
 */
export function chooseLanguage(asked: string | undefined, header: string | undefined): PayLanguage {
  const wanted = [asked ?? '', ...(header ?? '').split(',')].map((part) => part.trim().slice(0, 2).toLowerCase())
  return wanted.find(isPayLanguage) ?? 'en'
}
