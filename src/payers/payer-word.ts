import type { Actor } from '../http/actor.ts'
import type { Order } from '../orders/order.ts'
import { isOpen } from '../orders/order-states.ts'

/** Who wrote payer information, and whether it counts as coming from the payer. */
export type Written = {
  /** `payer:<code>`, `apiKey:<id>`, `service:<id>` for a machine that logs in, `user:<id>` for a person of the shop. */
  by: string
  /** ISO 8601. */
  at: string
  isWord: boolean
}

export const writerOf = ({ kind, role, id }: Actor): string =>
  `${kind === 'user' && role === 'Service' ? 'service' : kind}:${id}`

/** Staff can only propose; the payer's page and the shop's server speak for the payer. */
export const speaksForPayer = (by: string): boolean => !by.startsWith('user:')

/** Once money can be refunded, writing the destination directs the money. */
export const isBeforePaid = ({ paidAt, status }: Pick<Order, 'paidAt' | 'status'>): boolean =>
  paidAt === null && isOpen(status)

export function noteOf(order: Order, actor: Actor, now: Date): Written {
  const by = writerOf(actor)
  return { by, at: now.toISOString(), isWord: isBeforePaid(order) && speaksForPayer(by) }
}
