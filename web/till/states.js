/** The order's status in the till's words. */
export const stateOf = (status) =>
  ({
    INITIAL: 'waiting',
    PENDING: 'chosen',
    AWAITING: 'chosen',
    WAITING_CHAIN_CONFIRMATION: 'seen',
    PAID: 'paid',
    EXPIRED: 'expired',
    CANCELLED: 'cancelled',
    ERROR: 'error',
    KYT_FAILED: 'review',
    REFUNDING: 'refunding',
    REFUNDED: 'refundedPart',
    FULL_REFUNDED: 'refunded',
  })[status] ?? 'waiting'
