import { larger, smaller } from '../../kernel/money.ts'
/*
 * The arithmetic of what a provider tells to be on its way to a payment, again and again, while it freezes parts of it
 * and a person decides. Nothing here reads or writes.
 *
 * The amount that was told last contains a part that is not on its way any more: frozen, or returned by a person with a
 * block of all of the payment. Only the difference to all that is frozen is stored, as what is gone: so the part grows
 * with what is frozen, whatever the coin. Less than nothing is gone where a person returned more than was frozen. A
 * node that does not know of that reads it in the same way.
 */

/** What was told of a payment, and what of that is not on its way. */
export type Way = {
  /** As stored. Unless it is exact, the least that was told: an older node took off what was frozen. */
  notedUnits: bigint
  /** This version stored an amount that it was told. Not so before the first one. */
  isExact: boolean
  /** What the provider froze in all, decided about or not. */
  frozenUnits: bigint
  /**
   * What of that is not contained in the amount that was told last, less what that contains of returned money. Null:
   * told amounts never fell.
   */
  goneUnits: bigint | null
}

const positive = (units: bigint): bigint => larger(units, 0n)

/** What the amount that was told last contains. */
const takenOf = ({ frozenUnits, goneUnits }: Way): bigint => positive(frozenUnits - (goneUnits ?? 0n))

/** The amount that was told last, or the most that an older node can have been told. */
const mostToldOf = (way: Way): bigint => (way.isExact ? way.notedUnits : positive(way.notedUnits + takenOf(way)))

/**
 * What an amount contains that a report tells. The same amount is the same money. What a larger one adds is new. What a
 * smaller one lacks was frozen, if any was: in doubt, the rest is still on its way. So what is sent after 0 contains
 * nothing that was frozen before, unless nothing was told before that 0: then nothing fell.
 */
function takenOfTold(way: Way, told: bigint): bigint {
  const before = mostToldOf(way)
  const taken = takenOf(way)
  if (told === before) return taken
  return positive(smaller(told, smaller(taken, before) - positive(way.notedUnits - told)))
}

/** What is on its way once a report tells this amount. */
export const onItsWay = (way: Way, told: bigint): bigint => positive(told - takenOfTold(way, told))

/**
 * What a price says that stands in for an amount. It repeats what was told if that counts as paid, also as an estimate.
 * A part that was told before hides nothing: the rest may have come.
 */
export const toldByEstimate = (before: bigint, { price, tolerance }: { price: bigint; tolerance: bigint }): bigint =>
  before + tolerance >= price ? before : price

/**
 * What a price that stands in for an amount says to have come. It may be all of it, and in doubt nobody pays twice,
 * unless a person decided about as much as counts as paid: that is not waited for again.
 * @param left of the price, without what a person decided about
 */
export const cameByEstimate = (left: bigint, { price, tolerance }: { price: bigint; tolerance: bigint }): bigint =>
  left > tolerance ? price : left

/** The amount that was told last. Of an older node's 0, nothing is known. */
export const toldOf = (way: Way): bigint => (way.notedUnits === 0n ? 0n : mostToldOf(way))

/** What is gone once a person returned all that is on its way: the told amount contains nothing else. */
export function goneAfterReturn(way: Way): bigint | null {
  const told = toldOf(way)
  return told > takenOf(way) ? way.frozenUnits - told : way.goneUnits
}

/** What is gone once a report tells this amount. It never falls by that, so a sum that is renamed stays gone. */
export function goneAfter(way: Way, told: bigint): bigint | null {
  if (told === mostToldOf(way)) return way.goneUnits
  const gone = way.frozenUnits - takenOfTold(way, told)
  return larger(way.goneUnits ?? gone, gone)
}

/** What came on its way since a person last looked. */
export type Unexplained = {
  /** The most that was on its way since, or since nothing was: up to that it is the same money, told again. */
  peakUnits: bigint
  /** What of all that came on its way was neither received nor recorded, and seen by no person. */
  openUnits: bigint
  /** What a person was told of and did not arrive, also once nothing is on its way any more. */
  knownUnits: bigint
}

/** What is on its way before a report and after it, and how much it shows as received or recorded. */
export type WayChange = { before: bigint; after: bigint; arrived: bigint }

/** What exceeds the peak is other money. */
const withPending = ({ peakUnits, openUnits, knownUnits }: Unexplained, pending: bigint): Unexplained => ({
  peakUnits: larger(peakUnits, pending),
  openUnits: openUnits + positive(pending - peakUnits),
  knownUnits,
})

/**
 * What a report shows to have left and to have arrived is the same money if the arrival fits into what left. Else
 * something arrived that was not told, and nothing is explained.
 */
export function explainedUnits({ before, after, arrived }: WayChange, dust: bigint): bigint {
  const left = positive(before - after)
  return arrived <= left + dust ? smaller(arrived, left) : 0n
}

/**
 * What is unexplained once a report changes this. As much of what is still on its way as did not leave may be new. What
 * leaves without arriving stays unexplained.
 */
export function afterReport(state: Unexplained, change: WayChange, dust: bigint): Unexplained {
  const { before, after, arrived } = change
  // an older node may have raised it
  const { peakUnits, openUnits, knownUnits } = withPending(state, before)
  const [came, explained] = [smaller(arrived, before), smaller(openUnits, explainedUnits(change, dust))]
  const lowered = {
    peakUnits: peakUnits - came,
    openUnits: openUnits - explained,
    knownUnits: positive(knownUnits - (came - explained)),
  }
  const next = withPending(lowered, after)
  return after === 0n ? { ...next, peakUnits: 0n } : next
}

/** A person is not told again of less than dust and this share of what he was told: anyone can send that. */
const LEAST_SHARE = 200n

/** How much more a person is told of, at least, who knows of so much. */
const stepFrom = (known: bigint, dust: bigint): bigint => larger(dust, 1n) + known / LEAST_SHARE

/** Whether a person who was told of so much is told of this. */
export const isMoreThanTold = (units: bigint, told: bigint, dust: bigint): boolean =>
  units - told >= (told > 0n ? stepFrom(told, dust) : larger(dust, 1n))

/**
 * What a person has not been told of, once that is worth a word, and whether it has just become so, or has grown by as
 * much again.
 */
export function untold(before: Unexplained, after: Unexplained, dust: bigint): { isUntold: boolean; isMore: boolean } {
  const step = stepFrom(after.knownUnits, dust)
  const steps = after.openUnits / step
  return { isUntold: steps > 0n, isMore: steps > before.openUnits / step }
}
