import type { KeyObject } from 'node:crypto'
import type { Tx } from '../../db/db.ts'
import { deliveryId } from '../../kernel/ids.ts'
import { insertDeliveries } from './delivery-queries.ts'
import { isSubscribed, type WebhookEvent } from './events.ts'
import { findWebhookAccount } from './subscription-queries.ts'

export type KycEvent = Extract<WebhookEvent, `kyc.${string}`>

/** The webhook about a payer's identity check; it never identifies the payer. */
export type KycNews = {
  event: KycEvent
  kycId: string
  order: { companyId: string; id: string; code: string; alias: string | null; webhookUrl: string | null }
  status: string
  updatedAt: Date
  /** Only for `kyc.edd_completed`; the limit is decimal text in EUR. */
  edd?: { eddStatus: string; eddOutcome: 'approved' | 'refused'; spendingLimit: string }
}

/** The compact body of a `kyc.*` webhook. */
function kycBody({ event, kycId, order, status, updatedAt, edd }: KycNews): string {
  const { id: orderId, code, alias } = order
  return JSON.stringify({ event, kycId, orderId, code, alias, status, updatedAt: updatedAt.toISOString(), ...edd })
}

/**
 * Writes the webhook of an identity check in the transaction of its decision, if the order has a webhook URL and the
 * company is subscribed to the event. @returns whether a delivery was written; if so, wake the sender after the commit
 */
export async function announceKyc(tx: Tx, idKey: KeyObject, news: KycNews, requestId: string | null): Promise<boolean> {
  const { companyId, id: orderId, webhookUrl: url } = news.order
  const account = url === null ? undefined : await findWebhookAccount(tx, companyId)
  if (url === null || !account || !isSubscribed(account.optionalEvents, news.event)) return false
  const { event, updatedAt: at } = news
  const id = deliveryId(idKey, { companyId, orderId, event, refundId: null })
  const added = await insertDeliveries(tx, [
    { companyId, id, orderId, event, refundId: null, url, body: kycBody(news), requestId, at },
  ])
  return added > 0
}
