import type { Returned, SeenReport } from '../../channels/channel.ts'
import type { Tx } from '../../db/db.ts'
import { findReturnsTold, type PaymentRef, updateReturnsTold } from './mispayment-queries.ts'

/*
 * A report that lists returns is kept as it was told. What of them is a refund depends on the refunds that were asked
 * for here, so it is read again when one of these ends.
 */

/** JSON has neither of the two. */
const UNITS = '$units'
const AT = '$at'

function pack(value: unknown): unknown {
  if (typeof value === 'bigint') return { [UNITS]: `${value}` }
  if (value instanceof Date) return { [AT]: value.getTime() }
  if (Array.isArray(value)) return value.map(pack)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, pack(one)]))
}

function unpack(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (UNITS in value) return BigInt(String(value[UNITS]))
  return AT in value ? new Date(Number(value[AT])) : value
}

export const keepReport = (tx: Tx, payment: PaymentRef, report: SeenReport): Promise<number> =>
  updateReturnsTold(tx, payment, JSON.stringify(pack(report)))

type Kept = SeenReport & {
  /** Its provider has told of the payment since, without a list. */
  isOutdated?: true
}

async function findKept(tx: Tx, payment: PaymentRef): Promise<Kept | undefined> {
  const told = await findReturnsTold(tx, payment)
  return told === null ? undefined : (JSON.parse(told, unpack) as Kept)
}

/** Its provider does not say so any more: it is not read again, but what of it was gone still is. */
export async function outdateReport(tx: Tx, payment: PaymentRef): Promise<void> {
  const kept = await findKept(tx, payment)
  if (kept && !kept.isOutdated)
    await updateReturnsTold(tx, payment, JSON.stringify(pack({ ...kept, isOutdated: true })))
}

/** Undefined: its provider listed no returns the last time, at least not to this version. */
export async function findKeptReport(tx: Tx, payment: PaymentRef): Promise<SeenReport | undefined> {
  const kept = await findKept(tx, payment)
  return kept?.isOutdated ? undefined : kept
}

/** The returns as they were listed last, even if its provider has told of the payment since without a list. */
export const findLastReturns = async (tx: Tx, payment: PaymentRef): Promise<Returned | undefined> =>
  (await findKept(tx, payment))?.returned
