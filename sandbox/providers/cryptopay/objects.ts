import { isAtLeast, sum, unitsOf } from '../decimal.ts'
import type { ProviderPayment, ProviderRefund } from '../imitation.ts'

/**
 * Pricing currencies, and the digits of their minor unit (API reference, "payments": `amount`). The complete list of
 * pricing currencies is not known to us; XPF has never been seen in it and is refused.
 */
export const EXPONENTS: Readonly<Record<string, number>> = {
  EUR: 2,
  USD: 2,
  GBP: 2,
  CHF: 2,
  AUD: 2,
  CAD: 2,
  JPY: 0,
  KRW: 0,
  CRO: 18,
}

/** The payer pays in this coin; ten of it are one unit of any currency. */
const COIN = 'CRO'
const coinsOf = (amount: string): string => ((unitsOf(amount) ?? 0n) * 10n).toString()
const asCoins = (amount: string): string =>
  coinsOf(amount)
    .padStart(19, '0')
    .replace(/(\d{18})$/, '.$1')

/** Whole minor units as text, written into JSON without quotes however large they are. */
export const minorOf = (amount: string, currency: string): string => {
  const exponent = EXPONENTS[currency] ?? 0
  return ((unitsOf(amount) ?? 0n) / 10n ** BigInt(18 - exponent)).toString()
}

const unixSeconds = (ms: number): number => Math.floor(ms / 1000)

/** JSON whose listed fields are bare integers. */
function withIntegers(fields: Record<string, unknown>, integers: Record<string, string>): string {
  const bare = Object.entries(integers).map(([name, digits]) => `"${name}":${digits}`)
  return `{${bare.join(',')},${JSON.stringify(fields).slice(1)}`
}

/** The documented statuses ("payment object"): pending, succeeded, cancelled. */
const STATUS: Record<ProviderPayment['state'], string> = {
  open: 'pending',
  part: 'pending',
  confirming: 'pending',
  paid: 'succeeded',
  failed: 'cancelled',
  expired: 'cancelled',
  closed: 'cancelled',
}

/** Money after the end of the payment that does not complete it ("unresolved payments", "late"). */
export const isReturnedLate = ({ facts }: ProviderPayment): boolean => facts.late === true
export const isCaptured = (payment: ProviderPayment): boolean => payment.state === 'paid' && !isReturnedLate(payment)

const statusOf = (payment: ProviderPayment): string => {
  if (payment.unknownStatus) return 'on_hold'
  return isReturnedLate(payment) ? 'cancelled' : STATUS[payment.state]
}

/** When `amount_refunded` grows is not documented: at the request, or at the transfer. */
export type RefundCounting = 'request' | 'transfer'

const refundedOf = ({ refunds }: ProviderPayment, counting: RefundCounting): string =>
  sum(
    refunds
      .filter(({ state }) => state === 'settled' || (counting === 'request' && state === 'pending'))
      .map(({ amount }) => amount),
  )

const qrCode = (id: string): string => Buffer.from(JSON.stringify({ type: 'payment', id })).toString('base64')

/** Why a fund does not complete its payment; of the words that the field has, none is documented. */
function mismatchOf(payment: ProviderPayment): string | null {
  if (!isAtLeast(payment.received, payment.amount)) return 'underpaid'
  return isReturnedLate(payment) ? 'late' : null
}

/** Status words: "captured" in the official SDK's example; others have not been seen. */
const inboundFund = (payment: ProviderPayment) => ({
  id: `fund-${payment.reference}`,
  txn_id: '',
  currency: COIN,
  amount: asCoins(payment.received),
  status: isCaptured(payment) ? 'captured' : 'pending',
  confirmed: isCaptured(payment),
  mismatched_reason: mismatchOf(payment),
  from_address: '',
})

type Shown = { url: string; nowMs: number; counting: RefundCounting }

/** A payment as the API shows it, with the names and types of the official SDK's payment object. */
export function paymentObject(payment: ProviderPayment, { url, nowMs, counting }: Shown): string {
  const { reference, currency, amount } = payment
  const captured = isCaptured(payment)
  const minor = minorOf(amount, currency)
  const refunded = minorOf(refundedOf(payment, counting), currency)
  const leftSeconds = Math.max(0, unixSeconds(payment.expiresAt - nowMs))
  const fields = {
    id: reference,
    currency,
    crypto_currency: COIN,
    crypto_amount: asCoins(amount),
    created: unixSeconds(payment.createdAt),
    expired_at: unixSeconds(payment.expiresAt),
    settled_at: captured ? unixSeconds(nowMs) : null,
    status: statusOf(payment),
    captured,
    refunded: captured && refunded === minor,
    // beside any status: the fund of a payment whose time is over may still wait for its confirmations
    expired: !captured && payment.expiresAt <= nowMs,
    time_window: unixSeconds(payment.expiresAt - payment.createdAt),
    remaining_time: `${Math.floor(leftSeconds / 60)}:${String(leftSeconds % 60).padStart(2, '0')}`,
    payment_url: `${url}/payments/${reference}`,
    return_url: payment.returnUrl,
    cancel_url: payment.cancelUrl,
    order_id: payment.merchantReference,
    description: payment.facts.description ?? '',
    metadata: {},
    live_mode: payment.facts.live === true,
    qr_code: qrCode(reference),
    onchain_enabled: payment.facts.onchain === true,
    deposit_address: null,
    network_cost: null,
    payment_source: null,
    current_inbound_fund: payment.received === '0' ? null : inboundFund(payment),
  }
  return withIntegers(fields, { amount: minor, original_amount: minor, amount_refunded: refunded })
}

/** The refund object ("refunds"). Of its statuses only `succeeded` is known. */
export function refundObject(payment: ProviderPayment, refund: ProviderRefund): string {
  const fields = {
    id: refund.id,
    payment_id: payment.reference,
    currency: payment.currency,
    reason: refund.facts.reason ?? null,
    description: refund.facts.description ?? null,
    status: { pending: 'pending', settled: 'succeeded', refused: 'failed' }[refund.state],
    created: unixSeconds(refund.createdAt),
    live_mode: payment.facts.live === true,
  }
  return withIntegers(fields, { amount: minorOf(refund.amount, payment.currency) })
}
