import type { Queryable, Tx } from '../db/db.ts'
import { AppError } from '../kernel/errors.ts'
import { formatDecimal, parseMoney, proportion, proportionUp } from '../kernel/money.ts'
import { feeOf, holderOf } from '../ledger/ledger-service.ts'
import type { Order } from '../orders/order.ts'
import { findPayment, type Payment } from '../payments/payment-queries.ts'
import { priceUnitsOf } from '../payments/payment-rules.ts'
import type { RefundDeps } from './refund-deps.ts'
import type { Returned } from './refund-records.ts'

export async function findPaymentOf(q: Queryable, order: Order): Promise<Payment> {
  const payment = order.paymentId === null ? undefined : await findPayment(q, order.companyId, order.paymentId)
  if (!payment) throw new Error('a paid order without its payment')
  return payment
}

const text = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

export type Share = { units: bigint; excess: bigint; all: boolean }

/** What is left of an order: what arrived for it, less what was refunded, separately returned or ignored. */
export const unitsLeft = (
  order: Pick<Order, 'paidUnits' | 'refundedUnits'>,
  { besideUnits }: Pick<Returned, 'besideUnits'>,
) => order.paidUnits - order.refundedUnits - besideUnits

/** The amount to refund, and how much of it is above the price. @throws ILLEGAL_AMOUNT, REFUND_TOO_LARGE */
export function readUnits(order: Order, payment: Payment, returned: Returned, amount: string | undefined): Share {
  const left = unitsLeft(order, returned)
  const units = amount === undefined ? left : parseMoney(amount, 'USDC').units
  if (units === 0n) throw new AppError('ILLEGAL_AMOUNT', { message: 'The refund must be more than zero.' })
  if (units > left) {
    throw new AppError('REFUND_TOO_LARGE', {
      message: `At most ${text(left)} can be refunded; ${text(order.paidUnits - left)} went back already.`,
    })
  }
  const above = order.paidUnits - (payment.priceUnits ?? payment.dueUnits) - returned.usedExcess
  const free = above > 0n ? above : 0n
  return { units, excess: units < free ? units : free, all: units === left }
}

/** The order's full price in USDC. A provider that was given another price before a requote counts by that one. */
export const wholePriceUnits = (order: Order, payment: Payment): bigint =>
  payment.channel === 'crypto' ? priceUnitsOf(order, payment) : payment.dueUnits

/**
 * What arrived, in the order's currency, minus what was returned outside the order's refunds. Rounded up to the cent
 * that a provider took in fiat, because its report in USDC was rounded down.
 */
export function fiatTotal(order: Order, payment: Payment, { besideUnits }: Pick<Returned, 'besideUnits'>): bigint {
  return proportionUp(order.from.units, order.paidUnits - besideUnits, wholePriceUnits(order, payment))
}

/**
 * Money that pays nothing, in the order's currency, exact to the cent that arrived: by how much it raised the total of
 * the payment. Both totals are rounded up, like `fiatTotal`.
 */
export function fiatOfRecord(order: Order, payment: Payment, units: bigint): bigint {
  const sum = (came: bigint): bigint => proportionUp(order.from.units, came, wholePriceUnits(order, payment))
  const rest = payment.receivedUnits > units ? payment.receivedUnits - units : 0n
  return sum(rest + units) - sum(rest)
}

/** The refund in the order's currency; when it leaves nothing, the exact remainder. */
export function fiatShare(
  order: Order,
  payment: Payment,
  { units, all }: Omit<Share, 'excess'>,
  returned: Returned,
): bigint {
  const settled = returned.refunds.filter(({ status }) => status === 'settled')
  const done = settled.reduce((sum, { fiatUnits }) => sum + fiatUnits, 0n)
  const total = fiatTotal(order, payment, returned)
  const rest = total > done ? total - done : 0n
  const share = proportion(order.from.units, units, wholePriceUnits(order, payment))
  return all || share > rest ? rest : share
}

/** A provider that refunds in fiat cannot send less than its smallest unit. @throws ILLEGAL_AMOUNT */
export async function checkSendable(deps: RefundDeps, tx: Tx, payment: Payment, fiatUnits: bigint): Promise<void> {
  if (fiatUnits > 0n || !(await deps.channels.forPayment(payment, tx))?.refundsInFiat) return
  const message = `${payment.channel} refunds in the order’s currency; this is less than its smallest unit.`
  throw new AppError('ILLEGAL_AMOUNT', { message })
}

/** The company's share of a refund, and the fee on it. */
export function needOf(order: Order, payment: Payment, { units, excess }: Pick<Share, 'units' | 'excess'>) {
  const price = payment.priceUnits ?? payment.dueUnits
  const fee = feeOf(price, payment.feeBps ?? 0)
  const own = holderOf(payment) === 'own_account'
  return { companyId: order.companyId, units: units - excess, feeUnits: proportion(fee, units - excess, price), own }
}
