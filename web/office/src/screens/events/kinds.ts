/** Events of orders, in their usual sequence. */
export const EVENT_KINDS = [
  ...['order.initial', 'order.pending', 'order.awaiting', 'order.waiting_chain_confirmation', 'order.paid'],
  ...['order.cancelled', 'order.error', 'order.expired', 'order.kyt_failed'],
  ...['order.refunding', 'order.refunded', 'order.full_refunded'],
]
