import { textAt } from '../../kernel/json.ts'
import { type PaymentReport, paidReport, type RefundReport } from '../channel.ts'
import { usdcUnits } from '../usdc-text.ts'

type Meaning = 'waiting' | 'paid' | 'expired' | 'failed'

/**
 * Every status of an order. The API does not say who cancelled it (we, the payer or a timeout), and a link may outlive
 * one attempt: the order may choose again.
 */
const ORDER: ReadonlyMap<string, Meaning> = new Map([
  ['CREATED', 'waiting'],
  ['PROCESSING', 'waiting'],
  ['USER_PAY_COMPLETED', 'paid'],
  ['SUCCEEDED', 'paid'],
  ['SUCCESS', 'paid'],
  ['CANCELLED', 'expired'],
  ['FAILED', 'failed'],
])

const REFUND: ReadonlyMap<string, RefundReport['outcome']> = new Map([
  ['PROCESSING', 'pending'],
  ['REFUND_PART', 'settled'],
  ['REFUND_FULL', 'settled'],
  ['SUCCEEDED', 'settled'],
  ['SUCCESS', 'settled'],
  ['FAILED', 'refused'],
])

export const meaningOf = (status: string | undefined): Meaning | undefined => ORDER.get(status ?? '')

export const refundOutcome = (status: string | undefined): RefundReport['outcome'] =>
  REFUND.get(status ?? '') ?? 'unknown'

const STARTED = 'REFUND_PART'

/**
 * A refund as the query describes it. Its word may be under either name. Public code reads REFUND_PART as "initiated":
 * it has not left while its time of completion is there and empty.
 */
export function refundReportOf(data: unknown): Pick<RefundReport, 'outcome' | 'providerStatus'> {
  const words = [textAt(data, 'status'), textAt(data, 'refundStatus')].filter((word) => word !== undefined)
  const providerStatus = words.join(', ') || 'no status'
  const [outcome = 'unknown', ...others] = words.map(refundOutcome)
  if (others.some((other) => other !== outcome)) return { outcome: 'unknown', providerStatus }
  const isStarted = words.includes(STARTED) && Number(textAt(data, 'refundFinishTime') || 0) === 0
  const isTimed = typeof data === 'object' && data !== null && Object.hasOwn(data, 'refundFinishTime')
  return { outcome: isStarted && isTimed ? 'pending' : outcome, providerStatus }
}

/** Reads an order's fields, from the query or the signed part of a callback. */
export function reportOfOrder(order: unknown, providerReference: string): PaymentReport {
  const providerStatus = textAt(order, 'status') ?? 'no status'
  const meaning = meaningOf(providerStatus)
  if (meaning === undefined) return { outcome: 'unknown', providerReference, providerStatus }
  if (meaning !== 'paid') return { outcome: meaning, providerReference, providerStatus }
  const price = textAt(order, 'orderAmount')
  const currency = textAt(order, 'orderCurrency')
  const final = usdcUnits(price)
  if (final === undefined || currency !== 'USDC')
    return { outcome: 'unknown', providerReference, providerStatus: `${providerStatus}, ${price} ${currency}` }
  return paidReport(providerReference, { final, providerStatus })
}
