import { ownAt, textAt } from '../../kernel/json.ts'
import { EXPONENTS, parseDecimal, proportion } from '../../kernel/money.ts'
import { type PaymentReport, paidReport, type UnmatchedMoney } from '../channel.ts'
import { providerUnits } from '../usdc-text.ts'
import { filledAt } from './api.ts'

type Meaning = 'waiting' | 'confirming' | 'paid' | 'expired' | 'late' | 'failed' | 'blocked'

/** Status words of the query, then those of callbacks (`bizStatus`), which the query may use as well. */
export const MEANINGS: Readonly<Record<string, Meaning>> = {
  PENDING: 'waiting',
  PROCESS: 'confirming',
  PAID: 'paid',
  EXPIRED: 'expired',
  TRANSFERRED_ADDRESS_IN_TERM: 'confirming',
  PAY_EXPIRED_IN_PROCESS: 'confirming',
  PAY_SUCCESS: 'paid',
  PAY_CLOSE: 'expired',
  PAY_ERROR: 'failed',
  PAY_BLOCK: 'blocked',
  TRANSFERRED_ADDRESS_BLOCK: 'blocked',
  TRANSFERRED_ADDRESS_DELAY: 'late',
  CONVERT_ADDRESS_PAY_DELAY: 'late',
}

/** The payer's amount may have this many decimals, whatever the coin. */
const COIN_EXPONENT = 18

const usdc = (text: string | null): bigint | undefined => (text === null ? undefined : parseDecimal(text, 6))
const coins = (text: string | null): bigint => (text === null ? 0n : (providerUnits(text) ?? 0n))

/** Coins at the order's address that Gate has credited. */
const credited = (data: unknown): bigint => coins(filledAt(data, 'transaction_info', 'done_amount'))

function confirmingAmounts(data: unknown): string[] {
  const amounts: string[] = []
  const amountAt = (index: number) => textAt(data, 'transaction_info', 'confirming_list', index, 'amount')
  for (let amount = amountAt(0); amount !== undefined; amount = amountAt(amounts.length)) amounts.push(amount)
  return amounts
}

/** Coins at the order's address that may still vanish. */
const confirming = (data: unknown): bigint =>
  confirmingAmounts(data).reduce((sum, amount) => sum + coins(amount || null), 0n)

/** The first amount of coins that is no plain decimal. */
const findUnreadable = (data: unknown): string | undefined =>
  [
    ...[filledAt(data, 'transaction_info', 'done_amount'), filledAt(data, 'pay_amount'), filledAt(data, 'payAmount')],
    ...confirmingAmounts(data),
  ].find((amount): amount is string => Boolean(amount) && providerUnits(amount ?? '') === undefined)

/** The coin that arrived, if it is not the order's own. */
function otherCoin(data: unknown): string | undefined {
  const coin = filledAt(data, 'actualCurrency')
  return coin === null || coin === filledAt(data, 'currency') ? undefined : coin
}

/**
 * The price in the coin that the payer chose. Without a choice it is the order's own amount: an expired order says
 * `"pay_currency": "", "pay_amount": "0"` (docs.gate.com, checkout/orderQuery). Undefined: it is in an unknown number
 * of another coin.
 */
function askedOf(data: unknown): bigint | undefined {
  const chosen = ['pay_amount', 'payAmount'].map((name) => coins(filledAt(data, name))).find((amount) => amount > 0n)
  if (chosen !== undefined) return chosen
  return otherCoin(data) === undefined ? coins(filledAt(data, 'orderAmount')) : undefined
}

/** Coins that came, as a share of the price, because the payer may send another coin; undefined: an unknown share. */
function shareOf(data: unknown, price: bigint, came: bigint): bigint | undefined {
  const asked = askedOf(data)
  if (asked === undefined) return came === 0n ? 0n : undefined
  return asked === 0n ? 0n : proportion(price, came, asked)
}

/**
 * The price minus the amount that Gate reports as unpaid; undefined if the figures are impossible. In another coin the
 * unpaid rest may have more digits than USDC: the last one is rounded up, so that no more counts than arrived.
 */
function received(data: unknown, price: bigint): bigint | undefined {
  const missing = providerUnits(filledAt(data, 'underpaidAmount') ?? '0')
  const unit = 10n ** BigInt(COIN_EXPONENT - EXPONENTS.USDC)
  const units = missing === undefined ? undefined : (missing + unit - 1n) / unit
  return units === undefined || units > price ? undefined : price - units
}

/** 0.01 USDC. A smaller excess is the rounding of the payer's coin; less on its way is dust, which anyone can send. */
const LEAST_UNITS = 10_000n

/**
 * What arrived above the price, up to now; 0 until the query says what arrived. "After order completion, new payments
 * to the order address are confirmed and credited to the merchant payment account" (docs.gate.com,
 * addresspayment/callback): it is recorded, and never counted.
 */
function overpaid(data: unknown, price: bigint): bigint {
  const came = credited(data)
  const asked = askedOf(data)
  const excess = asked && came > asked ? proportion(price, came, asked) - price : 0n
  return excess < LEAST_UNITS ? 0n : excess
}

/** Whether the amount at the order's address is all that came: a payment inside Gate does not show there. */
function namesWhole(data: unknown): boolean {
  const asked = askedOf(data)
  return asked !== undefined && credited(data) >= asked
}

const lateReference = (providerReference: string): string => `gatepay:${providerReference}:late`
const overReference = (providerReference: string): string => `gatepay:${providerReference}:over`
/** What Gate shows at the order's address contains all of it, whatever it became. */
const recordedOf = (providerReference: string) => ({
  alreadyRecorded: [lateReference(providerReference), overReference(providerReference)],
})

/**
 * Money at Gate that does not pay this order, up to now: a person must see it. It counts only if Gate calls the order
 * paid after all. Where Gate called it paid before, what was credited then is part of it.
 */
const lateMoney = (providerReference: string, units: bigint, asset = 'USDC'): UnmatchedMoney[] =>
  units === 0n ? [] : [{ asset, units, reference: lateReference(providerReference), isOneSum: true, isTotal: true }]

/** Whether money on its way may still pay an order that has ended: it is no dust, or completes the price. */
function mayStillPay(data: unknown, price: bigint, unconfirmed: bigint): boolean {
  if (unconfirmed === 0n) return false
  const here = credited(data)
  const [part, before, all] = [unconfirmed, here, here + unconfirmed].map((came) => shareOf(data, price, came))
  if (part === undefined || before === undefined || all === undefined) return true
  return part >= LEAST_UNITS || (before < price && all >= price)
}

/** Gate has its money and does not credit it yet. Where it shows no amount, but for dust, that is the price. */
function confirmingReport(
  word: string,
  data: unknown,
  { price, providerReference }: { price: bigint; providerReference: string },
): PaymentReport {
  const share = shareOf(data, price, credited(data) + confirming(data)) ?? 0n
  const isEstimate = share < LEAST_UNITS
  return {
    ...paidReport(providerReference, { final: 0n, pending: isEstimate ? price : share, providerStatus: word }),
    ...(isEstimate ? { isEstimate } : {}),
    ...recordedOf(providerReference),
  }
}

/** An order that is not paid: it waits, its money is on the way, or it has ended with what was credited. */
function unpaidReport(
  word: string,
  data: unknown,
  { price, providerReference, isOver }: { price: bigint; providerReference: string; isOver: boolean },
): PaymentReport {
  const unconfirmed = confirming(data)
  const isOpen = !isOver || mayStillPay(data, price, unconfirmed)
  const came = credited(data) + (isOpen ? unconfirmed : 0n)
  const share = shareOf(data, price, came)
  if (isOpen && share === undefined)
    return {
      outcome: 'unknown',
      providerReference,
      providerStatus: `${word}: ${otherCoin(data)} arrives, it does not say for how much of the price`,
    }
  if (isOpen && share)
    return {
      ...paidReport(providerReference, { final: 0n, pending: share, providerStatus: `${word}, money arrives` }),
      ...recordedOf(providerReference),
    }
  if (!isOver) return { outcome: 'waiting', providerReference, providerStatus: word }
  const unmatched =
    share === undefined ? lateMoney(providerReference, came, otherCoin(data)) : lateMoney(providerReference, share)
  return { outcome: 'expired', providerReference, unmatched, ...recordedOf(providerReference), providerStatus: word }
}

/**
 * Gate's report about one order. Only PAID counts as final; parts of the price that Gate credits before are recorded
 * once the order has ended. Until all money at its address is confirmed, but for dust, an order has not ended: Gate may
 * call it paid.
 * @param closedWords undocumented status words for an order that we closed
 */
export function reportOf(
  word: string,
  data: unknown,
  { providerReference, closedStatuses }: { providerReference: string; closedStatuses: readonly string[] },
): PaymentReport {
  const meaning = closedStatuses.includes(word) ? 'expired' : ownAt(MEANINGS, word)
  const unknown = (providerStatus: string): PaymentReport => ({ outcome: 'unknown', providerReference, providerStatus })
  if (meaning === undefined) return unknown(word === '' ? 'no status' : word)
  if (meaning === 'failed' || meaning === 'blocked')
    return { outcome: meaning, providerReference, providerStatus: word }
  const price = usdc(filledAt(data, 'orderAmount'))
  if (filledAt(data, 'currency') !== 'USDC' || price === undefined) {
    if (meaning === 'waiting' || meaning === 'expired')
      return { outcome: meaning, providerReference, providerStatus: word }
    return unknown(`${word}: ${filledAt(data, 'orderAmount')} ${filledAt(data, 'currency')}`)
  }
  const unreadable = findUnreadable(data)
  if (unreadable !== undefined) return unknown(`${word}: the amount ${unreadable}`)
  if (meaning === 'paid') {
    const final = received(data, price)
    if (final === undefined) return unknown(`${word}: underpaid`)
    // what is missing of the price says more than what Gate shows at the address
    const over = final < price ? 0n : overpaid(data, price)
    const paid = paidReport(providerReference, { final: final + over, providerStatus: word })
    const isLeast = final === price && !namesWhole(data)
    const above = overReference(providerReference)
    const total = { price, contains: [lateReference(providerReference)], above, ...(isLeast && { isLeast }) }
    const report = { ...paid, ...recordedOf(providerReference), total }
    return over === 0n ? report : { ...report, providerStatus: `${word}, more than was asked for` }
  }
  if (meaning === 'confirming') return confirmingReport(word, data, { price, providerReference })
  return unpaidReport(word, data, { price, providerReference, isOver: meaning !== 'waiting' })
}
