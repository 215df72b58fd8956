import { fromUnits, toUnits } from '../../kit/decimal.ts'

/** What the roundings of earlier refunds add up to at most: the last one takes the rest. */
const ROUNDED = 100n

type Sums = { fromAmount: string; toAmount: string; refundedAmount: string }

/** What is left, in exact decimal text. */
export const leftOf = ({ toAmount, refundedAmount }: Sums): string =>
  fromUnits(toUnits(toAmount) - toUnits(refundedAmount))

/**
 * What an amount in the order's currency is in the token, at the order's rate. Rounded up, so that a provider that
 * refunds in that currency, rounded down, gives exactly this amount.
 */
export function tokenFor(order: Sums, fiat: string): string {
  const whole = toUnits(order.fromAmount)
  const units = (toUnits(fiat) * toUnits(order.toAmount) + whole - 1n) / whole
  const left = toUnits(leftOf(order))
  return fromUnits(units > left && units - left < ROUNDED ? left : units)
}
