/** Texts for a cashier and a customer at a till. */
export type TillTexts = {
  title: string
  enrolTitle: string
  enrolText: string
  enrolCode: string
  enrolButton: string
  who: string
  noPeople: string
  noPin: string
  locked: string
  pinOf: (name: string) => string
  back: string
  amount: string
  currency: string
  reference: string
  referenceHint: string
  charge: string
  clear: string
  scan: string
  cancelSale: string
  newSale: string
  receipt: string
  orders: string
  noOrders: string
  shift: string
  shiftSince: string
  shiftPaid: string
  shiftOpen: string
  shiftEnded: string
  signOut: string
  display: string
  close: string
  offline: string
  online: string
  sending: string
  waitingSale: string
  discard: string
  /** Beside the name of a person whose sale waits for the sign-in. */
  saleWaits: string
  /** Above a button `takeOver`. */
  waitsOf: (name: string) => string
  takeOver: string
  /** A sale of that time whose answer was lost so long ago that it is not sent again. */
  doubtful: (time: string) => string
  failed: string
  storageFull: string
  wrongPin: (left: string) => string
  /** The part of the price, in USDC, that is still missing. */
  partly: (missing: string) => string
  stopPartly: string
  least: (amount: string) => string
  most: (amount: string) => string
  /** By error code. */
  errors: {
    PIN_LOCKED: string
    INVALID_CREDENTIALS: string
    UNKNOWN_MERCHANT_IDENTIFIER: string
    UNAUTHORIZED: string
    INVALID_OTP: string
    ORDER_STATE_CONFLICT: string
    ALIAS_IN_USE: string
    INVALID_EXCHANGE_RATE: string
    TOO_MANY_REQUESTS: string
    BUSY: string
    DATABASE_UNAVAILABLE: string
    INTERNAL_ERROR: string
  }
  sessionOver: string
  revoked: string
  code: string
  welcome: string
  thanks: string
  states: {
    waiting: string
    chosen: string
    /** Chosen, and money is there or under way, though no part is credited yet. */
    coming: string
    seen: string
    paid: string
    expired: string
    cancelled: string
    error: string
    review: string
    refunding: string
    refundedPart: string
    refunded: string
  }
}
