import { textAt } from '../../kernel/json.ts'
import { formatMoney } from '../../kernel/money.ts'
import type { RefundReport, RefundRequest } from '../channel.ts'
import { isDefiniteNo, type PayApi } from './api.ts'
import { minorUnits } from './status-map.ts'

/** Refund objects: only the last word of a refund that was transferred is known. */
export const REFUND_OUTCOMES: Readonly<Record<string, RefundReport['outcome']>> = {
  succeeded: 'settled',
  pending: 'pending',
}

type Found = RefundReport | 'not there'

/**
 * There is no lookup of a refund and no key against repetition: what the payment says was refunded in all, against
 * what earlier refunds of ours were, shows whether this one exists.
 */
export function judgeRefund(refund: RefundRequest, payment: unknown): Found {
  const { reference, fiat, earlierFiat } = refund
  const told = (outcome: RefundReport['outcome'], words: string): RefundReport => ({
    outcome,
    reference,
    txHash: null,
    words,
  })
  const total = minorUnits(payment, 'amount_refunded')
  if (total === undefined || textAt(payment, 'currency') !== fiat.asset)
    return told('unknown', 'the payment does not say what was refunded')
  const more = total - earlierFiat.units
  const all = formatMoney({ asset: fiat.asset, units: total })
  if (more === fiat.units || (more > fiat.units && reference !== null))
    return told('settled', `refunded in all: ${all}`)
  if (more === 0n) return reference === null ? 'not there' : told('pending', `refunded in all: ${all}`)
  return told('unknown', `refunded in all: ${all}, which fits neither with nor without this refund`)
}

async function send(api: PayApi, { providerReference, fiat, refundId, reason }: RefundRequest): Promise<RefundReport> {
  try {
    const answer = await api.post('/refunds', {
      payment_id: providerReference,
      amount: fiat.units.toString(),
      currency: fiat.asset,
      reason,
      description: `refund ${refundId}`,
    })
    const word = textAt(answer, 'status') ?? 'accepted'
    return {
      outcome: REFUND_OUTCOMES[word] ?? 'pending',
      reference: textAt(answer, 'id') ?? null,
      txHash: null,
      words: word,
    }
  } catch (error) {
    if (!isDefiniteNo(error)) throw error
    return { outcome: 'refused', reference: null, txHash: null, words: error.message }
  }
}

export async function refundPayment(api: PayApi, refund: RefundRequest): Promise<RefundReport> {
  const { fiat, reference, attempted, providerReference } = refund
  if (fiat.units <= 0n) {
    const words = `the refund is less than the smallest amount in ${fiat.asset}`
    return { outcome: 'refused', reference, txHash: null, words }
  }
  if (attempted || reference !== null) {
    const found = judgeRefund(refund, await api.get(`/payments/${encodeURIComponent(providerReference)}`))
    if (found !== 'not there') return found
  }
  return send(api, refund)
}
