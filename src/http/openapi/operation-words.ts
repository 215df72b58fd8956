import type { ErrorCode } from '../../kernel/errors.ts'

/** What an operation does, where its route does not say it, and the refusals that are its own. */
export type OperationWords = {
  does?: string
  refuses?: readonly ErrorCode[]
  /** Fields that its example leaves out, as they exclude others or name what must exist before. */
  unsent?: readonly string[]
}

const STATE = ['ORDER_STATE_CONFLICT'] as const
const BOOKS = ['BOOKS_DIFFER', 'PAYMENT_ORPHANED', 'REFUND_NOT_COVERED'] as const
const MONEY = ['ORDER_STATE_CONFLICT', 'OBJECT_CONFLICT', 'REFUND_TOO_LARGE', ...BOOKS] as const
const LOGIN = ['INVALID_CREDENTIALS', 'ACCOUNT_LOCKED', 'FORBIDDEN'] as const
const CHANGED = ['OBJECT_CONFLICT'] as const

const ORDERS: Record<string, OperationWords> = {
  createOrder: {
    unsent: ['websiteUrl', 'sessionId'],
    does: 'Creates an order in state INITIAL at a fresh rate. With `alias` it is a payment link. Show `paymentUrl` to the payer as a link or QR code. Name the till (`merchantIdentifier`), or the website with its buy-button session (`websiteUrl` and `sessionId`). A `sessionId` always counts: with a till too, the order costs the session’s price and uses the session up.',
    refuses: [
      'ILLEGAL_AMOUNT',
      'INVALID_EXCHANGE_RATE',
      'UNKNOWN_MERCHANT_IDENTIFIER',
      'UNKNOWN_SESSION',
      'WEBSITE_MISMATCH',
      'ALIAS_IN_USE',
      'OBJECT_NOT_FOUND',
      ...STATE,
    ],
  },
  getOrderByCode: {
    does: 'Anyone who has the code may read the order. Readers with a credential of its company also see `webhookUrl` and `metadata`.',
  },
  getOrderByReference: {
    does: 'With a credential: the newest order of your company with this alias. Without one: the newest with it, if a single company ever used that alias; `_id`, `code`, `shortCode` and `paymentUrl` are then null. While the newest is neither paid nor being paid, an earlier one that was paid since it was made is answered instead. Where no alias matches, the newest order of a buy button with this `orderRef`, which any visitor of its page can name: its `alias` is null. While a session of your server has it, only an order of your sessions, or one paid since at its price.',
    refuses: ['AMBIGUOUS_REFERENCE'],
  },
  cancelOrder: {
    does: 'Ends an order that is not paid, and closes its payment at the provider. Repeating it changes nothing.',
    refuses: STATE,
  },
  expireOrder: {
    does: 'Ends a payment link or an order before its time. Repeating it changes nothing.',
    refuses: STATE,
  },
  getSummary: { does: 'Sales by day and by channel over the last days, and how much waits for a person.' },
  listOrders: { does: 'The orders that you may see, newest first. `nextCursor` pages without depth limit.' },
  findPayerOrders: {
    unsent: ['managerEmail', 'cursor'],
    does: 'The orders whose payer has this e-mail. It is sent in the body, so that it stands in no log; each call is in the audit log, without it.',
  },
  listPaymentLinks: { does: 'Orders with an alias, newest first. The next page is in the `Link` header.' },
  savePayerInformation: {
    does: 'Stores who pays: encrypted, erasable, never part of an order. Every field is optional and checked when given.',
    refuses: ['ORDER_NOT_FOUND', 'ORDER_STATE_CONFLICT', 'STEP_UP_REQUIRED'],
  },
  setPayerEmail: {
    does: 'Stores where the payer gets mail about this order.',
    refuses: ['ORDER_STATE_CONFLICT', 'STEP_UP_REQUIRED'],
  },
  sendOrderLink: {
    does: 'Mails the payer where to pay, and stores the address as the payer’s e-mail.',
    refuses: ['ORDER_STATE_CONFLICT', 'TOO_MANY_REQUESTS'],
  },
  listOrderNotes: {
    does: 'What colleagues wrote on the order, newest first. It may name the payer, so only people of the staff read it; no order, webhook or file carries it.',
  },
  addOrderNote: {
    does: 'Writes a note for colleagues. It cannot be changed, only removed.',
    refuses: CHANGED,
  },
  removeOrderNote: {
    does: 'Removes a note for good. Its author may, and a manager; the audit log keeps who did, and not the text.',
    refuses: ['OBJECT_NOT_FOUND'],
  },
  getPayerInformation: { does: 'Who paid, decrypted for this answer. The reading is in the audit log.' },
  erasePayerInformation: { refuses: ['ORDER_STATE_CONFLICT', 'OBJECT_CONFLICT'] },
  getExchangeInfo: {
    does: 'The median of the price sources that answered in time.',
    refuses: ['INVALID_EXCHANGE_RATE'],
  },
}

const PAYER_GATE = ['PAYER_IDENTITY_REQUIRED', 'KYC_REQUIRED', 'SPENDING_LIMIT_EXCEEDED'] as const

/** A provider sends a callback again that was refused with 429 or 502. */
const PROVIDER = ['CALLBACK_REFUSED', 'NOT_FOUND', 'TOO_MANY_REQUESTS', 'CHANNEL_UNAVAILABLE'] as const

const PAYMENTS: Record<string, OperationWords> = {
  acceptOrder: {
    refuses: [
      'CHANNEL_NOT_AVAILABLE',
      'CHANNEL_UNAVAILABLE',
      ...PAYER_GATE,
      'INVALID_EXCHANGE_RATE',
      'ORDER_STATE_CONFLICT',
    ],
  },
  nameTransaction: { refuses: ['CHANNEL_UNAVAILABLE'] },
  confirmOrder: {
    does: 'The payer says that it is done: the channel is asked at once. It never marks an order paid without the channel’s word.',
    refuses: ['PAYMENT_NOT_RECEIVED', 'ORDER_STATE_CONFLICT', 'CHANNEL_UNAVAILABLE'],
  },
  revertOrder: {
    does: 'Starts a refund; without a body, of everything that is left. `data.refundId` names it, since an order can have several (confirm, cancel and expire answer `data: null`); its fate is told by GET /refunds/{id} and by webhook.',
    refuses: ['ILLEGAL_AMOUNT', ...MONEY, 'CHANNEL_NOT_AVAILABLE', 'CHANNEL_UNAVAILABLE', 'STEP_UP_REQUIRED'],
  },
  listRefunds: { does: 'Refunds, newest first, each with the code of its order.' },
  getRefund: { does: 'One refund with everything that was decided about it.' },
  getRefundAddressMessage: {
    refuses: ['ORDER_NOT_FOUND', 'ORDER_STATE_CONFLICT', 'OBJECT_NOT_FOUND', 'ILLEGAL_AMOUNT', 'REFUND_TOO_LARGE'],
  },
  approveRefund: { does: 'The operator approves a refund that waits for it.', refuses: MONEY },
  rejectRefund: {
    does: 'The operator refuses a refund, also one whose named transaction vanished, or that left before a restore with another amount or to another address. The order returns to the state before it.',
    refuses: [...MONEY, 'CHANNEL_UNAVAILABLE'],
  },
  setRefundAddress: { refuses: [...MONEY, 'STEP_UP_REQUIRED'] },
  settleRefund: { refuses: [...MONEY, 'CHANNEL_UNAVAILABLE', 'BODY_TOO_LARGE'] },
  addRefundProof: { refuses: ['OBJECT_CONFLICT', 'BODY_TOO_LARGE'] },
  reportRefundTransaction: { refuses: [...MONEY, 'CHANNEL_UNAVAILABLE'] },
  getMispaymentRefund: {
    does: 'The payer’s own address, one that someone else proposed, or neither, and then the payer is asked.',
    refuses: ['OBJECT_NOT_FOUND'],
  },
  refundMispayment: { refuses: ['ILLEGAL_AMOUNT', ...MONEY, 'CHANNEL_NOT_AVAILABLE', 'STEP_UP_REQUIRED'] },
  listMispayments: {
    does: 'Payments that are too little, too much, too late, double or in another token; each waits for a decision or has one.',
  },
  bearLoss: { refuses: CHANGED },
  acceptMispayment: { refuses: [...MONEY, ...PAYER_GATE] },
  ignoreMispayment: { does: 'Closes the record; the money stays where it is. The reason is kept.', refuses: MONEY },
  listUnmatchedTransfers: {
    does: 'Transfers to an address of your own wallet that no order asked for, newest first, with the orders that may have been meant. A SuperAdmin also sees those to the operator’s addresses.',
  },
  matchTransfer: {
    does: 'The transfer counts for the order from now on, as if it had matched: it is screened, booked, and too much, too little or too late like any other. It cannot be taken back; refund the order instead.',
    refuses: ['ORDER_NOT_FOUND', 'ORDER_STATE_CONFLICT', 'OBJECT_CONFLICT'],
  },
  ignoreTransfer: {
    does: 'The transfer counts for nothing and leaves the list of open ones. The reason is kept; it can still be matched.',
    refuses: ['OBJECT_CONFLICT'],
  },
  removeChannelAccount: {
    does:
      'Deletes the company’s credentials; new payments go through the operator’s account. While open payments or ' +
      'unfinished refunds need the account, `force` has to say so: then payers whose payment is open choose again, and ' +
      'money that they had paid already is found when the account is put back within 30 days.',
    refuses: ['ACCOUNT_IN_USE', 'OBJECT_CONFLICT'],
  },
  saveChannelAccount: { refuses: ['CHANNEL_NOT_AVAILABLE', 'ACCOUNT_IN_USE', 'OBJECT_CONFLICT'] },
  listChannels: { refuses: ['ORDER_NOT_FOUND', 'ILLEGAL_AMOUNT', 'INVALID_EXCHANGE_RATE'] },
  receiveCallback: { refuses: PROVIDER },
  receiveCompanyCallback: { refuses: PROVIDER },
  takeSumsubCallback: { refuses: ['CALLBACK_REFUSED', 'NOT_FOUND', 'FORBIDDEN'] },
  listChannelExchanges: { refuses: ['ORDER_NOT_FOUND'] },
}

const COMPLIANCE: Record<string, OperationWords> = {
  listKyc: { does: 'Identity checks, newest first; `status` filters by state, and by what waits.' },
  startKyc: { refuses: ['ORDER_NOT_FOUND', 'PAYER_IDENTITY_REQUIRED', 'OBJECT_CONFLICT', 'ORDER_STATE_CONFLICT'] },
  getKyc: {
    does: 'One identity check, who it is about, the orders that asked for it, and its history. A look at the payer’s e-mail is in the audit log.',
  },
  approveKyc: { does: 'A person approves a check of the provider `manual`.', refuses: CHANGED },
  refuseKyc: { does: 'A person refuses a check of the provider `manual`.', refuses: CHANGED },
  listScreenings: {
    does: 'Addresses that were screened before money moved, newest first: senders, destinations of refunds, settlement addresses.',
  },
  getScreening: { does: 'One screening with every answer of every source, as it came.' },
  releaseScreening: { refuses: ['OBJECT_CONFLICT'] },
  returnScreening: { refuses: ['OBJECT_CONFLICT'] },
  requestEdd: { refuses: ['OBJECT_CONFLICT'] },
  completeEdd: {
    does: 'Ends the enhanced check with an outcome and a spending limit. Sends `kyc.edd_completed`.',
    refuses: CHANGED,
  },
}

const LEDGER: Record<string, OperationWords> = {
  listDifferences: {
    does: 'Where the books and the records differ. Settlements and refunds of the company wait until it is explained.',
  },
  explainDifference: { refuses: CHANGED },
  recordRefund: { refuses: ['OBJECT_CONFLICT', 'ORDER_STATE_CONFLICT', 'ILLEGAL_AMOUNT', 'REFUND_TOO_LARGE'] },
  listSettlements: { does: 'Payments of USDC to companies, newest first.' },
  createSettlement: { refuses: ['OBJECT_CONFLICT', ...BOOKS] },
  approveSettlement: {
    does: 'The operator approves a settlement; it can then be paid.',
    refuses: [...CHANGED, ...BOOKS],
  },
  reportSettlementPaid: { refuses: [...CHANGED, 'CHANNEL_UNAVAILABLE'] },
  cancelSettlement: {
    does: 'Withdraws a settlement that is not paid. What it would have paid is owed again.',
    refuses: [...CHANGED, 'CHANNEL_UNAVAILABLE'],
  },
}

const WEBHOOKS: Record<string, OperationWords> = {
  listWebhookDeliveries: {
    does: 'One entry for each (order, event), with the attempts to send it. The id is the `Service-Webhook-Id`.',
  },
  listWebhookAddresses: {
    does: 'Each address that orders named for webhooks and that had one in these days: how many arrived, wait and failed, and the last failure. At most 100, the newest delivery first; `total` counts all. Operators name a company.',
  },
  getWebhookDelivery: { does: 'A delivery with its attempts and the request as it was sent.' },
  getWebhookDeliveryAsCurl: { does: 'A `curl` command that sends the same body with a fresh signature.' },
  redeliverWebhook: { does: 'Sends the same bytes under the same id once more.', refuses: CHANGED },
  redeliverWebhooks: {
    does: 'Sends every delivery that the filters match once more, at most 10 000; without `status`, the failed and parked ones. The filters of the list, in the body or in the address; what is no filter is refused.',
  },
  getWebhookSubscriptions: { does: 'The events that are sent, and the optional ones that the operator can enable.' },
  changeWebhookSubscriptions: {
    does: 'The operator chooses the optional events of an account. The four default events always stay.',
  },
  getWebhookSecret: { does: 'The secret that signs the webhooks of your account. Keep it on your server.' },
  regenerateWebhookSecret: { does: 'Makes a new secret. The old one stops working at once, also for retries.' },
  prepareWebhookSecret: {
    does: 'Makes the next secret and signs nothing with it yet, so that your server can learn it first.',
  },
  testWebhookSecret: {
    does: 'Sends one test webhook, signed by the prepared secret, to an address you name.',
    refuses: ['OBJECT_CONFLICT', 'OBJECT_NOT_FOUND'],
  },
  activateWebhookSecret: {
    does: 'Signs with the prepared secret from now on.',
    refuses: ['OBJECT_CONFLICT', 'OBJECT_NOT_FOUND'],
  },
}

const JOINING = ['EMAIL_ALREADY_REGISTERED', 'OBJECT_NOT_FOUND', 'STEP_UP_REQUIRED'] as const

const ACCOUNTS: Record<string, OperationWords> = {
  register: {
    does: 'Without a credential no `Idempotency-Key` counts. Where the answer was lost, log in with the address and the password: if that works, the account is there, and `GET /users/me` names its company; otherwise register again.',
    refuses: [...JOINING, 'WEAK_PASSWORD', 'FORBIDDEN'],
  },
  loginManager: { refuses: [...LOGIN, 'BUSY'] },
  login: { refuses: [...LOGIN, 'BUSY'] },
  validateOtp: {
    unsent: ['emailOtp', 'recoveryCode', 'passkey'],
    refuses: ['INVALID_OTP', 'ACCOUNT_LOCKED', 'UNAUTHORIZED', 'CROSS_SITE_REQUEST', 'TOO_MANY_REQUESTS'],
  },
  sendEmailOtp: { refuses: ['CROSS_SITE_REQUEST'] },
  sendVerification: { does: 'Sends the mail with the verification link again. A verified address gets none.' },
  refreshToken: { refuses: ['UNAUTHORIZED', 'CROSS_SITE_REQUEST'] },
  signOut: { refuses: ['CROSS_SITE_REQUEST'] },
  listSessions: { does: 'Where you are logged in.' },
  revokeSession: { does: 'Ends the session at once; its tokens stop working.' },
  revokeOtherSessions: { does: 'Ends every session but the one that asks.' },
  sendPasswordReset: {},
  changeForgottenPassword: {
    refuses: ['INVALID_RESET_TOKEN', 'WEAK_PASSWORD', 'INVALID_OTP', 'FORBIDDEN', 'EMAIL_ALREADY_REGISTERED'],
  },
  changePassword: {
    does: 'Ends all other sessions.',
    refuses: ['INVALID_CREDENTIALS', 'WEAK_PASSWORD', 'ACCOUNT_LOCKED'],
  },
  verifyEmail: { does: 'Confirms the address that the mail went to.', refuses: ['INVALID_RESET_TOKEN', 'INVALID_OTP'] },
  listPasskeys: { does: 'Your passkeys, oldest first. Keys themselves are never shown.' },
  beginPasskey: {
    does: 'Answers what `navigator.credentials.create` needs. It is good for five minutes, and nothing changes before the passkey is added.',
    refuses: ['OBJECT_CONFLICT', 'STEP_UP_REQUIRED'],
  },
  addPasskey: {
    does: 'Checks what the authenticator made and keeps its public key as a second factor. A mail tells you about it.',
    refuses: ['INVALID_OTP', 'OBJECT_CONFLICT', 'STEP_UP_REQUIRED'],
  },
  removePasskey: { does: 'It proves nothing from now on. Without any factor of your own, codes come by email.' },
  beginPasskeyProof: {
    does: 'For the pending login in this browser, or for a step-up when you send a bearer. Send the signed answer to POST /auth/otp as `passkey`.',
    refuses: ['UNAUTHORIZED', 'OBJECT_CONFLICT', 'CROSS_SITE_REQUEST'],
  },
  setupTwoFactor: {
    does: 'Answers what an authenticator app reads. Nothing changes before it is enabled.',
    refuses: [...CHANGED, 'STEP_UP_REQUIRED'],
  },
  enableTwoFactor: {
    does: 'Enrols the app when its code is right, and answers ten recovery codes.',
    refuses: ['INVALID_OTP', 'OBJECT_CONFLICT', 'STEP_UP_REQUIRED'],
  },
  renewRecoveryCodes: { does: 'Makes ten new recovery codes. The old ones stop working.', refuses: CHANGED },
  disableTwoFactor: { does: 'Removes the authenticator app. Codes then come by e-mail.', refuses: CHANGED },
  getMe: { does: 'The user that the credential belongs to, with the company.' },
  changeMe: { does: 'Changes name, phone number and language of the user who asks.' },
  listUsers: { does: 'Users of your company, with filters.' },
  inviteUser: { unsent: ['companyId'], refuses: JOINING },
  getUser: { does: 'One user of your company.' },
  changeUser: { refuses: ['OBJECT_CONFLICT', 'EMAIL_ALREADY_REGISTERED', 'STEP_UP_REQUIRED'] },
  approveUser: { does: 'A Cashier or Observer who registered may work from now on.', refuses: CHANGED },
  listCompaniesOfUser: { does: 'The companies that are attached to a SuperManager.' },
  attachCompanies: {
    does: 'Replaces the companies of a SuperManager by the list.',
    refuses: [...CHANGED, 'STEP_UP_REQUIRED'],
  },
  resetTwoFactorOfUser: {
    does: 'Removes the authenticator of a user. The next login sends a code by e-mail.',
    refuses: CHANGED,
  },
  listApiKeys: {
    does: 'API keys of your company that are not revoked, the 500 that were used or made last. Secrets are never shown again.',
  },
  startDeviceLogin: {
    does: 'For programs that cannot show a login page (RFC 8628). Show `userCode` and `verificationUri` to the person, then ask POST /auth/device/token until a person has decided.',
  },
  claimDeviceLogin: {
    does: 'Ask at most every `intervalSeconds`, and longer after SLOW_DOWN. The key is handed out once; within a minute the same code gets the same answer again, so that a lost answer is not a lost key.',
    refuses: ['AUTHORIZATION_PENDING', 'SLOW_DOWN', 'AUTHORIZATION_DENIED', 'DEVICE_CODE_EXPIRED'],
  },
  getDeviceLogin: { does: 'What the page of the back office shows before a person confirms.' },
  approveDeviceLogin: {
    does: 'The program then fetches a key of your company. You may grant fewer scopes than it asked for. A mail tells you about it.',
    refuses: ['OBJECT_CONFLICT'],
  },
  denyDeviceLogin: { does: 'The program is told that it was refused.', refuses: ['OBJECT_CONFLICT'] },
  revokeOwnApiKey: {
    does: 'Whoever holds a key may end it: `comptoir logout` does. An unknown key answers the same.',
  },
  createApiKey: {
    does: 'Makes a key for a server. The secret is shown once, in this answer.',
    refuses: ['STEP_UP_REQUIRED'],
  },
  revokeApiKey: { does: 'The key stops working at once.' },
  listAnnouncements: { does: 'What has not ended and was not taken down. The back office shows it on every page.' },
  createAnnouncement: { does: 'Everybody who works in the back office sees it within a minute, as plain text.' },
  deleteAnnouncement: { does: 'It is no longer shown. The audit log keeps what it said.' },
  listRequests: {
    does: 'Every call by an API key, every change and every refusal of the last days, without bodies and queries. What a person’s page only reads is left out.',
  },
  listAuditLog: { does: 'Who did what, when, from where, and whether it was allowed.' },
}

const COMPANIES: Record<string, OperationWords> = {
  listCompanies: { does: 'Your company; for operators, all that they may see.' },
  getCompany: { does: 'A company with its settings.' },
  changeCompany: { refuses: ['OBJECT_CONFLICT', 'STEP_UP_REQUIRED', 'FORBIDDEN'] },
  setCompanyLogo: { refuses: ['BODY_TOO_LARGE'] },
  removeCompanyLogo: { does: 'Payers see the name alone again.' },
  approveCompany: { does: 'The operator lets a company sell.', refuses: CHANGED },
  listSalesPoints: { does: 'The shops of your company.' },
  createSalesPoint: { does: 'A shop groups tills. A new company has one already.' },
  getSalesPoint: { does: 'One shop.' },
  changeSalesPoint: { does: 'Changes the fields that are given.', refuses: CHANGED },
  listCollectors: { does: 'The tills of your company, with filters by shop and state.' },
  getCollector: { does: 'One till.' },
  changeCollector: { does: 'Changes the fields that are given. A closed till takes no new orders.', refuses: CHANGED },
  addCollector: {
    does: 'A till’s `identifier` is the `merchantIdentifier` of its orders.',
    refuses: [...CHANGED, 'OBJECT_NOT_FOUND'],
  },
  listStaticLinks: { does: 'The static links of your company, newest first, and what each brought.' },
  createStaticLink: {
    unsent: ['minAmount', 'maxAmount'],
    does: 'An address to print or send that makes a new order for each payment: a donation, a table in a café, the code at a till. Each order costs `amount`, or what the payer types within the limits.',
    refuses: ['UNKNOWN_MERCHANT_IDENTIFIER'],
  },
  getStaticLink: { does: 'One static link, and what it brought.' },
  changeStaticLink: {
    unsent: ['minAmount', 'maxAmount'],
    does: 'Changes the fields that are given; null clears. Orders that exist stay as they are. `active: false` turns the address off.',
    refuses: ['UNKNOWN_MERCHANT_IDENTIFIER'],
  },
  listBuyButtons: { does: 'The buy buttons of your company.' },
  createBuyButton: { does: 'A buy button sells at a fixed price on one website.', refuses: CHANGED },
  getBuyButton: { does: 'One buy button.' },
  changeBuyButton: { does: 'Changes the fields that are given.', refuses: CHANGED },
  deleteBuyButton: { does: 'Removes the button. Its open sessions end.', refuses: CHANGED },
  createBuyButtonSession: {
    does: 'One buyer’s way through a button. Its id is the `sessionId` of the order.',
    refuses: ['OBJECT_CONFLICT', 'ILLEGAL_AMOUNT', 'ALIAS_IN_USE', 'WEBSITE_MISMATCH', 'OBJECT_NOT_FOUND'],
  },
  getBuyButtonSession: { does: 'One session, and the order made through it.' },
  createTillDevice: {
    does: 'Makes a code that enrols one tablet or phone as a till. Type it at `/till` within ten minutes. Needs a fresh second factor.',
    refuses: ['UNKNOWN_MERCHANT_IDENTIFIER'],
  },
  listTillDevices: { does: 'All devices that were ever enrolled, newest first, also revoked ones.' },
  revokeTillDevice: { does: 'The device forgets who it is, and everyone who signed in there is signed out at once.' },
  getTillPin: { does: 'The PIN itself is never shown.' },
  changeTillPin: { does: 'Sets the PIN that you sign in with at tills, and unlocks you where five were wrong.' },
  enrolTillDevice: {
    does: 'Exchanges the code for a cookie that makes this browser a till. Works once.',
    refuses: ['INVALID_OTP', 'CROSS_SITE_REQUEST'],
  },
  getTill: { does: 'Read with the device’s cookie.', refuses: ['UNAUTHORIZED'] },
  signInAtTill: {
    does: 'Answers an access token that is good for this till alone, and sets the refresh cookie of this person (`x-user-id`). A manager signs in as a cashier. Five wrong PINs lock the person on this device.',
    refuses: ['INVALID_CREDENTIALS', 'PIN_LOCKED', 'UNAUTHORIZED', 'CROSS_SITE_REQUEST'],
  },
  getTillShift: { does: 'Counts what this person sold at this till since the sign-in, by currency.' },
  getTillDisplay: {
    does: 'The newest order of the till, for a second screen. Read with the device’s cookie.',
    refuses: ['UNAUTHORIZED'],
  },
  endBuyButtonSession: {
    does: 'Ends the session. The shop’s call also cancels its open order, and answers 409 where money has come already or the order is under review. The buyer’s page may end it with the token that the landing page gave it; its order then stays as it is.',
    refuses: CHANGED,
  },
  getBuyButtonSessionByCode: { does: 'The session that an order was made through.' },
}

export const OPERATION_WORDS: Record<string, OperationWords> = {
  ...ORDERS,
  ...PAYMENTS,
  ...COMPLIANCE,
  ...LEDGER,
  ...WEBHOOKS,
  ...ACCOUNTS,
  ...COMPANIES,
}
