import type { Returned } from '../../channels/channel.ts'
import { DAY } from '../../kernel/clock.ts'
import { larger, smaller } from '../../kernel/money.ts'
import type { Refund } from '../refund-queries.ts'

/** Who settles a refund has sent it. Providers' times have no zone, and a console may need its time. */
const LATER_MS = 2 * DAY

type OfRefund = Pick<Refund, 'units' | 'settledAt'>
type Return = { units: bigint; atMs: number }

const sumOf = (sums: readonly { units: bigint }[]): bigint => sums.reduce((total, { units }) => total + units, 0n)

/** Its complete returns, oldest first; one without a time may be the oldest. */
function returnsOf({ complete, made }: Returned): Return[] {
  const timed = made.map(({ units, at }) => ({ units, atMs: at.getTime() }))
  const untimed = { units: larger(complete - sumOf(timed), 0n), atMs: Number.NEGATIVE_INFINITY }
  return [untimed, ...timed].toSorted((one, other) => one.atMs - other.atMs)
}

/** Takes the oldest so many units of the returns after that time. @returns what it did not find */
function takeOldest(returns: readonly Return[], wanted: bigint, after: Date | null): bigint {
  let left = wanted
  for (const one of returns) {
    if (after !== null && one.atMs <= after.getTime()) continue
    const units = smaller(one.units, left)
    one.units -= units
    left -= units
  }
  return left
}

/** What is gone, and nobody knows since when: part of the returns `among`, which leaves `spare` of them for refunds. */
type Unplaced = { units: bigint; among: Return[]; spare: bigint }

/** Takes what is gone: first what was new when that was told. */
function takeGone(returns: readonly Return[], { read }: Returned): Unplaced {
  let [unplaced, untilMs] = [0n, Number.NEGATIVE_INFINITY]
  for (const { units, after, until } of read?.gone ?? [])
    if (after === 'unknown') {
      unplaced += units
      // an earlier version did not note what was listed
      if (until !== null) untilMs = Math.max(untilMs, until?.getTime() ?? Number.POSITIVE_INFINITY)
    } else takeOldest(returns, takeOldest(returns, units, after), null)
  const among = unplaced === 0n ? [] : returns.filter(({ atMs }) => atMs <= untilMs)
  return { units: unplaced, among, spare: larger(sumOf(among) - unplaced, 0n) }
}

/** Takes as much of the refunds as the return can be, and that from both. @param most no more of it than this */
function match(one: Return, refunds: OfRefund[], most: bigint): bigint {
  let matched = 0n
  for (const refund of refunds) {
    const untilMs = refund.settledAt === null ? Number.POSITIVE_INFINITY : refund.settledAt.getTime() + LATER_MS
    if (one.atMs > untilMs) continue
    const units = smaller(smaller(one.units, most) - matched, refund.units)
    refund.units -= units
    matched += units
  }
  one.units -= matched
  return matched
}

/**
 * What of the listed returns is which of our refunds. Each return is one thing only: gone before it paid anything, or a
 * refund that was not settled long before, or ignored money, which may come back at any time. The newest return, which
 * fewest refunds can be, is matched first. What is gone and may be any of several returns is what no refund is of them.
 * @param refunded how much of the list is refunds
 * @returns `known`: those that its provider has; `byHand`: those that a person settled, as far as they are in the list
 */
export function matchReturns(
  list: Returned,
  refunded: bigint,
  refunds: { known: readonly OfRefund[]; byHand: readonly OfRefund[] },
): { known: bigint; byHand: bigint } {
  const returns = returnsOf(list)
  const unplaced = takeGone(returns, list)
  const copy = (some: readonly OfRefund[]): OfRefund[] => some.map((one) => ({ ...one }))
  const left = { known: copy(refunds.known), byHand: copy(refunds.byHand) }
  const found = { known: 0n, byHand: 0n }
  for (const one of returns.toReversed()) {
    const isAmong = unplaced.among.includes(one)
    for (const which of ['known', 'byHand'] as const) {
      const matched = match(one, left[which], isAmong ? unplaced.spare : one.units)
      if (isAmong) unplaced.spare -= matched
      found[which] += matched
    }
  }
  takeOldest(unplaced.among, unplaced.units, null)
  // it has sent these, whenever: one that bounced is sent anew, and its clock may be ahead of ours
  found.known += smaller(sumOf(left.known), sumOf(returns))
  // no more than is refunds: what is left of the list is ignored money, whichever return that is
  found.known = smaller(found.known, refunded)
  return { ...found, byHand: smaller(found.byHand, refunded - found.known) }
}
