import type { Returned } from '../../channels/channel.ts'
import { DAY } from '../../kernel/clock.ts'
import { larger, smaller } from '../../kernel/money.ts'
import type { Refund } from '../refund-queries.ts'

/** Who settles a refund has sent it. Providers' times have no zone, and a console may need its time. */
const LATER_MS = 2 * DAY

type OfRefund = Pick<Refund, 'units' | 'settledAt'>
type Return = { units: bigint; atMs: number }

const sumOf = (sums: readonly { units: bigint }[]): bigint => sums.reduce((total, { units }) => total + units, 0n)

/** Its complete returns, oldest first; one without a time may be as old as any. */
function returnsOf({ complete, made }: Returned): Return[] {
  const timed = made.map(({ units, at }) => ({ units, atMs: at.getTime() }))
  const untimed = { units: larger(complete - sumOf(timed), 0n), atMs: Number.NEGATIVE_INFINITY }
  return [untimed, ...timed].toSorted((one, other) => one.atMs - other.atMs)
}

/** Without the first so many units. */
function after(returns: readonly Return[], units: bigint): Return[] {
  let left = units
  return returns.map((one) => {
    const part = smaller(one.units, left)
    left -= part
    return { ...one, units: one.units - part }
  })
}

/** Takes as much of the refunds as the return can be, and that from both. */
function match(one: Return, refunds: OfRefund[]): bigint {
  let matched = 0n
  for (const refund of refunds) {
    const untilMs = refund.settledAt === null ? Number.POSITIVE_INFINITY : refund.settledAt.getTime() + LATER_MS
    if (one.atMs > untilMs) continue
    const units = smaller(one.units - matched, refund.units)
    refund.units -= units
    matched += units
  }
  one.units -= matched
  return matched
}

/**
 * What of the listed returns is which of our refunds. Each return is one thing only. The oldest are what is no refund:
 * gone before it paid anything, or ignored. Of the rest, each is a refund that was not settled long before: the newest
 * return, which fewest refunds can be, is matched first.
 * @param refunded how much of the list is refunds
 * @returns `known`: those that its provider has; `byHand`: those that a person settled, as far as they are in the list
 */
export function matchReturns(
  list: Returned,
  refunded: bigint,
  refunds: { known: readonly OfRefund[]; byHand: readonly OfRefund[] },
): { known: bigint; byHand: bigint } {
  const known = refunds.known.map((one) => ({ ...one }))
  const byHand = refunds.byHand.map((one) => ({ ...one }))
  const found = { known: 0n, byHand: 0n }
  for (const one of after(returnsOf(list), list.complete - refunded).toReversed()) {
    found.known += match(one, known)
    found.byHand += match(one, byHand)
  }
  // each return is rounded up on its own
  found.known = smaller(found.known, refunded)
  return { ...found, byHand: smaller(found.byHand, refunded - found.known) }
}
