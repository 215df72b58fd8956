import { textAt } from '../../kernel/json.ts'
import { type PaymentReport, paidReport } from '../channel.ts'
import { usdcUnits } from '../usdc-text.ts'

/** `paid`, `part` and `refunded` become `seen` with the amount. */
type Meaning = 'waiting' | 'paid' | 'part' | 'refunded' | 'expired' | 'failed'

/**
 * Every status of Query v2. CANCELED has one L; our own close leads to it, so the order may choose again. REFUNDED
 * means "partially refunded" (merchant.binance.com, functionalities/query-order), and the query does not say how much.
 */
const STATUSES: ReadonlyMap<string, Meaning> = new Map([
  ['INITIAL', 'waiting'],
  ['PENDING', 'waiting'],
  ['PAID', 'paid'],
  ['REFUNDING', 'paid'],
  ['REFUNDED', 'part'],
  ['FULL_REFUNDED', 'refunded'],
  ['CANCELED', 'expired'],
  ['EXPIRED', 'expired'],
  ['ERROR', 'failed'],
])

/** bizStatus of a PAY callback; PAY_FAIL appears in public code only. */
const PAY_STATUSES: ReadonlyMap<string, Meaning> = new Map([
  ['PAY_SUCCESS', 'paid'],
  ['PAY_CLOSED', 'expired'],
  ['PAY_FAIL', 'failed'],
])

type Told = {
  providerReference: string
  providerStatus: string
  price: string | undefined
  currency: string | undefined
}

function toReport(
  meaning: Meaning | undefined,
  { providerReference, providerStatus, price, currency }: Told,
): PaymentReport {
  if (meaning === undefined) return { outcome: 'unknown', providerReference, providerStatus }
  if (meaning !== 'paid' && meaning !== 'part' && meaning !== 'refunded')
    return { outcome: meaning, providerReference, providerStatus }
  const final = usdcUnits(price)
  if (currency !== 'USDC' || final === undefined)
    return { outcome: 'unknown', providerReference, providerStatus: `${providerStatus}, ${price} ${currency}` }
  return paidReport(providerReference, {
    final,
    providerStatus,
    ...(meaning === 'refunded' ? { refunded: final } : {}),
    ...(meaning === 'part' ? { refundedPart: true } : {}),
  })
}

/** Whether an order in this state has received money or still can. */
export const holdsMoney = (status: string | undefined): boolean =>
  ['PENDING', 'PAID', 'REFUNDING', 'REFUNDED', 'FULL_REFUNDED'].includes(status ?? '')

/** Whether it can no longer be paid, or is already paid: there is nothing left to close. */
export const isOver = (status: string | undefined): boolean =>
  status !== undefined && STATUSES.has(status) && !['INITIAL', 'PENDING'].includes(status)

/** Whether the status is one that the documentation lists. */
export const isKnown = (status: string | undefined): boolean => status !== undefined && STATUSES.has(status)

/** The answer of Query v2 as a report. */
export function reportOfQuery(
  data: unknown,
  { merchantReference, providerReference }: { merchantReference: string; providerReference: string },
): PaymentReport {
  const status = textAt(data, 'status')
  const providerStatus = status ?? 'no status'
  if (textAt(data, 'merchantTradeNo') !== merchantReference)
    return { outcome: 'unknown', providerReference, providerStatus: `${providerStatus} of another merchantTradeNo` }
  const told = { price: textAt(data, 'orderAmount'), currency: textAt(data, 'currency') }
  return toReport(STATUSES.get(providerStatus), { providerReference, providerStatus, ...told })
}

/** What a PAY callback claims. */
export function reportOfPay(bizStatus: string, data: unknown, providerReference: string): PaymentReport {
  const told = { price: textAt(data, 'totalFee'), currency: textAt(data, 'currency') }
  return toReport(PAY_STATUSES.get(bizStatus), { providerReference, providerStatus: `PAY ${bizStatus}`, ...told })
}

/** What a PAY_REFUND callback claims: only a completed refund says anything about the payment. */
export function reportOfRefund(bizStatus: string, data: unknown, providerReference: string): PaymentReport | null {
  if (bizStatus !== 'REFUND_SUCCESS') return null
  const final = usdcUnits(textAt(data, 'refundInfo', 'orderAmount'))
  const refunded = usdcUnits(textAt(data, 'refundInfo', 'refundedAmount'))
  if (final === undefined || refunded === undefined || textAt(data, 'currency') !== 'USDC') return null
  return paidReport(providerReference, { final, refunded, providerStatus: `PAY_REFUND ${bizStatus}` })
}
