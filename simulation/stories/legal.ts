type Step = { from: readonly string[]; to: string }

const OPEN = ['INITIAL', 'PENDING', 'AWAITING']

/** The state table as the decisions define it (section 3), deliberately written a second time. */
export const LEGAL: Readonly<Record<string, Step>> = {
  accept: { from: OPEN, to: 'PENDING' },
  requote: { from: ['EXPIRED', 'ERROR'], to: 'PENDING' },
  forward: { from: ['PENDING'], to: 'AWAITING' },
  seePayment: { from: ['AWAITING'], to: 'WAITING_CHAIN_CONFIRMATION' },
  losePayment: { from: ['WAITING_CHAIN_CONFIRMATION'], to: 'AWAITING' },
  pay: { from: ['PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION'], to: 'PAID' },
  payLate: { from: ['EXPIRED', 'CANCELLED', 'ERROR'], to: 'PAID' },
  failScreening: { from: ['AWAITING', 'WAITING_CHAIN_CONFIRMATION'], to: 'KYT_FAILED' },
  cancel: { from: OPEN, to: 'CANCELLED' },
  expire: { from: OPEN, to: 'EXPIRED' },
  fail: { from: ['PENDING', 'AWAITING'], to: 'ERROR' },
  revert: { from: ['PAID', 'REFUNDED'], to: 'REFUNDING' },
  refundPart: { from: ['REFUNDING'], to: 'REFUNDED' },
  refundAll: { from: ['REFUNDING'], to: 'FULL_REFUNDED' },
  dropRefund: { from: ['REFUNDING'], to: 'PAID' },
  dropRefundPart: { from: ['REFUNDING'], to: 'REFUNDED' },
}
