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

export const describeDifference = ({ companyId, subject, what, booked, expected }: Difference): string =>
  `Difference at ${subject} of company ${companyId}: ${what} is ${amount(booked)}, but ${amount(expected)} is right.`

/** The verdict as text for the operator. */
export const describeVerdict = ({ orders, journals, difference }: Verdict): string =>
  difference
    ? describeDifference(difference)
    : `The books are right: ${journals} journals, ${orders} orders, no difference.`
