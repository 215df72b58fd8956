import { textAt } from '../../kernel/json.ts'
import { formatMoney } from '../../kernel/money.ts'
import type { RefundReport, RefundRequest } from '../channel.ts'
import { ProviderRefusal } from '../provider-errors.ts'
import { type __PASCAL__Api, isRefusedWith, REFUND_UNKNOWN } from './api.ts'
import { REFUND_OUTCOMES, unitsAt, wordIn } from './status-map.ts'

/** The same refund of the same money, or nobody knows what it is. */
export function readRefund(refund: RefundRequest, data: unknown): RefundReport {
  const word = textAt(data, 'status') ?? 'no status'
  const report = { reference: textAt(data, 'id') ?? refund.reference, txHash: null, providerStatus: word }
  const isOurs =
    textAt(data, 'reference') === refund.refundId &&
    textAt(data, 'currency') === 'USDC' &&
    unitsAt(data, 'amount') === refund.units
  if (!isOurs) return { ...report, outcome: 'unknown', providerStatus: `${word}, of another refund` }
  return { ...report, outcome: wordIn(REFUND_OUTCOMES, word) ?? 'unknown' }
}

/** Undefined: the provider has no refund with our id. */
async function findRefund(api: __PASCAL__Api, refund: RefundRequest): Promise<RefundReport | undefined> {
  try {
    return readRefund(refund, await api.get(`/v1/refunds?reference=${refund.refundId}`))
  } catch (error) {
    if (isRefusedWith(error, REFUND_UNKNOWN)) return undefined
    throw error
  }
}

async function sendRefund(api: __PASCAL__Api, refund: RefundRequest): Promise<RefundReport> {
  try {
    const data = await api.post(`/v1/payments/${encodeURIComponent(refund.providerReference)}/refunds`, {
      reference: refund.refundId,
      amount: formatMoney({ asset: 'USDC', units: refund.units }),
      currency: 'USDC',
      reason: refund.reason ?? 'refund',
    })
    return readRefund(refund, data)
  } catch (error) {
    // what the operator must put right is not the refund's fault: it goes out when he has
    if (!(error instanceof ProviderRefusal) || ['credentials', 'account'].includes(error.reason)) throw error
    return { outcome: 'refused', reference: null, txHash: null, providerStatus: error.message }
  }
}

/**
 * Asks about a refund that may have been sent before, and sends it only when the provider does not know it. The
 * provider takes a reference once, so that two requests that cross on the way cannot pay twice.
 * @throws ProviderTrouble, ProviderRefusal for what the operator must put right
 */
export async function refundPayment(api: __PASCAL__Api, refund: RefundRequest): Promise<RefundReport> {
  const isAsked = refund.attempted || refund.reference !== null
  const found = isAsked ? await findRefund(api, refund) : undefined
  return found ?? sendRefund(api, refund)
}
