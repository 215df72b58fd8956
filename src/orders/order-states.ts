import { AppError } from '../kernel/errors.ts'

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
] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

type Transition = {
  from: readonly OrderStatus[]
  to: OrderStatus
  /** The webhook event; null: none. */
  event: `order.${string}` | null
  description: string
}

/** The whole state machine. `docs/order-states.md` is generated from it. */
export const TRANSITIONS = {
  accept: {
    from: ['INITIAL', 'PENDING', 'AWAITING'],
    to: 'PENDING',
    event: 'order.pending',
    description: 'a payment channel was chosen (another may be chosen while nothing is paid)',
  },
  requote: {
    from: ['EXPIRED', 'ERROR'],
    to: 'PENDING',
    event: 'order.pending',
    description: 'an unpaid order that had ended was accepted again, at a fresh rate',
  },
  forward: {
    from: ['PENDING'],
    to: 'AWAITING',
    event: 'order.awaiting',
    description: 'the order exists at the provider, or the deposit address is assigned',
  },
  seePayment: {
    from: ['AWAITING'],
    to: 'WAITING_CHAIN_CONFIRMATION',
    event: 'order.waiting_chain_confirmation',
    description: 'the payment was seen on chain, not final yet',
  },
  losePayment: {
    from: ['WAITING_CHAIN_CONFIRMATION'],
    to: 'AWAITING',
    event: null,
    description: 'the transfer left the chain (reorganisation), or its provider waits for it again',
  },
  pay: {
    from: ['PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION'],
    to: 'PAID',
    event: 'order.paid',
    description: 'the full payment is final',
  },
  payLate: {
    from: ['EXPIRED', 'CANCELLED', 'ERROR'],
    to: 'PAID',
    event: 'order.paid',
    description: 'a late full payment is final and the company’s late policy, or a person, accepts it',
  },
  failScreening: {
    from: ['AWAITING', 'WAITING_CHAIN_CONFIRMATION'],
    to: 'KYT_FAILED',
    event: 'order.kyt_failed',
    description: 'the payer’s wallet did not pass the screening',
  },
  cancel: {
    from: ['INITIAL', 'PENDING', 'AWAITING'],
    to: 'CANCELLED',
    event: 'order.cancelled',
    description: 'the merchant or the payer cancelled it',
  },
  expire: {
    from: ['INITIAL', 'PENDING', 'AWAITING'],
    to: 'EXPIRED',
    event: 'order.expired',
    description: 'the order expired, or the merchant ended the link',
  },
  fail: {
    from: ['PENDING', 'AWAITING'],
    to: 'ERROR',
    event: 'order.error',
    description: 'the provider reports a definite failure',
  },
  revert: {
    from: ['PAID', 'REFUNDED'],
    to: 'REFUNDING',
    event: 'order.refunding',
    description: 'a refund was started',
  },
  refundPart: {
    from: ['REFUNDING'],
    to: 'REFUNDED',
    event: 'order.refunded',
    description: 'the refund is settled, something is left',
  },
  refundAll: {
    from: ['REFUNDING'],
    to: 'FULL_REFUNDED',
    event: 'order.full_refunded',
    description: 'the refund is settled, nothing is left',
  },
  dropRefund: {
    from: ['REFUNDING'],
    to: 'PAID',
    event: null,
    description: 'the refund was rejected and none was settled before',
  },
  dropRefundPart: {
    from: ['REFUNDING'],
    to: 'REFUNDED',
    event: null,
    description: 'the refund was rejected, an earlier one is settled',
  },
} as const satisfies Record<string, Transition>

export type Trigger = keyof typeof TRANSITIONS

/** Orders that can still be paid in the normal way. */
const OPEN_STATUSES = [
  'INITIAL',
  'PENDING',
  'AWAITING',
  'WAITING_CHAIN_CONFIRMATION',
] as const satisfies readonly OrderStatus[]

export const isOpen = (status: OrderStatus): boolean => (OPEN_STATUSES as readonly OrderStatus[]).includes(status)

export const isOrderStatus = (text: string): text is OrderStatus => (ORDER_STATUSES as readonly string[]).includes(text)

export function allows(current: OrderStatus, trigger: Trigger): boolean {
  const { from }: { from: readonly OrderStatus[] } = TRANSITIONS[trigger]
  return from.includes(current)
}

/** What to do with an order that has ended unpaid. */
export const REQUOTE_HINT =
  'To take a fresh price for the same order, accept it with "requote": true; or create a new order.'

/** The status after a trigger. @throws ORDER_STATE_CONFLICT, naming the current status */
export function nextStatus(current: OrderStatus, trigger: Trigger): OrderStatus {
  if (allows(current, trigger)) return TRANSITIONS[trigger].to
  const from = TRANSITIONS[trigger].from.join(', ')
  const hint = trigger === 'accept' && allows(current, 'requote') ? ` ${REQUOTE_HINT}` : ''
  throw new AppError('ORDER_STATE_CONFLICT', {
    message: `The order is ${current}; this is possible only while it is ${from}. Nothing was changed.${hint}`,
  })
}
