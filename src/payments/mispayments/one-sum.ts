import { dollarScale } from '../../channels/usdc-text.ts'
import type { Mispayment } from './mispayment-queries.ts'

/*
 * The arithmetic of one sum that a provider tells about under one reference, again and again, in changing coins and
 * amounts, while a person decides about parts of it. Nothing here reads or writes.
 *
 * The records of one value (a coin, or both dollar coins) are disjoint parts of the sum. Up to the last decision they
 * are fixed: what was decided about counts for ever, what a person left open waits under its own name, and what had
 * another name then is the same money. Only what came since follows the name: it waits in the coin that was told last.
 */

/** A record of the sum. */
export type Part = Pick<
  Mispayment,
  'asset' | 'units' | 'status' | 'isRenamed' | 'renamedTo' | 'createdAt' | 'updatedAt'
>

/** What a report changes in the records of a sum. */
export type SumChange<P extends Part> = {
  /** Their money has the told name now: they are resolved. */
  close: P[]
  /** Waits again, with other units: so a name that alternates makes no further records. */
  reopen: { record: P; units: bigint } | null
  /** Units of a further record; null: none. */
  insert: bigint | null
  /** How much more the sum is than before in the value of this coin; less than zero: it was told as less. */
  more: bigint
  /** Whether more waits than before, or its first amount: another name alone is nothing new. */
  isNew: boolean
}

/** Both dollar coins are one value, counted in the digits of the finer one. */
const currencyOf = (asset: string): string => (dollarScale(asset) === undefined ? asset : 'dollar')
const scaleOf = (asset: string): bigint => dollarScale(asset) ?? 1n
/** A sum grows by no less than the coarser of its coins can say: the rest is the rounding of the finer one. */
const leastGrowth = (value: string): bigint => (value === 'dollar' ? scaleOf('USDC') : 1n)
const sumOf = (parts: readonly Part[]): bigint =>
  parts.reduce((total, { asset, units }) => total + units * scaleOf(asset), 0n)

const isWaiting = ({ status }: Part): boolean => status === 'open'
const isSettled = (part: Part): boolean => !isWaiting(part) && !part.isRenamed

/** Whether the money of a renamed record is counted in another record of the same value. */
const isMoved = ({ asset, isRenamed, renamedTo }: Part): boolean =>
  isRenamed && renamedTo !== null && currencyOf(renamedTo) === currencyOf(asset)

/** No coin: nothing tells which one, and none of the same value. */
const ANOTHER = '?'

/**
 * The coin that an older node renamed a record to, from what no report changes: that node made the record in the other
 * coin, or opened it again, at the same time. What came back after that in the first coin took in its other records.
 */
export function findNewName(part: Part, parts: readonly Part[]): string {
  const at = part.updatedAt.getTime()
  const own = parts.filter((one) => one !== part && currencyOf(one.asset) === currencyOf(part.asset))
  const wasThere = own.filter(({ createdAt }) => createdAt.getTime() <= at)
  if (wasThere.some((one) => one.asset === part.asset && one.updatedAt.getTime() > at)) return part.asset
  const others = parts.filter(({ asset }) => asset !== part.asset)
  const next =
    others.find(({ createdAt }) => createdAt.getTime() === at) ??
    others.find(({ isRenamed, updatedAt }) => !isRenamed && updatedAt.getTime() === at)
  if (next) return next.asset
  return wasThere.some(({ asset }) => asset !== part.asset) ? part.asset : ANOTHER
}

/** The parts that no report changes, up to the last decision. */
function fixedOf<P extends Part>(parts: readonly P[]): P[] {
  const settled = parts.filter(isSettled)
  const until = Math.max(...settled.map(({ updatedAt }) => updatedAt.getTime()))
  const wasThere = ({ createdAt }: Part): boolean => createdAt.getTime() <= until
  const wasRenamed = ({ isRenamed, updatedAt }: Part): boolean => isRenamed && updatedAt.getTime() <= until
  // what was left open has had another name since then: only what was decided about is certain
  const isBroken = parts.some((part) => part.isRenamed && wasThere(part) && !wasRenamed(part))
  return parts.filter(
    (part) => isSettled(part) || (isWaiting(part) && wasThere(part)) || (wasRenamed(part) && !isBroken),
  )
}

const NOTHING = { close: [], reopen: null, insert: null, more: 0n, isNew: false }

/** Brings the records of a sum in line with what its provider says: `units` of `asset` came in all. */
export function bringSumTo<P extends Part>(
  parts: readonly P[],
  { asset, units }: { asset: string; units: bigint },
): SumChange<P> {
  const value = currencyOf(asset)
  const known = parts.filter((part) => currencyOf(part.asset) === value && !isMoved(part))
  // an amount that cannot be read says nothing about one that waits
  if (units === 0n && known.length === 0 && !parts.some(isWaiting)) return { ...NOTHING, insert: 0n, isNew: true }
  const all = fixedOf(parts)
  const fixed = known.filter((part) => all.includes(part))
  const scale = scaleOf(asset)
  const due = (units * scale - sumOf(fixed)) / scale
  const grows = (by: bigint, before: readonly P[]): boolean =>
    by * scale >= (before.length > 0 ? leastGrowth(value) : 1n)
  if (!grows(due, fixed)) return NOTHING
  const free = parts.filter((part) => !all.includes(part))
  const live = free.filter((part) => isWaiting(part) && part.asset === asset)
  const back = live.length === 0 ? free.find((part) => part.isRenamed && part.asset === asset) : undefined
  // in a value that it never had, all of the sum waits, and nothing of it in any other
  const others = (fixed.length > 0 ? free : parts).filter((part) => isWaiting(part) && !live.includes(part))
  const stale = free.filter((part) => part.isRenamed && part !== back && known.includes(part))
  const lacking = due - sumOf(live) / scale
  const waitsNow = grows(lacking, live)
  const before = sumOf(known)
  const more = (sumOf(fixed) + (waitsNow ? due * scale : sumOf(live)) - before) / scale
  return {
    close: [...others, ...stale],
    reopen: back ? { record: back, units: due } : null,
    insert: back || !waitsNow ? null : lacking,
    ...{ more, isNew: waitsNow && isNews(parts, { value, more, before }) },
  }
}

/** Whether what waits now did not wait under any name before. */
function isNews(
  parts: readonly Part[],
  { value, more, before }: { value: string; more: bigint; before: bigint },
): boolean {
  if (!parts.some(isWaiting)) return true
  const isFirst = parts.every(({ asset }) => currencyOf(asset) !== value)
  const hadNoAmount = parts.every(({ asset, units }) => units === 0n || currencyOf(asset) === value)
  // in its first other value all of the sum waits, also what was decided about
  return (isFirst && parts.some(isSettled)) || (more > 0n && (before > 0n || hadNoAmount))
}
