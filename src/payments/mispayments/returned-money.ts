import type { PaymentReport, ReadReturns, Returned, SeenReport } from '../../channels/channel.ts'
import type { Tx } from '../../db/db.ts'
import { larger, MOST_REAL_UNITS, smaller } from '../../kernel/money.ts'
import type { Payment } from '../payment-queries.ts'
import { findLastReturns, keepReport, outdateReport } from './kept-report.ts'
import { findReturns, type Mispayment, sumRefundedPrice, updateReturnsGone } from './mispayment-queries.ts'
import { type MispaymentContext, releaseIgnored } from './mispayment-records.ts'
import { decidedBeside } from './one-total.ts'
import { readStanding, type Standing } from './standing.ts'

/*
 * What a provider lists as sent back to the payer. What went back after it paid its order, or after a person decided
 * about it, is a refund: it had come, and still counts as that. Anything else is simply gone. The list does not tell
 * them apart, so what is gone is noted: what is decided later is none of it.
 */

const positive = (units: bigint): bigint => larger(units, 0n)

/** What is known of one payment before its provider tells of its returns. */
export type Known = {
  /** What is noted as gone; null: nothing was told before. */
  goneUnits: bigint | null
  /** The price and what was decided about, by the books. */
  committed: bigint
  /** What of that is expected to go back, or was ignored: all but the price that nobody refunds. */
  expected: bigint
  /** What of that was ignored: nothing refunds it. */
  ignored: bigint
  /** What was decided about beside the payment: ignored, and not in the books. */
  beside: bigint
}

/**
 * What went back is first what a person refunds or ignored, then what waits or is above the price, then the price: that
 * is a refund from the provider's console. `final` is all that came and is not gone.
 */
export function splitReturned(
  { final: left, returned }: { final: bigint; returned: Returned },
  { goneUnits, committed, expected, ignored, beside }: Known,
): { final: bigint; goneUnits: bigint; refunded: bigint } {
  const came = left + returned.units
  const paid = smaller(came, committed)
  // an older node took all that went back for gone
  const before = goneUnits === null ? came - larger(left, paid) : smaller(goneUnits, returned.units)
  // of a price that is paid, what only a callback told of may be missing in the list
  const other = smaller(beside, came - paid)
  const waits = positive(came - before - committed - other)
  const gone = before + smaller(positive(returned.units - before - expected - other), waits)
  const refunded = positive(returned.complete - gone - ignored - other)
  return { final: larger(came - gone, paid), goneUnits: gone, refunded }
}

/** What of the ignored money is complete on its way back: after refunds, and before anything else. */
function ignoredBack({ complete }: Returned, { goneUnits, expected, ignored, beside }: Known): bigint {
  if (goneUnits === null) return 0n
  return smaller(ignored, positive(complete - goneUnits - (expected - ignored) - beside))
}

const isIgnored = ({ kind, status }: Mispayment): boolean => kind !== 'wrong_token' && status === 'ignored'

async function readKnown(
  tx: Tx,
  payment: Payment,
  report: SeenReport,
  { standing, goneUnits }: { standing: Standing; goneUnits: bigint | null },
): Promise<Known> {
  const { records, committed } = standing
  const price = payment.priceUnits ?? 0n
  return {
    goneUnits,
    committed,
    expected: committed - price + (price === 0n ? 0n : await sumRefundedPrice(tx, payment)),
    ignored: records.filter(isIgnored).reduce((sum, { units }) => sum + units, 0n),
    beside: (report.total && decidedBeside(report.total, records)) ?? 0n,
  }
}

/**
 * Reads a report that lists returns: what of them is refunded, and what is final with that. It notes what is gone, so
 * the same report says the same again.
 */
export async function withReturns(context: MispaymentContext, report: PaymentReport): Promise<PaymentReport> {
  const { tx, order, payment } = context
  if (report.outcome !== 'seen') return report
  if (report.returned === undefined) {
    if (payment.keepsReturns) await outdateReport(tx, payment)
    return report
  }
  const { final, returned } = report
  if (final + report.pending + returned.units > MOST_REAL_UNITS) return report
  const standing = await readStanding(tx, payment)
  const noted = await findReturns(tx, payment)
  const known = await readKnown(tx, payment, report, { standing, goneUnits: noted.gone })
  // while a refund is in progress, nobody could be told what else it may have been
  const back = order.status === 'REFUNDING' ? 0n : ignoredBack(returned, known)
  await releaseIgnored(context, standing.records.filter(isIgnored), back)
  const { goneUnits, refunded, ...rest } = splitReturned({ final, returned }, withoutIgnored(known, back))
  // before the price was paid, nothing of it went back
  const released = noted.ignored + (payment.priceUnits === null ? 0n : back)
  if (goneUnits !== known.goneUnits) await updateReturnsGone(tx, payment, { gone: goneUnits, ignored: released })
  const before = await findLastReturns(tx, payment)
  const isUnplaced = before === undefined && (await sumRefundedPrice(tx, payment)) > 0n
  const read: ReadReturns = {
    gone: isUnplaced ? [{ units: goneUnits, after: 'unknown', until: newestOf(returned) }] : partsOf(goneUnits, before),
    ignored: released + positive(returned.complete - goneUnits - refunded),
    isAll: final + report.pending === 0n && returned.complete === returned.units,
  }
  await keepReport(tx, payment, { ...report, returned: { ...returned, read } })
  return { ...report, ...rest, ...(refunded > 0n && { refunded }), returned: { ...returned, read } }
}

/** What is gone now, and of each part after which returns it was told. What was gone keeps its place. */
function partsOf(goneUnits: bigint, before: Returned | undefined): ReadReturns['gone'] {
  let left = goneUnits
  const parts = (before?.read?.gone ?? []).map((one) => {
    const part = smaller(one.units, left)
    left -= part
    return { ...one, units: part }
  })
  return [...parts, { units: left, after: newestOf(before) }].filter(({ units }) => units > 0n)
}

/** When its newest return was made; null: it says so of none. */
function newestOf(list: Returned | undefined): Date | null {
  const newest = Math.max(...(list?.made ?? []).map(({ at }) => at.getTime()))
  return Number.isFinite(newest) ? new Date(newest) : null
}

const withoutIgnored = (known: Known, back: bigint): Known => ({
  ...known,
  goneUnits: known.goneUnits === null ? null : known.goneUnits + back,
  committed: known.committed - back,
  expected: known.expected - back,
  ignored: known.ignored - back,
})
