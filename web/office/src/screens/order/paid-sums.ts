import { fromUnits } from '../../kit/decimal.ts'

/** An entry of the order's story. */
export type Booked = { kind: string; facts: Record<string, string | number | null> }

/**
 * What the books say was paid of the price, in USDC; null for a reader who does not see the bookings, and before the
 * payment. A part that was accepted is the price from then on, and what is above the price belongs to nobody yet.
 */
export function paidIn(entries: readonly Booked[]): { paid: string; fee: string; net: string } | null {
  const legs = entries
    .filter(({ kind, facts }) => kind === 'booking' && facts.what === 'payment')
    .map(({ facts }) => facts)
  const sumOf = (account: string): bigint =>
    legs.reduce((sum, leg) => (leg.account === account ? sum - BigInt(leg.units ?? 0) : sum), 0n)
  const [net, fee] = [sumOf('company_payable'), sumOf('fees')]
  return legs.length === 0 ? null : { paid: fromUnits(net + fee), fee: fromUnits(fee), net: fromUnits(net) }
}
