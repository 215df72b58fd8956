import type { Tx } from '../../db/db.ts'
import { type Clock, DAY } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { listCommonMakers } from '../../users/maker-queries.ts'
import { listApprovedAlone, lockReleased, type Settlement } from './settlement-queries.ts'

/* What the operator's limits on payouts allow. */

export type SettlementLimits = {
  dayLimitUnits: bigint | null
  twoPersonsFromUnits: bigint | null
  allowList: readonly string[]
}

export const usdcText = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

const NOTHING_OWED =
  'Nothing is owed to this company right now, less what it holds at its own accounts, its reserve, and money that left ' +
  'the chain and waits for a decision.'
const STOPPED = 'The operator has stopped all settlements: SETTLEMENT_DAY_LIMIT is 0.'

/** What a settlement pays of what is ready: one above the limit of a day could never leave. @throws OBJECT_CONFLICT */
export function unitsWithin({ dayLimitUnits }: SettlementLimits, ready: bigint): bigint {
  if (ready <= 0n) throw new AppError('OBJECT_CONFLICT', { message: NOTHING_OWED })
  if (dayLimitUnits === null || ready <= dayLimitUnits) return ready
  if (dayLimitUnits === 0n) throw new AppError('OBJECT_CONFLICT', { message: STOPPED })
  return dayLimitUnits
}

const NOT_ALLOWED = 'the address is not on the list of those that may be paid (SETTLEMENT_ALLOW_LIST)'

/** Why the operator's list of addresses prevents paying it. */
export const findUnlisted = ({ allowList }: SettlementLimits, { address }: Settlement): string | null =>
  allowList.length > 0 && !allowList.includes(address.toLowerCase()) ? NOT_ALLOWED : null

/** Why no day is enough for it: the limit was lowered, or came after it. A limit of 0 is a halt that ends. */
export const findTooLarge = ({ dayLimitUnits }: SettlementLimits, { units }: Settlement): string | null =>
  !dayLimitUnits || units <= dayLimitUnits
    ? null
    : `it is more than the ${usdcText(dayLimitUnits)} that may leave in 24 hours (SETTLEMENT_DAY_LIMIT). Cancel it and ` +
      'settle again: the new one is no larger than that'

/** Why the operator's limit of a day prevents sending it now. */
export async function findDayLimit(
  { limits, clock }: { limits: SettlementLimits; clock: Clock },
  tx: Tx,
  settlement: Settlement,
): Promise<string | null> {
  const { dayLimitUnits } = limits
  if (dayLimitUnits === null) return null
  const released = await lockReleased(tx, settlement, new Date(clock() - DAY))
  if (released + settlement.units <= dayLimitUnits) return null
  return `${usdcText(released)} left in the last 24 hours; at most ${usdcText(dayLimitUnits)} may (SETTLEMENT_DAY_LIMIT)`
}

/**
 * Whether two persons approve it: at once, or because of what the same person approved alone for its company in a day,
 * in slices. Accounts that count as one person count together. Lock the settlement before: its company has no other
 * that could be approved meanwhile.
 * @param by named as `user:<id>`
 */
export async function needsTwoPersons(
  { limits: { twoPersonsFromUnits }, clock }: { limits: SettlementLimits; clock: Clock },
  tx: Tx,
  { settlement, by }: { settlement: Settlement; by: string },
): Promise<boolean> {
  if (twoPersonsFromUnits === null) return false
  let units = settlement.units
  for (const earlier of await listApprovedAlone(tx, settlement, new Date(clock() - DAY)))
    if (earlier.by === by || (await listCommonMakers(tx, earlier.by, by)).length > 0) units += earlier.units
  return units >= twoPersonsFromUnits
}
