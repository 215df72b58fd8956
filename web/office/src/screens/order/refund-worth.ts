import { fromUnits, toUnits } from '../../kit/decimal.ts'

/** Maximum sum of rounding differences from earlier refunds: the last refund takes the rest. */
const ROUNDED = 100n

type Sums = { fromAmount: string; toAmount: string; refundedAmount: string }

/** The remaining amount, as exact decimal text. */
export const leftOf = ({ toAmount, refundedAmount }: Sums): string =>
  fromUnits(toUnits(toAmount) - toUnits(refundedAmount))

/**
 * An amount of the order's currency in the token, at the order's rate. Rounded up, so that a provider that refunds in
 * that currency, rounding down, arrives at exactly this amount.
 */
export function tokenFor(order: Sums, fiat: string): string {
  const whole = toUnits(order.fromAmount)
  const units = (toUnits(fiat) * toUnits(order.toAmount) + whole - 1n) / whole
  const left = toUnits(leftOf(order))
  return fromUnits(units > left && units - left < ROUNDED ? left : units)
}
