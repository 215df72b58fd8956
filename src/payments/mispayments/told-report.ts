import type { PaymentReport, SeenReport, UnmatchedMoney } from '../../channels/channel.ts'
import { dollarScale, dollarUnits, isDust, readable } from '../../channels/usdc-text.ts'
import { MOST_REAL_UNITS } from '../../kernel/money.ts'
import type { Mispayment } from './mispayment-queries.ts'
import { besideOf, type Lowered, shareOut } from './one-total.ts'
import { isDecided, isUndecided, type Standing, undecidedUnits } from './standing.ts'

/* What a provider's report says: of the price, of what came, and of what is on its way. The rules read it here. */

type Sum = Pick<UnmatchedMoney, 'asset' | 'units'>

/** The value in USDC of what of these sums is in a dollar coin. */
const knownDollars = (sums: readonly Sum[]): bigint => sums.reduce((total, sum) => total + (dollarUnits(sum) ?? 0n), 0n)

/** The value of money beside a payment in USDC; undefined: some of it is in a coin of unknown value. */
export const dollarsOf = (sums: readonly Sum[]): bigint | undefined =>
  sums.some((sum) => dollarUnits(sum) === undefined) ? undefined : knownDollars(sums)

/** A report without money that is recorded beside its payment, and so was never booked. */
export type RestReport = SeenReport & {
  /** With what is recorded for a person who has not decided: its provider may still count that for the order. */
  cameUnits: bigint
  /** As told, with all that is recorded. */
  wholeUnits: bigint
  /** What is there, final or not: all but what a person decided about beside the payment. */
  thereUnits: bigint
  /** What waits beside the payment and is less than is recorded: the rest pays its order now. */
  lowered: readonly Lowered[]
}

const isLive = (record: Mispayment): boolean => record.status === 'open' || isDecided(record)

/** Without an amount, what was credited before still is, and what is missing of the price is on its way. */
const withCredited = (report: SeenReport, present: bigint): SeenReport =>
  report.isEstimate
    ? { ...report, final: present, pending: undecidedUnits(report.pending, { decided: present }) }
    : report

/**
 * What a person decided about never counts, and what is recorded is not on its way any more. A coin of unknown value
 * may be all of an amount that is named. Of a price that stands in for an amount it says nothing.
 * @param present what the payment counts, by the books
 */
export function withoutRecorded(told: SeenReport, standing: Standing, present: bigint): RestReport {
  const report = withCredited(told, present)
  const { records } = standing
  const pendingWithout = (sums: readonly Mispayment[]): bigint =>
    undecidedUnits(report.pending, {
      decided: dollarsOf(sums) ?? (report.isEstimate ? knownDollars(sums) : report.pending),
    })
  const recorded = besideOf(records, report.alreadyRecorded)
  const { total, unmatched } = report
  const shares = total
    ? shareOut({ ...report, total }, standing, present)
    : { final: report.final, unmatched, lowered: [] }
  const { final } = shares
  return {
    ...report,
    ...shares,
    pending: pendingWithout(recorded.filter(isLive)),
    cameUnits: final + pendingWithout(recorded.filter(isDecided)),
    wholeUnits: report.final + report.pending,
    thereUnits: final + undecidedUnits(report.pending, { decided: knownDollars(recorded.filter(isDecided)) }),
  }
}

/**
 * The mirror of a total: of a sum that names all that came through a payment, only that is beside it which the
 * payment does not count, and which no other reference records. What is resolved under its own reference was counted
 * after it was recorded: it is part of what is told and of what the payment counts.
 * @param present what the payment counts: its price, and what waits for a person or was decided about
 */
export function withoutCounted(
  { unmatched = [], alreadyRecorded }: Pick<PaymentReport, 'unmatched' | 'alreadyRecorded'>,
  { records, present, dustUnits }: { records: readonly Mispayment[]; present: bigint; dustUnits: bigint },
): UnmatchedMoney[] {
  return unmatched.flatMap((sum) => {
    const scale = dollarScale(sum.asset)
    // of a coin of unknown value, or an amount that cannot be read, nothing tells which part is counted
    if (sum.isTotal !== true || scale === undefined || sum.units === 0n) return [sum]
    const own = besideOf(records, [sum.reference])
    const elsewhere = besideOf(records, alreadyRecorded).filter((one) => !own.includes(one) && isLive(one))
    const resolved = own.filter(({ status, isRenamed }) => status === 'resolved' && !isRenamed)
    const counted = present + knownDollars(elsewhere) - knownDollars(resolved)
    const units = sum.units - (counted * (dollarScale('USDC') ?? scale)) / scale
    const rest = { ...sum, units }
    return units <= 0n || (counted > 0n && isDust(rest, dustUnits)) ? [] : [rest]
  })
}

/** An amount that cannot be right says nothing: its payment is asked about again, and beside it, it is unreadable. */
export function withoutAbsurd(told: PaymentReport): PaymentReport {
  const report = told.unmatched === undefined ? told : { ...told, unmatched: told.unmatched.map(readable) }
  if (report.outcome !== 'seen' || report.final + report.pending <= MOST_REAL_UNITS) return report
  const { providerReference, unmatched, providerStatus, total } = report
  // what its provider calls paid is paid, and what is above that is unreadable
  if (total?.above !== undefined && report.pending <= MOST_REAL_UNITS) {
    const above = { asset: 'USDC', units: 0n, reference: total.above }
    return { ...report, final: total.price, total: { ...total, isLeast: true }, unmatched: [...unmatched, above] }
  }
  return { outcome: 'unknown', providerReference, unmatched, providerStatus: `${providerStatus}: an impossible amount` }
}

/** Outcomes with which a provider reverses a payment that it had called paid. */
const TAKEN_BACK: ReadonlySet<PaymentReport['outcome']> = new Set(['expired', 'cancelled', 'failed', 'blocked'])
/** A block of money beside the payment takes nothing back. */
export const takesBack = (report: PaymentReport): boolean =>
  TAKEN_BACK.has(report.outcome) && (report.outcome !== 'blocked' || report.unmatched === undefined)

/**
 * What a report says of the price that a payment has paid. It confirms it only if what is final covers all that is
 * committed, less the losses that are booked; where nothing is committed, if it names final money or nothing waits.
 * Money that is on its way, or a price that stands in for an amount, says nothing of it.
 */
export function priceWordOf(told: PaymentReport, standing: Standing): PriceWord {
  const report = withoutAbsurd(told)
  if (takesBack(report)) return 'takesBack'
  if (report.outcome !== 'seen' || report.isEstimate) return 'neither'
  const { records, committed, lost } = standing
  const { final } = withoutRecorded(report, standing, 0n)
  if (committed === 0n) return final > 0n || !isUndecided(records) ? 'confirms' : 'neither'
  return final >= committed - lost ? 'confirms' : 'neither'
}
export type PriceWord = 'confirms' | 'takesBack' | 'neither'
