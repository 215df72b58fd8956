import type { SeenReport, Total, UnmatchedMoney } from '../../channels/channel.ts'
import { dollarScale, dollarUnits } from '../../channels/usdc-text.ts'
import { larger, proportion, smaller } from '../../kernel/money.ts'
import type { Mispayment } from './mispayment-queries.ts'
import { isDecided, isUnder, type Standing } from './standing.ts'

/*
 * The arithmetic of one total that a provider tells of a payment: the price, what was decided about, and what is above
 * the price, wherever each of them is recorded. Nothing here reads or writes.
 *
 * What was decided about is taken off, wherever it is recorded. What is left pays the price first, and only the rest is
 * above it. So each unit that came is paid, decided about or waiting once.
 */

type Sum = Pick<UnmatchedMoney, 'asset' | 'units'>

/** What of an open record still waits; 0: its payment counts all of it. */
export type Lowered = { record: Mispayment; units: bigint }

/** What of a total is the payment's, and what waits beside it. */
export type Shares = {
  final: bigint
  unmatched: UnmatchedMoney[]
  lowered: Lowered[]
  isPart?: true
}

/** 0.01 USDC. A smaller difference is the rounding of the payer's coin. */
const LEAST_UNITS = 10_000n

const positive = (units: bigint): bigint => larger(units, 0n)
const isBeside = ({ kind }: Mispayment): boolean => kind === 'wrong_token'
const isOpen = ({ status }: Mispayment): boolean => status === 'open'
/** Decided about, or counted by the payment after it was recorded: no report changes that. */
const isSettled = (one: Mispayment): boolean => isDecided(one) || (one.status === 'resolved' && !one.isRenamed)

/** The records of money beside a payment under any of these references. */
export const besideOf = (records: readonly Mispayment[], references: readonly string[] = []): Mispayment[] =>
  records.filter((one) => isBeside(one) && references.some((reference) => isUnder(one, reference)))

const isContained = ({ contains }: Total, reference: string): boolean =>
  contains.some((one) => reference === one || reference.startsWith(one.endsWith(':') ? one : `${one}.`))

/** Its value in USDC; undefined: it is in a coin of unknown value. */
const worthOf = ({ price, rate }: Total, sum: Sum): bigint | undefined =>
  rate && sum.asset === rate.asset ? proportion(price, sum.units, rate.units) : dollarUnits(sum)

/** The reverse, in a coin of known value. */
const coinsFor = ({ price, rate }: Total, asset: string, worth: bigint): bigint =>
  rate && asset === rate.asset
    ? proportion(rate.units, worth, price)
    : proportion(dollarScale('USDC') ?? 1n, worth, dollarScale(asset) ?? 1n)

/** Units of a record in another dollar coin; 0 in any other coin. */
function unitsIn(asset: string, sum: Sum): bigint {
  const [from, to] = [dollarScale(sum.asset), dollarScale(asset)]
  if (sum.asset === asset) return sum.units
  return from === undefined || to === undefined ? 0n : (sum.units * from) / to
}

const sumIn = (asset: string, records: readonly Mispayment[]): bigint =>
  records.reduce((sum, one) => sum + unitsIn(asset, one), 0n)

/** The open records of one sum, of which only so much still waits. */
function lower(open: readonly Mispayment[], asset: string, units: bigint): Lowered[] {
  let left = units
  return open.flatMap((record) => {
    const had = unitsIn(asset, record)
    // one that had another name has it until more of it is told
    if (had === 0n && units > 0n) return []
    const stays = smaller(had, left)
    left -= stays
    return stays === had && stays > 0n ? [] : [{ record, units: stays === 0n ? 0n : (record.units * stays) / had }]
  })
}

/** What is above the price is shared out among the names that it has. */
function openPlaces(total: Total, records: readonly Mispayment[], above: bigint) {
  let left = above < LEAST_UNITS ? 0n : above
  const shares: Pick<Shares, 'unmatched' | 'lowered'> = { unmatched: [], lowered: [] }
  const isCent = (asset: string, units: bigint): boolean => (worthOf(total, { asset, units }) ?? units) < LEAST_UNITS
  const place = (sum: UnmatchedMoney, own: readonly Mispayment[], wanted: bigint): void => {
    const open = own.filter(isOpen)
    const waits = sumIn(sum.asset, open)
    const isSame = waits > 0n && wanted > 0n && isCent(sum.asset, larger(waits, wanted) - smaller(waits, wanted))
    const units = isSame ? waits : wanted
    shares.lowered.push(...lower(open, sum.asset, units))
    if (units > 0n) shares.unmatched.push({ ...sum, units: units + sumIn(sum.asset, own.filter(isSettled)) })
  }
  /** As much of what is left as this can be, in its coin. */
  const take = (sum: Sum): bigint => {
    if (left === 0n) return 0n
    const worth = worthOf(total, sum) ?? left
    const isWhole = worth < left + LEAST_UNITS
    const units = isWhole ? sum.units : coinsFor(total, sum.asset, left)
    left = isWhole ? positive(left - worth) : 0n
    if (left < LEAST_UNITS) left = 0n
    return units
  }
  return {
    shares,
    /** A sum that its provider names, with all that it can be. */
    named(sum: UnmatchedMoney): void {
      const own = besideOf(records, [sum.reference])
      // an amount that cannot be read is shown to a person where anything is above the price
      if (sum.units === 0n && left > 0n) return void shares.unmatched.push(sum)
      const decided = sumIn(sum.asset, own.filter(isDecided))
      place(sum, own, take({ asset: sum.asset, units: positive(sum.units - decided) }))
    },
    /** All that is left has this name. */
    rest(reference: string): void {
      place({ asset: 'USDC', units: 0n, reference }, besideOf(records, [reference]), left)
      left = 0n
    },
    /** What only a callback named, or an earlier report. */
    recorded: (record: Mispayment): void => {
      const units = take(record)
      if (units < record.units) shares.lowered.push({ record, units })
    },
    /** What its provider may not list is lowered by what the payment counts of it. @returns the rest of that */
    unlisted(record: Mispayment, counted: bigint): bigint {
      // of a coin of unknown value, nothing tells more than a price without an amount
      const worth = worthOf(total, record) ?? (total.isLeast ? counted : undefined)
      if (worth === undefined || counted === 0n) return counted
      const rest = worth - counted
      shares.lowered.push({ record, units: rest < LEAST_UNITS ? 0n : coinsFor(total, record.asset, rest) })
      return positive(-rest)
    },
  }
}

/** What is decided about of these records; undefined: some of it has no known value. */
const decidedOf = (total: Total, records: readonly Mispayment[]): bigint | undefined =>
  records.filter(isDecided).reduce<bigint | undefined>((sum, one) => {
    const worth = worthOf(total, one)
    return sum === undefined || worth === undefined ? undefined : sum + worth
  }, 0n)

/** The same of what is recorded beside the payment and is contained in the total. */
export const decidedBeside = (total: Total, records: readonly Mispayment[]): bigint | undefined =>
  decidedOf(
    total,
    records.filter((one) => isBeside(one) && isContained(total, one.sourceReference)),
  )

/** What is decided about beside the payment, as part of a total; undefined: some of it has no known value. */
function decidedIn(told: bigint, total: Total, { records }: Standing): bigint | undefined {
  const contained = decidedBeside(total, records)
  // what was above the price is none of what came for it
  const above = decidedOf(total, besideOf(records, total.above === undefined ? [] : [total.above]))
  if (contained === undefined || above === undefined) return undefined
  return contained + smaller(above, positive(told - total.price))
}

/**
 * What of the total is the payment's, and how much waits beside it. As much as is told of the price is no loss of what
 * is committed because of what was decided about beside it. Where the total is only the least that came, what the
 * payment counts stays, and nothing is above the price.
 * @param present what the payment counts, by the books
 */
export function shareOut(report: SeenReport & { total: Total }, standing: Standing, present: bigint): Shares {
  const { final: told, total, unmatched } = report
  const { records, decided: decidedPart, committed, lost } = standing
  const decided = decidedIn(told, total, standing)
  const there = larger(told - (decided ?? 0n), smaller(smaller(told, total.price), positive(committed - lost)))
  const most = larger(committed, total.price + decidedPart)
  const final = total.isLeast ? larger(there, present) : smaller(there, most)
  const isNamed = ({ reference }: Pick<UnmatchedMoney, 'reference'>): boolean => isContained(total, reference)
  const named = unmatched.filter(isNamed)
  const isKnown = (one: Mispayment): boolean => named.some(({ reference }) => isUnder(one, reference))
  const places = openPlaces(total, records, total.isLeast ? 0n : there - final)
  // what came last is what came above the price
  for (const sum of named.toReversed()) places.named(sum)
  if (total.above !== undefined && !total.isLeast) places.rest(total.above)
  // of a price that came in full, more may have come than the provider lists, whatever went back since
  const isWhole = report.isPart !== true || committed - decidedPart >= total.price
  const mayOmit = total.isLeast === true || (total.mayOmit === true && isWhole && told <= total.price)
  let counted = total.isLeast ? positive(final - larger(present, committed)) : present
  if (!total.isLeast && (committed > decidedPart || present >= told)) counted = 0n
  for (const one of records.filter((record) => isBeside(record) && isOpen(record)).toReversed()) {
    if (!isContained(total, one.sourceReference) || isKnown(one)) continue
    if (mayOmit) counted = places.unlisted(one, counted)
    else places.recorded(one)
  }
  const beside = unmatched.filter((sum) => !isNamed(sum))
  // a person must see how much is left
  const doubt = decided === undefined ? { isPart: true as const } : {}
  return { ...places.shares, final, unmatched: [...beside, ...places.shares.unmatched], ...doubt }
}
