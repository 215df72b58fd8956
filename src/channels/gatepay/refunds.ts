import type { Clock } from '../../kernel/clock.ts'
import { ownAt } from '../../kernel/json.ts'
import { formatMoney, parseDecimal } from '../../kernel/money.ts'
import type { RefundReport, RefundRequest } from '../channel.ts'
import { isForOperator, otherAccount, ProviderRefusal } from '../provider-errors.ts'
import { filledAt, type GateApi, isRefusedWith, ORDER_UNKNOWN } from './api.ts'

/** Status words of the older and of the newer generation. */
export const REFUND_OUTCOMES: Readonly<Record<string, RefundReport['outcome']>> = {
  SUCCESS: 'settled',
  REFUND_SUCCESS: 'settled',
  REFUND_PROCESS: 'pending',
  FAIL: 'refused',
  REFUND_REJECTED: 'refused',
}

/** Returned the way it came; the merchant bears the network fee, so that the payer gets the whole amount. */
const SAME_WAY = { refundStyle: 1, refundBearType: 1 }

export type RefundRules = {
  /** Gate requires this long between a payment, or a refund, and the next refund of the same order. */
  waitMs: number
  /** Codes by which the query reports an unknown refund. */
  unknownCodes: readonly string[]
}

export function readRefund(refund: RefundRequest, data: unknown): RefundReport {
  const word = filledAt(data, 'status') ?? 'no status'
  const reference = filledAt(data, 'gateRefundId') ?? filledAt(data, 'refundGateId') ?? refund.reference
  const report = { reference, txHash: filledAt(data, 'txHash') }
  const named = filledAt(data, 'refundRequestId')
  const asked = filledAt(data, 'requestAmount')
  const currency = filledAt(data, 'requestCurrency') ?? 'USDC'
  if (named !== refund.refundId) return { outcome: 'unknown', ...report, providerStatus: `${word} of another refund` }
  if (currency !== 'USDC' || (asked !== null && parseDecimal(asked, 6) !== refund.units))
    return { outcome: 'unknown', ...report, providerStatus: `${word}: another refund, ${asked} ${currency}` }
  const reason = filledAt(data, 'refund_fail_reason')
  return {
    outcome: ownAt(REFUND_OUTCOMES, word) ?? 'unknown',
    ...report,
    providerStatus: reason ? `${word}: ${reason}` : word,
  }
}

const isNothing = (data: unknown): boolean =>
  typeof data !== 'object' || data === null || Object.keys(data).length === 0

/** Undefined: Gate has no refund with our id. Only then may it be sent; an unreadable answer does not prove that. */
async function findRefund(api: GateApi, refund: RefundRequest, rules: RefundRules): Promise<RefundReport | undefined> {
  try {
    const data = await api.get('/v2/pay/refund/details', { refundRequestId: refund.refundId })
    return isNothing(data) ? undefined : readRefund(refund, data)
  } catch (error) {
    if (isRefusedWith(error, rules.unknownCodes)) return undefined
    throw error
  }
}

async function send(api: GateApi, refund: RefundRequest): Promise<RefundReport> {
  try {
    const data = await api.post('/v2/standard/order/refund', {
      refundRequestId: refund.refundId,
      prepayId: refund.providerReference,
      refundAmount: formatMoney({ asset: 'USDC', units: refund.units }),
      refundReason: refund.reason ?? 'refund',
      ...SAME_WAY,
    })
    const providerStatus = filledAt(data, 'errMsg') ?? 'accepted'
    return { outcome: 'pending', reference: filledAt(data, 'refundGateId'), txHash: null, providerStatus }
  } catch (error) {
    // a fault that the operator must fix does not fail the refund
    if (!(error instanceof ProviderRefusal) || isForOperator(error.reason)) throw error
    return { outcome: 'refused', reference: null, txHash: null, providerStatus: error.message }
  }
}

/**
 * Queries a refund that may have been sent before, and sends it only if Gate does not know it. If it is too early,
 * reports it as pending without sending: the caller tries again later.
 */
export function openRefunds(api: GateApi, clock: Clock, rules: RefundRules) {
  const sentAt = new Map<string, number>()
  const isTooEarly = async (refund: RefundRequest): Promise<boolean> => {
    const { providerReference } = refund
    for (const [order, at] of sentAt) if (clock() - at >= rules.waitMs) sentAt.delete(order)
    if (sentAt.has(providerReference)) return true
    const order = await api.get('/v2/pay/order/query', { prepayId: providerReference }).catch((error: unknown) => {
      throw isRefusedWith(error, [ORDER_UNKNOWN]) ? otherAccount(error) : error
    })
    return clock() - Number(filledAt(order, 'transactTime') ?? 0) < rules.waitMs
  }
  return async (refund: RefundRequest): Promise<RefundReport> => {
    const asked = refund.attempted || refund.reference !== null
    const found = asked ? await findRefund(api, refund, rules) : undefined
    if (found) return { ...found, mayBeCounted: true }
    if (refund.reference !== null) throw otherAccount()
    if (await isTooEarly(refund)) {
      const providerStatus = `not sent yet: Gate wants ${rules.waitMs / 1000} seconds between payment and refunds`
      return { outcome: 'pending', reference: null, txHash: null, providerStatus }
    }
    sentAt.set(refund.providerReference, clock())
    return send(api, refund)
  }
}
