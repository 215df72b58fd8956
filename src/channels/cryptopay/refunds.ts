import { textAt } from '../../kernel/json.ts'
import { isAsset } from '../../kernel/money.ts'
import type { RefundNews, RefundReport, RefundRequest } from '../channel.ts'
import { isDefiniteNo, type PayApi } from './api.ts'
import { minorUnits } from './status-map.ts'

/*
 * Refunds are asynchronous, cannot be looked up, and have no idempotency key (pay-docs.crypto.com, refunds and
 * webhooks). `amount_refunded` of a payment may grow at the request or at the transfer: nothing here depends on it.
 * Only `payment.refund_transferred` means that the payer has the money, and our id in `description` shows which refund
 * an event is about.
 */

const DESCRIPTION = /^refund ([0-9a-f]{24})$/
const describe = (refundId: string): string => `refund ${refundId}`

async function send(api: PayApi, { providerReference, fiat, refundId, reason }: RefundRequest): Promise<RefundReport> {
  try {
    const answer = await api.post('/refunds', {
      payment_id: providerReference,
      amount: fiat.units.toString(),
      currency: fiat.asset,
      reason,
      description: describe(refundId),
    })
    const providerStatus = `requested: ${textAt(answer, 'status') ?? 'accepted'}`
    return { outcome: 'pending', reference: textAt(answer, 'id') ?? null, txHash: null, providerStatus }
  } catch (error) {
    if (!isDefiniteNo(error)) throw error
    return { outcome: 'refused', reference: null, txHash: null, providerStatus: error.message }
  }
}

const lookWords = (refundId: string): string =>
  `look for “${describe(refundId)}” in the dashboard, and for other refunds of its payment that its order does not show. ` +
  'Settle it with the reference of what is there. Only if there is nothing, reject it: the next one is then sent'

/** Sends a refund once. Afterwards only callbacks report on it; a refund whose answer was lost is never sent again. */
export async function refundPayment(api: PayApi, refund: RefundRequest): Promise<RefundReport> {
  const { fiat, reference, attempted, refundId, leftBefore } = refund
  if (fiat.units <= 0n) {
    const providerStatus = `the refund is less than the smallest amount in ${fiat.asset}`
    return { outcome: 'refused', reference, txHash: null, providerStatus }
  }
  if (reference !== null)
    return {
      outcome: 'pending',
      reference,
      txHash: null,
      providerStatus: 'requested; its transfer is told by a callback',
    }
  if (!attempted) return send(api, refund)
  const providerStatus = leftBefore
    ? `the database was restored, or another server took over, and this may have left before: ${lookWords(refundId)}`
    : `the answer was lost: wait for its callback, or look for “${describe(refundId)}” in the dashboard`
  return { outcome: 'unknown', reference, txHash: null, providerStatus }
}

/** An event's statement about a refund; undefined: it names none. */
export function readRefundNews(type: string, object: unknown): RefundNews | undefined {
  const reference = textAt(object, 'id')
  const units = minorUnits(object, 'amount')
  const asset = textAt(object, 'currency')
  if (reference === undefined || units === undefined || asset === undefined || !isAsset(asset)) return undefined
  const status = textAt(object, 'status') ?? 'no status'
  const isTransferred = type === 'payment.refund_transferred' && status === 'succeeded'
  const isRequested = type === 'payment.refund_requested'
  return {
    reference,
    refundId: DESCRIPTION.exec(textAt(object, 'description') ?? '')?.[1] ?? null,
    outcome: isTransferred ? 'settled' : isRequested ? 'pending' : 'unknown',
    fiat: { asset, units },
    providerStatus: `${type} ${status}`,
  }
}
