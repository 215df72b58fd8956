import type { Db } from '../db/db.ts'
import { formatDecimal } from '../kernel/money.ts'
import type { Difference } from './difference-queries.ts'
import { countBooked, findFirstDifference, setSnapshot } from './ledger-verify-queries.ts'

/** `explained`: how many differences a SuperAdmin has explained; where there is another one, of those before it. */
export type Verdict = { orders: bigint; journals: bigint; explained: number; difference: Difference | null }

/** Recomputes all books from orders, payments, mispayments, refunds and settlements, in one snapshot. */
export async function verifyLedger(db: Db): Promise<Verdict> {
  return db.tx(async (tx) => {
    await setSnapshot(tx)
    const { explained, difference } = await findFirstDifference(tx)
    return { ...(await countBooked(tx)), explained, difference: difference ?? null }
  })
}

const amount = (text: string): string =>
  /^-?\d+$/.test(text) ? `${formatDecimal(BigInt(text), 6)} USDC (${text})` : text

/** @param company as a person names it */
export const describeDifference = (difference: Difference, company = difference.companyId): string => {
  const { subject, what, booked, expected } = difference
  // a wallet belongs to no company
  const place = company === '' ? subject : `${subject} of company ${company}`
  return `Difference at ${place}: ${what} is ${amount(booked)}, but ${amount(expected)} is right.`
}

/** The verdict as text for the operator. */
export function describeVerdict({ orders, journals, explained, difference }: Verdict, company?: string): string {
  if (difference) return describeDifference(difference, company)
  const known = explained === 0 ? '' : ` but ${explained} that ${explained === 1 ? 'is' : 'are'} explained`
  return `The books are right: ${journals} journals, ${orders} orders, no difference${known}.`
}
