import type { Actor } from '../http/actor.ts'
import type { Order } from '../orders/order.ts'
import { isOpen } from '../orders/order-states.ts'

/** Who wrote something about a payer, and whether it counts as the payer's own word. */
export type Written = {
  /** `payer:<code>`, `apiKey:<id>`, `service:<id>` for a machine that logs in, `user:<id>` for a person of the shop. */
  by: string
  /** ISO 8601. */
  at: string
  isWord: boolean
}

export const writerOf = ({ kind, role, id }: Actor): string =>
  `${kind === 'user' && role === 'Service' ? 'service' : kind}:${id}`

/** A person of the shop only ever proposes; the payer's page and the shop's server speak for the payer. */
export const speaksForPayer = (by: string): boolean => !by.startsWith('user:')

/** Once money can be refunded, whoever writes where it goes would direct it. */
export const isBeforePaid = ({ paidAt, status }: Pick<Order, 'paidAt' | 'status'>): boolean =>
  paidAt === null && isOpen(status)

export function noteOf(order: Order, actor: Actor, now: Date): Written {
  const by = writerOf(actor)
  return { by, at: now.toISOString(), isWord: isBeforePaid(order) && speaksForPayer(by) }
}
