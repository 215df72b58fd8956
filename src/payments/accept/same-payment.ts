import type { Channel } from '../../channels/channel.ts'
import type { Queryable } from '../../db/db.ts'
import type { Order } from '../../orders/order.ts'
import { findPayment, type Payment } from '../payment-queries.ts'
import type { AcceptDeps } from './start-payment.ts'

/** What a payer chooses. */
export type Way = { channel: Channel; network: number | null }

/**
 * The open attempt that a repeated accept refers to: same channel, same network, not closed, and its account still
 * exists, or its place is in the present wallet. It is never continued with another account, where its money would not
 * be found.
 */
export async function findSamePayment(
  { channels }: Pick<AcceptDeps, 'channels'>,
  q: Queryable,
  order: Order,
  { channel: { id }, network }: Way,
): Promise<{ payment: Payment; channel: Channel } | undefined> {
  if (order.paymentId === null || (order.status !== 'PENDING' && order.status !== 'AWAITING')) return undefined
  const payment = await findPayment(q, order.companyId, order.paymentId)
  const open = payment?.status === 'creating' || payment?.status === 'awaiting' || payment?.status === 'confirming'
  // where none is chosen, the provider may have named one
  const isSame = payment?.channel === id && (network === null || payment.network === network)
  if (!open || !isSame) return undefined
  const channel = await channels.forPayer(payment, q)
  return channel && { payment, channel }
}
