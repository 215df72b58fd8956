import { sum, unitsOf } from './decimal.ts'
import type { DeskPayment, DeskRefund } from './imitation.ts'

/** Currencies that payments may be priced in, and the digits of their smallest unit. */
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

/** The payer pays in this coin, ten of it for one of any currency. */
const COIN = 'CRO'
const coinsOf = (amount: string): string => ((unitsOf(amount) ?? 0n) * 10n).toString()
const asCoins = (amount: string): string =>
  coinsOf(amount)
    .padStart(19, '0')
    .replace(/(\d{18})$/, '.$1')

/** Whole smallest units as text, to stand in JSON without quotes however large they are. */
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

const STATUS: Record<DeskPayment['state'], string> = {
  open: 'pending',
  part: 'pending',
  paid: 'succeeded',
  failed: 'cancelled',
  expired: 'cancelled',
  closed: 'cancelled',
}

const refundedOf = ({ refunds }: DeskPayment): string =>
  sum(refunds.filter(({ state }) => state !== 'refused').map(({ amount }) => amount))

const qrCode = (id: string): string => Buffer.from(JSON.stringify({ type: 'payment', id })).toString('base64')

const inboundFund = (payment: DeskPayment) => ({
  id: `fund-${payment.reference}`,
  txn_id: '',
  currency: COIN,
  amount: asCoins(payment.received),
  status: 'pending',
  confirmed: payment.state !== 'part',
  mismatched_reason: payment.state === 'part' ? 'underpaid' : null,
  from_address: '',
})

/** A payment as the original shows it; what was asked to be refunded is taken off at once. */
export function paymentObject(payment: DeskPayment, { url, nowMs }: { url: string; nowMs: number }): string {
  const { reference, currency, amount, state } = payment
  const minor = minorOf(amount, currency)
  const refunded = minorOf(refundedOf(payment), currency)
  const leftSeconds = Math.max(0, unixSeconds(payment.expiresAt - nowMs))
  const fields = {
    id: reference,
    currency,
    crypto_currency: COIN,
    crypto_amount: asCoins(amount),
    created: unixSeconds(payment.createdAt),
    expired_at: unixSeconds(payment.expiresAt),
    status: payment.unknownWord ? 'on_hold' : STATUS[state],
    captured: state === 'paid',
    refunded: state === 'paid' && refunded === minor,
    expired: state === 'expired',
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
    current_inbound_fund: payment.received === '0' ? null : inboundFund(payment),
  }
  return withIntegers(fields, { amount: minor, original_amount: minor, amount_refunded: refunded })
}

export function refundObject(payment: DeskPayment, refund: DeskRefund): string {
  const fields = {
    id: refund.id,
    payment_id: payment.reference,
    currency: payment.currency,
    status: { pending: 'pending', settled: 'succeeded', refused: 'failed' }[refund.state],
    created: unixSeconds(refund.createdAt),
    live_mode: payment.facts.live === true,
  }
  return withIntegers(fields, { amount: minorOf(refund.amount, payment.currency) })
}
