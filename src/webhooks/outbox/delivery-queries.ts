import { sql, type Tx } from '../../db/db.ts'
import { bucketOf } from './buckets.ts'
import type { WebhookEvent } from './events.ts'
import { LATE_COMMIT_MS, reportLateCommit } from './late-commits.ts'
import { laneOf } from './webhook-url.ts'

/** One message to a merchant's server, written in the transaction of the event. */
export type NewDelivery = {
  companyId: string
  /** `Service-Webhook-Id`: 32 hex, from `deliveryId` */
  id: string
  orderId: string
  event: WebhookEvent
  /** Only for refund events: each partial refund is a message of its own. */
  refundId: string | null
  url: string
  /** JSON text, sent unchanged, byte for byte, in every attempt. */
  body: string
  requestId: string | null
  at: Date
}

/**
 * Inserts deliveries, due at once, in one statement. An existing (order, event, refund) is left alone. Call the
 * sender's `wake` in `tx.afterCommit`.
 * @returns how many are new
 */
export async function insertDeliveries(tx: Tx, rows: readonly NewDelivery[]): Promise<number> {
  if (rows.length === 0) return 0
  const startedAt = performance.now()
  tx.afterCommit(() => {
    if (performance.now() - startedAt > LATE_COMMIT_MS) reportLateCommit()
  })
  const column = <Value>(pick: (row: NewDelivery) => Value): Value[] => rows.map(pick)
  return tx.run(sql`
    with input as (
      select * from unnest(
        ${column((row) => row.companyId)}::text[], ${column((row) => row.id)}::text[],
        ${column((row) => row.orderId)}::text[], ${column((row) => row.event)}::text[],
        ${column((row) => row.refundId ?? '')}::text[], ${column((row) => row.url)}::text[],
        ${column((row) => row.body)}::text[], ${column((row) => row.requestId)}::text[],
        ${column((row) => row.at.toISOString())}::timestamptz[],
        ${column((row) => bucketOf(row.companyId))}::smallint[], ${column((row) => laneOf(row.url))}::text[]
      ) as i (company_id, id, order_id, event, refund_id, url, body, request_id, at, bucket, lane)
    ), added as (
      insert into deliveries (company_id, id, order_id, event, refund_id, url, body, request_id, created_at, updated_at)
      select company_id, id, order_id, event, refund_id, url, body, request_id, at, at from input
      on conflict do nothing -- of either key: two racing transactions collide on whichever index is written first
      returning company_id, id
    )
    insert into delivery_due (company_id, delivery_id, order_id, bucket, lane, next_at)
    select added.company_id, added.id, input.order_id, input.bucket, input.lane, clock_timestamp()
    from added join input on input.company_id = added.company_id and input.id = added.id
    on conflict do nothing`)
}
