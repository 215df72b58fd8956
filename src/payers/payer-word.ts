import type { Actor } from '../http/actor.ts'
import type { Order } from '../orders/order.ts'
import { allows, isOpen } from '../orders/order-states.ts'

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

/**
 * Once money can be refunded, writing the destination directs the money. An order that ended without any comes before
 * that: its payer may still take a fresh price.
 * @param hasMoney whether any was seen for it, also if it was sent back since; only asked of an order that ended
 */
export const isBeforePaid = async (
  { paidAt, status }: Pick<Order, 'paidAt' | 'status'>,
  hasMoney: () => Promise<boolean>,
): Promise<boolean> => paidAt === null && (isOpen(status) || (allows(status, 'payLate') && !(await hasMoney())))

/** The e-mail at which the payer is asked about a refund, and who wrote it; `by` null: not recorded. */
export type Asked = { email: string | null; by: string | null }

/** The person of the shop who wrote the e-mail at which the payer is asked; null: anyone else did, or none is known. */
export const staffWho = ({ email, by }: Asked): string | null =>
  email !== null && by !== null && !speaksForPayer(by) ? by : null

/**
 * What an e-mail that is being written leaves of the one at which the payer is asked. What staff write never takes the
 * place of what the payer or the shop's server wrote before, nor of anything once money was seen.
 * @param kept the e-mail that another was kept from; undefined: the last one written is asked
 * @param isLate after PAID, or by staff once money was seen
 * @returns the e-mail to keep; undefined: the one that is written is asked
 */
export function keepAsked(
  known: Asked,
  { kept, by, isLate }: { kept: Asked | undefined; by: string; isLate: boolean },
): Asked | undefined {
  if (!isLate && speaksForPayer(by)) return undefined
  if (kept !== undefined) return kept
  return isLate || (known.email !== null && staffWho(known) === null) ? known : undefined
}

export function noteOf(actor: Actor, { now, beforePaid }: { now: Date; beforePaid: boolean }): Written {
  const by = writerOf(actor)
  return { by, at: now.toISOString(), isWord: beforePaid && speaksForPayer(by) }
}
