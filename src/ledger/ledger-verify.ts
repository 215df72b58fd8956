import type { Db } from '../db/db.ts'
import { formatDecimal } from '../kernel/money.ts'
import { countBooked, type Difference, findFirstDifference, setSnapshot } from './ledger-verify-queries.ts'

export type Verdict = { orders: bigint; journals: bigint; difference: Difference | null }

/** Recomputes all books from orders, payments, mispayments, refunds and settlements, in one snapshot. */
export async function verifyLedger(db: Db): Promise<Verdict> {
  return db.tx(async (tx) => {
    await setSnapshot(tx)
    const difference = await findFirstDifference(tx, null)
    return { ...(await countBooked(tx)), difference: difference ?? null }
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
export const describeVerdict = ({ orders, journals, difference }: Verdict, company?: string): string =>
  difference
    ? describeDifference(difference, company)
    : `The books are right: ${journals} journals, ${orders} orders, no difference.`
