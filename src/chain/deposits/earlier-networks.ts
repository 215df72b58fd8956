import type { Db } from '../../db/db.ts'
import type { UsdcContracts } from '../transfer-queries.ts'
import {
  type Arrived,
  listArrived,
  lockHeads,
  type Reservation,
  updateAnnounced,
  updateNetworks,
} from './reservation-queries.ts'

type Units = (one: Arrived) => bigint

/**
 * The networks besides the named ones whose money has counted. Which transfers counted is stored nowhere, so they are
 * the ones that make up what the books hold: exactly those that were beyond change at the last report, or else, because
 * small amounts count earlier, as few networks as it takes.
 * @returns none if several networks explain the books
 */
export function countedBeside(named: readonly number[], arrived: readonly Arrived[]): number[] {
  const booked = arrived[0]?.bookedUnits ?? 0n
  const sum = (list: readonly Arrived[], units: Units): bigint => list.reduce((total, one) => total + units(one), 0n)
  const beside = arrived.filter(({ chainId }) => chainId !== null && !named.includes(chainId))
  const there = arrived.filter((one) => !beside.includes(one))
  const missing = (units: Units): bigint => booked - sum(there, units)
  const sets = beside.reduce<Arrived[][]>((all, one) => all.concat(all.map((set) => [...set, one])), [[]])
  const reported: Units = ({ reportedUnits }) => reportedUnits
  const seen: Units = ({ seenUnits }) => seenUnits
  const exact = sets.filter((set) => sum(set, reported) === missing(reported) && set.every((one) => reported(one) > 0n))
  const covers = sets.filter((set) => {
    const more = sum(set, seen) - missing(seen)
    return more >= 0n && set.every((one) => seen(one) > more)
  })
  const found = exact.length > 0 ? exact : covers
  const [counted = [], other] = found.length > 0 ? found : [beside]
  return other ? [] : counted.flatMap(({ chainId }) => chainId ?? [])
}

/**
 * Fixes the networks of an order that a node of an earlier version placed: those named, and those whose money has
 * counted. What came for it on others is announced again, because it matches no order any more.
 * @param named empty: all
 */
export async function fixNetworks(
  db: Db,
  reservation: Reservation,
  { named, usdc }: { named: readonly number[]; usdc: UsdcContracts },
): Promise<void> {
  if (named.length === 0) {
    await updateNetworks(db, reservation, [])
    return
  }
  await db.tx(async (tx) => {
    await lockHeads(tx)
    const networks = [...named, ...countedBeside(named, await listArrived(tx, reservation, usdc))]
    await updateAnnounced(tx, reservation, networks)
    await updateNetworks(tx, reservation, networks)
  })
}
