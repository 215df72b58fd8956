/** What happens to orders, in the order in which it usually happens. */
export const EVENT_KINDS = [
  ...['order.initial', 'order.pending', 'order.awaiting', 'order.waiting_chain_confirmation', 'order.paid'],
  ...['order.cancelled', 'order.error', 'order.expired', 'order.kyt_failed'],
  ...['order.refunding', 'order.refunded', 'order.full_refunded'],
]
