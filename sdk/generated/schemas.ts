// Printed from the OpenAPI document by `npm run sdk`; do not edit.

/** Every failure has this shape. */
export type Failure = {
  /** Whether the call did what it was asked to. */
  success: false
  /** HTTP status of the answer. */
  status: number
  /** The answer itself. */
  data: null
  /** What went wrong. */
  error: {
    /** A stable identifier of the error. */
    code: "MALFORMED_JSON" | "ILLEGAL_AMOUNT" | "INVALID_EXCHANGE_RATE" | "INVALID_CREDENTIALS" | "INVALID_OTP" | "INVALID_RESET_TOKEN" | "AUTHORIZATION_PENDING" | "SLOW_DOWN" | "AUTHORIZATION_DENIED" | "DEVICE_CODE_EXPIRED" | "EMAIL_ALREADY_REGISTERED" | "WEAK_PASSWORD" | "UNKNOWN_MERCHANT_IDENTIFIER" | "UNKNOWN_SESSION" | "WEBSITE_MISMATCH" | "ALIAS_IN_USE" | "CHANNEL_NOT_AVAILABLE" | "PAYER_IDENTITY_REQUIRED" | "KYC_REQUIRED" | "SPENDING_LIMIT_EXCEEDED" | "REFUND_TOO_LARGE" | "UNAUTHORIZED" | "CALLBACK_REFUSED" | "FORBIDDEN" | "STEP_UP_REQUIRED" | "PIN_LOCKED" | "CROSS_SITE_REQUEST" | "NOT_FOUND" | "ORDER_NOT_FOUND" | "OBJECT_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "ORDER_STATE_CONFLICT" | "PAYMENT_NOT_RECEIVED" | "PAYMENT_ORPHANED" | "BOOKS_DIFFER" | "REFUND_NOT_COVERED" | "AMBIGUOUS_REFERENCE" | "IDEMPOTENCY_IN_PROGRESS" | "ACCOUNT_IN_USE" | "OBJECT_CONFLICT" | "MALFORMED_REQUEST" | "REQUEST_TIMEOUT" | "HEADERS_TOO_LARGE" | "BODY_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "VALIDATION_FAILED" | "IDEMPOTENCY_KEY_REUSED" | "TOO_MANY_REQUESTS" | "ACCOUNT_LOCKED" | "INTERNAL_ERROR" | "ORDER_GONE" | "CHANNEL_UNAVAILABLE" | "DATABASE_UNAVAILABLE" | "BUSY"
    /** What to do next, in one or two sentences. */
    message: string
    /** Field by field for validation; kycUrl and kycId where an identity check is needed; needs, left, missing and owedAfter (USDC) where a refund is not covered; liveSession, the id of the buy-button session that has the orderRef, or busySession, of one whose order has money, is being confirmed or under review. */
    details?: Array<{
      /** Field at fault, with dots between levels. */
      path: string
      /** What to do next, in one or two sentences. */
      message: string
    }>
    /** The X-Request-Id of this answer; quote it when you contact support. */
    requestId: string
    /** Page about this error: what causes it and what cures it. */
    docs: string
  }
}

/** An order. Every key is always present; absent values are null. */
export type Order = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** Unguessable; used in paths. */
  code: string
  /** 8 characters for reading aloud. */
  shortCode: string
  /** Decimal text with exactly the currency’s digits. */
  fromAmount: string
  /** Decimal text with 6 digits. */
  toAmount: string
  /** Fiat currency. */
  fromAsset: string
  /** Settlement asset. */
  toAsset: string
  /** The order’s state. */
  status: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED"
  /** The chosen channel, null before accept. */
  paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay" | null
  /** Only for readers with a credential of the order’s company. */
  webhookUrl?: string | null
  /** Your reference; with it the order is a payment link. */
  alias: string | null
  /** What is sold. */
  goods: {
    /** Name of the goods. */
    goodsName?: string
    /** 01 tangible, 02 virtual */
    goodsType?: "01" | "02"
    /** Four-digit category of the goods. */
    goodsCategory?: "0000" | "1000" | "2000" | "3000" | "4000" | "5000" | "6000" | "7000" | "8000" | "9000" | "A000" | "B000" | "C000" | "D000" | "E000" | "F000" | "Z000"
    /** More about the goods. */
    goodsDetail?: string
    /** How many. */
    goodsQuantity?: string
  } | null
  /** Your own names and texts. Only for readers with a credential of the order’s company. */
  metadata?: Record<string, string> | null
  /** UTC with milliseconds. */
  createdAt: string
  /** Grows with every change of the order. */
  updatedAt: string
  /** When an unpaid order ends. */
  expiresAt: string
  /** When the payment became final. */
  paidAt: string | null
  /** In toAsset, 6 digits. */
  refundedAmount: string
  /** Units of toAsset for one unit of fromAsset. */
  rate: string
  /** The page to show, as a link or QR code. */
  paymentUrl: string
  /** True: the payer’s identity is not required for this order. The shop’s choice: a SimpleUser’s is ignored. */
  anonymous: boolean
  /** The till. */
  merchantIdentifier: string | null
  /** The shop. */
  websiteUrl: string | null
  /** Where the payer goes after paying. */
  returnUrl: string | null
  /** Where the payer goes after cancelling. */
  cancelUrl: string | null
}

/** An order found by its reference, which can be guessed. */
export type ReferenceOrder = {
  /** Null without a credential of the order’s company. */
  _id: string | null
  /** Null without a credential of the order’s company. */
  code: string | null
  /** Null without a credential of the order’s company. */
  shortCode: string | null
  /** Decimal text with exactly the currency’s digits. */
  fromAmount: string
  /** Decimal text with 6 digits. */
  toAmount: string
  /** Fiat currency. */
  fromAsset: string
  /** Settlement asset. */
  toAsset: string
  /** The order’s state. */
  status: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED"
  /** The chosen channel, null before accept. */
  paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay" | null
  /** Only for readers with a credential of the order’s company. */
  webhookUrl?: string | null
  /** Your reference; with it the order is a payment link. */
  alias: string | null
  /** What is sold. */
  goods: {
    /** Name of the goods. */
    goodsName?: string
    /** 01 tangible, 02 virtual */
    goodsType?: "01" | "02"
    /** Four-digit category of the goods. */
    goodsCategory?: "0000" | "1000" | "2000" | "3000" | "4000" | "5000" | "6000" | "7000" | "8000" | "9000" | "A000" | "B000" | "C000" | "D000" | "E000" | "F000" | "Z000"
    /** More about the goods. */
    goodsDetail?: string
    /** How many. */
    goodsQuantity?: string
  } | null
  /** Your own names and texts. Only for readers with a credential of the order’s company. */
  metadata?: Record<string, string> | null
  /** UTC with milliseconds. */
  createdAt: string
  /** Grows with every change of the order. */
  updatedAt: string
  /** When an unpaid order ends. */
  expiresAt: string
  /** When the payment became final. */
  paidAt: string | null
  /** In toAsset, 6 digits. */
  refundedAmount: string
  /** Units of toAsset for one unit of fromAsset. */
  rate: string
  /** Null without a credential of the order’s company. */
  paymentUrl: string | null
  /** True: the payer’s identity is not required for this order. The shop’s choice: a SimpleUser’s is ignored. */
  anonymous: boolean
  /** The till. */
  merchantIdentifier: string | null
  /** The shop. */
  websiteUrl: string | null
  /** Null without a credential of the order’s company. */
  returnUrl: string | null
  /** Null without a credential of the order’s company. */
  cancelUrl: string | null
}

/** A company or an association that sells. */
export type Company = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** Name for people. */
  name: string
  /** Which kind it is. */
  kind: "company" | "association"
  /** ISO 3166-1 alpha-2. */
  country: string | null
  /** 14 digits, France only; null when not given. */
  siret: string | null
  /** Of the EU, the United Kingdom or Switzerland. */
  vatNumber: string | null
  /** Whether the operator approved the company. */
  approved: boolean
  /** Whether one of its managers has confirmed the e-mail address. */
  managerVerified: boolean
  /** Where the company’s USDC is sent. */
  settlementAddress: string | null
  /** Chain id of the settlement. */
  settlementNetwork: number | null
  /** The database was restored, and the payout address is the one of its backup. Nothing is paid out to it before somebody of the company sends it again, the same or another, with a fresh second factor. */
  settlementRestored: boolean
  /** EUR; orders in other currencies are compared at their rate. */
  maxOrderAmount: string
  /** EUR; orders of this amount and above need payer information. */
  identityThresholdAmount: string
  /** How much a payment may fall short, in hundredths of a percent. */
  toleranceBps: number
  /** The most that a payment may fall short, in millionths of a USDC. */
  toleranceMaxUnits: string
  /** How long after the order’s end late payments are accepted. */
  lateAcceptHours: number
  /** Late payments of cancelled and failed orders: `accept` them within `lateAcceptHours`, or `hold` all. */
  lateAfterCancel: "accept" | "hold"
  /** How long after its end an unpaid order can still be accepted, at a fresh rate. 0: never. */
  requoteHours: number
  /** Payment links: accepting takes a fresh rate when the last one is older than this. Accepting the same channel again keeps its price for as long. Null: one rate as long as the link lives. */
  linkQuoteMinutes: number | null
  /** USDC that each settlement leaves with the operator to cover refunds. */
  settlementReserve: string
  /** Refunds wait for the operator. */
  refundApproval: boolean
  /** USDC. A larger refund needs a person with a fresh second factor; API keys are refused, whatever their limit. */
  refundStepUpLimit: string
  /** The most that the role may refund without approval, at once and in any 24 hours: USDC, null for no limit. A missing role has no limit; API keys then have the managers’ limit. */
  refundLimits: {
    /** Limits of the role SuperManager. */
    SuperManager?: {
      /** The most that one refund may be, decimal text in USDC; null: no limit. */
      single: string | null
      /** The most in any 24 hours, decimal text in USDC; null: no limit. */
      day: string | null
    }
    /** Limits of the role Manager. */
    Manager?: {
      /** The most that one refund may be, decimal text in USDC; null: no limit. */
      single: string | null
      /** The most in any 24 hours, decimal text in USDC; null: no limit. */
      day: string | null
    }
    /** Limits of the role Association. */
    Association?: {
      /** The most that one refund may be, decimal text in USDC; null: no limit. */
      single: string | null
      /** The most in any 24 hours, decimal text in USDC; null: no limit. */
      day: string | null
    }
    /** Limits of API keys. */
    Service?: {
      /** The most that one refund may be, decimal text in USDC; null: no limit. */
      single: string | null
      /** The most in any 24 hours, decimal text in USDC; null: no limit. */
      day: string | null
    }
  }
  /** The operator’s fee, in hundredths of a percent. */
  feeBps: number
  /** EUR; payers are checked from this amount on. Null: never. */
  kycThreshold: string | null
  /** EUR that a checked payer may spend in 30 days without enhanced due diligence. Null: no limit. */
  kycLimit: string | null
  /** The name on the sign, if it is not the name itself. */
  displayName: string | null
  /** Who the payer’s contract is with. */
  legalName: string | null
  /** `#rrggbb`. Pages use it as far as it can be read. */
  brandColor: string | null
  /** Where payers ask for help. */
  supportEmail: string | null
  /** Where payers call for help. */
  supportPhone: string | null
  /** Terms that payers’ pages link to. */
  termsUrl: string | null
  /** Of mails to customers who have not chosen one on our pages; null: that of the company’s country. */
  customerLanguage: "en" | "fr" | "de" | "es" | "it" | null
  /** Set it with PUT /companies/{id}/logo. */
  logoUrl: string | null
  /** When it was created. UTC, with milliseconds. */
  createdAt: string
  /** When it last changed. UTC, with milliseconds. */
  updatedAt: string
}

/** A shop: a place with tills. */
export type SalesPoint = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** Name for people. */
  name: string
  /** The company it belongs to. */
  company: string
  /** City. */
  city: string | null
  /** ISO 3166-1 alpha-2. */
  country: string | null
  /** Street and number. */
  street: string | null
  /** Postal code. */
  zipCode: string | null
  /** Address of the logo. */
  logoUrl: string | null
  /** Latitude in degrees. */
  lat: number | null
  /** Longitude in degrees. */
  lng: number | null
  /** When it was created. UTC, with milliseconds. */
  createdAt: string
  /** When it last changed. UTC, with milliseconds. */
  updatedAt: string
}

/** A till. */
export type Collector = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** Name of the till in orders (`merchantIdentifier`). */
  identifier: string
  /** Your device’s own number. */
  uuid: string | null
  /** Receives the events of orders that name no address themselves; null: none does. */
  webhookUrl: string | null
  /** Whether it may be used. */
  active: boolean
  /** The company it belongs to. */
  company: string
  /** The shop of the till. */
  salePoint: {
    /** Internal identifier: 24 hex characters, in order of creation. */
    _id: string
    /** Name for people. */
    name: string
  }
  /** Cashiers of the till. */
  cashiers: Array<{
    /** Internal identifier: 24 hex characters, in order of creation. */
    _id: string
    /** Only for those who manage people. */
    email: string | null
    /** First name. */
    firstName: string
    /** Last name. */
    lastName: string
  }>
  /** When it was created. UTC, with milliseconds. */
  createdAt: string
  /** When it last changed. UTC, with milliseconds. */
  updatedAt: string
}

/** A button on a website. */
export type BuyButton = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** Name for people. */
  name: string
  /** The company it belongs to. */
  company: string
  /** The shop’s website. */
  websiteUrl: string
  /** Price in `currency`. */
  price: string
  /** Fiat currency of the price. */
  currency: string
  /** Your reference of the item. */
  itemRef: string | null
  /** Receives the events of orders made through it. */
  callbackUrl: string | null
  /** Whether the page that shows the button may name another price. Off by default: anyone can change a page’s address, so the shop must then compare `fromAmount` before it delivers. */
  pagePrice: boolean
  /** When it was created. UTC, with milliseconds. */
  createdAt: string
  /** When it last changed. UTC, with milliseconds. */
  updatedAt: string
}

/** One buyer’s session at a buy button. */
export type BuyButtonSession = {
  /** The `sessionId` of an order. */
  _id: string
  /** Order code: unguessable, used in paths. */
  code: string
  /** The company it belongs to. */
  company: string
  /** The buy button. */
  button: string
  /** Text on the button. */
  buttonName: string | null
  /** Your reference; unique among live sessions. */
  orderRef: string
  /** Price in `currency`. */
  price: string
  /** Fiat currency of the price. */
  currency: string
  /** The shop’s website. */
  websiteUrl: string
  /** Receives the events of orders made through it. */
  callbackUrl: string | null
  /** Where the payer goes after cancelling. */
  cancelUrl: string | null
  /** Where the payer goes after paying. */
  returnUrl: string | null
  /** The newest order of this session. */
  order: string | null
  /** Whether the session was ended. */
  ended: boolean
  /** When it was created. UTC, with milliseconds. */
  createdAt: string
}

/** An address that makes a new order for each payment. */
export type StaticLink = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** Letters and digits, in the public address. */
  code: string
  /** The page to show, as a link or QR code. Each visit makes a new order. */
  url: string
  /** The QR code to print and put up. */
  posterUrl: string
  /** Name for people. */
  name: string
  /** The company it belongs to. */
  company: string
  /** The till. */
  merchantIdentifier: string
  /** Fiat currency of the price. */
  currency: string
  /** Decimal text in the asset of the object. */
  amount: string | null
  /** The least that the payer may type. */
  minAmount: string | null
  /** The most that the payer may type. */
  maxAmount: string | null
  /** Receives the order’s events. */
  webhookUrl: string | null
  /** Where the payer goes after paying. */
  returnUrl: string | null
  /** A link that is off makes no orders; its page says so. */
  active: boolean
  /** Orders made through this link. */
  orders: number
  /** Of these, paid ones. */
  paid: number
  /** Sum of what was paid towards their prices, in `currency`. */
  paidAmount: string
  /** When it was created. UTC, with milliseconds. */
  createdAt: string
  /** When it last changed. UTC, with milliseconds. */
  updatedAt: string
}

/** A tablet or phone that cashiers sign in at with a PIN. */
export type TillDevice = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** The company it belongs to. */
  company: string
  /** Name for people. */
  name: string
  /** The till that the device is. */
  collector: {
    /** Internal identifier: 24 hex characters, in order of creation. */
    _id: string
    /** The `merchantIdentifier`. */
    identifier: string
  }
  /** The browser that was enrolled. */
  userAgent: string | null
  /** When the code was made. */
  createdAt: string
  /** When the code was used; null before. */
  enrolledAt: string | null
  /** When the device last asked, to the minute. */
  lastSeenAt: string | null
  /** When it was revoked; null while it works. */
  revokedAt: string | null
}

/** A person or machine that can log in. */
export type User = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** E-mail address. */
  email: string
  /** First name. */
  firstName: string
  /** Last name. */
  lastName: string
  /** Role. */
  role: "SuperAdmin" | "SuperManager" | "Manager" | "Association" | "Cashier" | "Observer" | "SimpleUser" | "Service"
  /** Phone number. */
  phoneNumber: string | null
  /** Public id of the newest API key of this user; never the secret. */
  apiKey: string | null
  /** E-mail verified and, for Cashier and Observer, approved. */
  valid: boolean
  /** Has not chosen a password yet; inviting again sends a new link. */
  invited: boolean
  /** Whether a login asks for a second factor. */
  twoFactorAuthEnabled: boolean
  /** An authenticator app is enrolled; otherwise codes come by e-mail. */
  authenticatorEnabled: boolean
  /** A passkey is registered and can prove a login. */
  passkeyEnabled: boolean
  /** Gets a mail for each sale of the company that the user may see. */
  saleMails: boolean
  /** When the user last logged in; null before the first time. */
  lastConnection: string | null
  /** Language of mails and pages. */
  lang: string
  /** Whether the user may no longer log in. */
  disabled: boolean
  /** What this account still needs before it works; empty when nothing is missing. */
  missing: Array<string>
  /** The company it belongs to. */
  company: {
    /** Internal identifier: 24 hex characters, in order of creation. */
    _id: string
    /** Name for people. */
    name: string
    /** Which kind it is. */
    kind: "company" | "association"
    /** ISO 3166-1 alpha-2. */
    country: string | null
    /** 14 digits, France only; null when not given. */
    siret: string | null
    /** Approved by the operator; before that nothing can be sold. */
    approved: boolean | null
    /** Where the company’s USDC is sent. */
    settlementAddress: string | null
    /** Chain id of the settlement. */
    settlementNetwork: number | null
  } | null
}

/** The identity check of one payer. */
export type Kyc = {
  /** Internal identifier: 24 hex characters, in order of creation. */
  _id: string
  /** The company it belongs to. */
  company: string
  /** Who checks: a person (`manual`) or a provider. */
  provider: "manual" | "sumsub"
  /** Where the object stands. */
  status: "pending" | "approved" | "refused"
  /** Enhanced due diligence. */
  eddStatus: "none" | "requested" | "pending" | "completed"
  /** What the enhanced check found; null before. */
  eddOutcome: "approved" | "refused" | null
  /** EUR in 30 days, once enhanced due diligence is completed. That of a refused one stays while the next one is open. */
  spendingLimit: string | null
  /** The provider’s last message. */
  message: string | null
  /** When it was created. UTC, with milliseconds. */
  createdAt: string
  /** When it last changed. UTC, with milliseconds. */
  updatedAt: string
}

/** How a company offers one of its channels. */
export type ChannelRule = {
  /** Payment channel. */
  channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
  /** Whether payers may choose it. */
  offered: boolean
  /** Orders below are not offered this channel. EUR; orders in another currency are compared at the rate of the moment. Null: no limit. */
  minAmount: string | null
  /** Orders above are not offered this channel. EUR; orders in another currency are compared at the rate of the moment. Null: no limit. */
  maxAmount: string | null
  /** What payers read, by language (`en`, `fr`, `de`, `es`, `it`). In other languages they read the channel’s own name. */
  texts: {
    /** What payers read in English. */
    en?: {
      /** The name that payers read; null: the channel’s own. */
      label: string | null
      /** The line below the name; null: none. */
      hint: string | null
    }
    /** What payers read in French. */
    fr?: {
      /** The name that payers read; null: the channel’s own. */
      label: string | null
      /** The line below the name; null: none. */
      hint: string | null
    }
    /** What payers read in German. */
    de?: {
      /** The name that payers read; null: the channel’s own. */
      label: string | null
      /** The line below the name; null: none. */
      hint: string | null
    }
    /** What payers read in Spanish. */
    es?: {
      /** The name that payers read; null: the channel’s own. */
      label: string | null
      /** The line below the name; null: none. */
      hint: string | null
    }
    /** What payers read in Italian. */
    it?: {
      /** The name that payers read; null: the channel’s own. */
      label: string | null
      /** The line below the name; null: none. */
      hint: string | null
    }
  }
}

/** The order as it was when the event happened, and the event. */
export type OrderWebhook = Order & {
  /** What happened. */
  event: "order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded"
  /** Only in test events, which are made up: the payment, the order and the code do not exist. Ship nothing. */
  test?: true
}

/** News of an identity check. Never says who the payer is. */
export type KycWebhook = {
  /** What happened. */
  event: "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed"
  /** Id of the identity check. */
  kycId: string
  /** `_id` of the order. */
  orderId: string
  /** Code of the order. */
  code: string
  /** Your reference of the order. */
  alias: string | null
  /** Where the check stands. */
  status: "pending" | "approved" | "refused"
  /** When it last changed. */
  updatedAt: string
  /** Only with `kyc.edd_completed`: where the enhanced check stands. */
  eddStatus?: string
  /** Only with `kyc.edd_completed`: what the enhanced check found. */
  eddOutcome?: "approved" | "refused"
  /** Only in test events, which are made up: the payment, the order and the code do not exist. Ship nothing. */
  test?: true
  /** Only with `kyc.edd_completed`: EUR that the payer may spend in 30 days. */
  spendingLimit?: string
}

/** Every state that an order may have. */
export const ORDER_STATUSES = [
  'INITIAL',
  'PENDING',
  'AWAITING',
  'PAID',
  'CANCELLED',
  'ERROR',
  'REFUNDING',
  'REFUNDED',
  'FULL_REFUNDED',
  'EXPIRED',
  'WAITING_CHAIN_CONFIRMATION',
  'KYT_FAILED',
] as const satisfies readonly Order['status'][]

/** Every code that a failure may have. */
export type ErrorCode =
  | 'MALFORMED_JSON'
  | 'ILLEGAL_AMOUNT'
  | 'INVALID_EXCHANGE_RATE'
  | 'INVALID_CREDENTIALS'
  | 'INVALID_OTP'
  | 'INVALID_RESET_TOKEN'
  | 'AUTHORIZATION_PENDING'
  | 'SLOW_DOWN'
  | 'AUTHORIZATION_DENIED'
  | 'DEVICE_CODE_EXPIRED'
  | 'EMAIL_ALREADY_REGISTERED'
  | 'WEAK_PASSWORD'
  | 'UNKNOWN_MERCHANT_IDENTIFIER'
  | 'UNKNOWN_SESSION'
  | 'WEBSITE_MISMATCH'
  | 'ALIAS_IN_USE'
  | 'CHANNEL_NOT_AVAILABLE'
  | 'PAYER_IDENTITY_REQUIRED'
  | 'KYC_REQUIRED'
  | 'SPENDING_LIMIT_EXCEEDED'
  | 'REFUND_TOO_LARGE'
  | 'UNAUTHORIZED'
  | 'CALLBACK_REFUSED'
  | 'FORBIDDEN'
  | 'STEP_UP_REQUIRED'
  | 'PIN_LOCKED'
  | 'CROSS_SITE_REQUEST'
  | 'NOT_FOUND'
  | 'ORDER_NOT_FOUND'
  | 'OBJECT_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'ORDER_STATE_CONFLICT'
  | 'PAYMENT_NOT_RECEIVED'
  | 'PAYMENT_ORPHANED'
  | 'BOOKS_DIFFER'
  | 'REFUND_NOT_COVERED'
  | 'AMBIGUOUS_REFERENCE'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'ACCOUNT_IN_USE'
  | 'OBJECT_CONFLICT'
  | 'MALFORMED_REQUEST'
  | 'REQUEST_TIMEOUT'
  | 'HEADERS_TOO_LARGE'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'VALIDATION_FAILED'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'TOO_MANY_REQUESTS'
  | 'ACCOUNT_LOCKED'
  | 'INTERNAL_ERROR'
  | 'ORDER_GONE'
  | 'CHANNEL_UNAVAILABLE'
  | 'DATABASE_UNAVAILABLE'
  | 'BUSY'
