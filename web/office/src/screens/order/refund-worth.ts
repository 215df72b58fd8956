import { fromUnits, toUnits } from '../../kit/decimal.ts'

/** Maximum sum of rounding differences from earlier refunds: the last refund takes the rest. */
const ROUNDED = 100n

type Price = { fromAmount: string; toAmount: string }

/**
 * An amount of the order's currency in the token, at the order's rate. Rounded up, so that a provider that refunds in
 * that currency, rounding down, arrives at exactly this amount.
 * @param refundable what a refund can return at most, decimal text in the token
 */
export function tokenFor(order: Price, fiat: string, refundable: string): string {
  const whole = toUnits(order.fromAmount)
  const units = (toUnits(fiat) * toUnits(order.toAmount) + whole - 1n) / whole
  const left = toUnits(refundable)
  return fromUnits(units > left && units - left < ROUNDED ? left : units)
}
