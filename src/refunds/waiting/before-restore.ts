import type { RefundRequest } from '../../channels/channel.ts'
import type { Queryable } from '../../db/db.ts'
import { findRestored, isMadeSince } from '../../db/restored-queries.ts'
import type { Order } from '../../orders/order.ts'
import type { Refund } from '../refund-queries.ts'

/** It started at the provider. */
const isForeign = ({ requestedBy, recorded }: Refund): boolean => recorded || requestedBy.startsWith('channel:')

/**
 * Whether a refund may have left before the database was restored, or another server took over. Its row cannot tell: it
 * may be older than its sending, or be made anew. Undefined: its order is of after that, or a person has said since, of
 * another refund of its payment, that the provider never had it.
 * @param others the other refunds of its payment
 */
export async function findLeftBefore(
  q: Queryable,
  { createdAt }: Order,
  { providerReference }: Refund,
  others: readonly Refund[],
): Promise<RefundRequest['leftBefore']> {
  const restored = await findRestored(q)
  if (!restored || isMadeSince(restored, createdAt)) return undefined
  const { restoredAt } = restored
  if (others.some(({ deniedAt }) => deniedAt !== null && deniedAt > restoredAt)) return undefined
  // what the provider took from this database is its own, whatever was booked besides
  const isCounted = providerReference === null && others.some((one) => isForeign(one) && one.createdAt > restoredAt)
  return isCounted ? 'counted' : 'maybe'
}
