import { fromUnits } from '../../kit/decimal.ts'

/** An entry of the order's story. */
export type Booked = { kind: string; facts: Record<string, string | number | null> }

/** In USDC; what was paid, less the next three, is what is left for the company. */
export type PaidSums = Record<'paid' | 'fee' | 'refunded' | 'lost' | 'net', string>

/**
 * What the books say came of the price of an order and became of it; null for a reader who does not see the bookings,
 * and before the payment. A part that was accepted is the price from then on, and what is above the price belongs to
 * nobody yet. A refund counts from its start, and a loss once the company bears it.
 */
export function paidIn(entries: readonly Booked[]): PaidSums | null {
  const legs = entries.filter(({ kind }) => kind === 'booking').map(({ facts }) => facts)
  const sumOf = (account: string, kinds?: readonly string[]): bigint =>
    legs
      .filter((leg) => leg.account === account && (kinds === undefined || kinds.includes(String(leg.what))))
      .reduce((sum, { units }) => sum - BigInt(units ?? 0), 0n)
  const [share, fee] = [sumOf('company_payable', ['payment']), sumOf('fees', ['payment'])]
  const [back, net] = [sumOf('company_payable', ['refund', 'refund_dropped']), sumOf('company_payable')]
  if (!legs.some(({ what }) => what === 'payment')) return null
  const sums = { paid: share + fee, fee, refunded: -back, lost: share + back - net, net }
  return {
    ...{ paid: fromUnits(sums.paid), fee: fromUnits(sums.fee), refunded: fromUnits(sums.refunded) },
    ...{ lost: fromUnits(sums.lost), net: fromUnits(sums.net) },
  }
}
