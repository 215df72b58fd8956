/** Every webhook event, as `resource.event`. */
export const EVENTS = [
  'order.initial',
  'order.pending',
  'order.awaiting',
  'order.waiting_chain_confirmation',
  'order.paid',
  'order.cancelled',
  'order.error',
  'order.expired',
  'order.kyt_failed',
  'order.refunding',
  'order.refunded',
  'order.full_refunded',
  'kyc.pending',
  'kyc.approved',
  'kyc.refused',
  'kyc.edd_completed',
] as const

export type WebhookEvent = (typeof EVENTS)[number]

/** Events that every account receives and cannot switch off. */
export const DEFAULT_EVENTS = ['order.paid', 'order.refunding', 'order.refunded', 'order.full_refunded'] as const

const isDefault = (event: WebhookEvent): boolean => (DEFAULT_EVENTS as readonly string[]).includes(event)

/** Events that the operator enables per account. */
export const OPTIONAL_EVENTS: readonly WebhookEvent[] = EVENTS.filter((event) => !isDefault(event))

/** @param optionalEvents the account's `optional_events` */
export const isSubscribed = (optionalEvents: readonly string[], event: WebhookEvent): boolean =>
  isDefault(event) || optionalEvents.includes(event)
