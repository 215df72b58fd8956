import type { RefundReport, RefundRequest } from '../../channels/channel.ts'
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

/** Nodes recognise by it what waits for a person's look. */
const FOUND =
  'its provider has a refund under this number of before the database was restored or another server took over'

/** Its provider had one under its number, and a person has to look. */
export const isHeldFound = ({ status, providerStatus }: Pick<Refund, 'status' | 'providerStatus'>): boolean =>
  status === 'ready' && providerStatus?.includes(FOUND) === true

/**
 * What a provider had before the restore is ours, unless refunds were booked since that it may be one of: taking it for
 * ours would then count it twice and send nothing. A person looks. Rejected, it leaves its number to that one, and the
 * next refund takes another.
 */
export function judgeFound({ leftBefore }: RefundRequest, report: RefundReport): RefundReport {
  if (leftBefore !== 'counted' || !report.mayBeCounted || report.outcome === 'refused') return report
  const providerStatus =
    `${report.providerStatus}: ${FOUND}, and refunds that did not start here were booked since. If it is one of them, ` +
    'reject this refund and ask again: the next takes another number. If not, settle this one with its reference'
  return { outcome: 'unknown', reference: null, txHash: null, providerStatus, waits: true }
}
