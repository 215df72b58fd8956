import type { DueDelivery } from './claim-queries.ts'
import { type CompanyRoom, LANE_CAP, type LaneKey, type LaneRoom, type LaneTurn } from './lanes.ts'

const keyOf = ({ companyId, lane }: LaneKey): string => `${companyId} ${lane}`

/** @property full lanes with more due deliveries than could be picked, and the due time of the first of these */
export type Picks = { picked: DueDelivery[]; full: (LaneKey & { dueMs: number })[] }

export type PickRoom = {
  /** Lanes that have another room than `LANE_CAP`. */
  lanes: readonly LaneRoom[]
  companies: ReadonlyMap<string, CompanyRoom>
  limit: number
  /** A company with more due deliveries than this stands in front of others: its lanes are full. */
  crowd: number
}

/**
 * Chooses from due deliveries, which are sorted by due time. Of a company the first of each lane, then the second, so
 * that a long queue for one receiver blocks no one else; of companies first the one with the fewest in flight, so that
 * many receivers of one company do not either.
 */
export function pickFairly(due: readonly DueDelivery[], { lanes, companies, limit, crowd }: PickRoom): Picks {
  const room = new Map(lanes.map((one) => [keyOf(one), one.free]))
  const full = new Map<string, LaneKey & { dueMs: number }>()
  const leave = (one: DueDelivery): void => {
    const { companyId, lane } = one
    const dueMs = Math.min(one.dueMs, full.get(keyOf(one))?.dueMs ?? one.dueMs)
    full.set(keyOf(one), { companyId, lane, dueMs })
  }
  const chosen: { one: DueDelivery; rank: number; isCrowd: boolean }[] = []
  for (const [companyId, rows] of Map.groupBy(due, (one) => one.companyId)) {
    const { inFlight = 0, free = limit } = companies.get(companyId) ?? {}
    const rounds = roundsOf(rows, room, leave)
    for (const one of rounds.slice(free)) leave(one)
    const isCrowd = rows.length > crowd
    for (const [place, one] of rounds.slice(0, free).entries()) chosen.push({ one, rank: inFlight + place, isCrowd })
  }
  chosen.sort((left, right) => left.rank - right.rank)
  for (const { one, isCrowd } of chosen.slice(limit)) if (isCrowd) leave(one)
  return { picked: chosen.slice(0, limit).map(({ one }) => one), full: [...full.values()] }
}

/** The first delivery of each lane, then the second, as far as the lane has room. */
function roundsOf(
  rows: readonly DueDelivery[],
  room: ReadonlyMap<string, number>,
  leave: (one: DueDelivery) => void,
): DueDelivery[] {
  const counts = new Map<string, number>()
  const rounds: DueDelivery[][] = []
  for (const one of rows) {
    const key = keyOf(one)
    const turn = counts.get(key) ?? 0
    counts.set(key, turn + 1)
    if (turn < (room.get(key) ?? LANE_CAP)) {
      rounds[turn] ??= []
      rounds[turn].push(one)
    } else leave(one)
  }
  return rounds.flat()
}

/** The result of each turn. @returns per turn: the number found, and the due time of the first */
export function resultsOf(turns: readonly LaneTurn[], found: readonly DueDelivery[]) {
  const byLane = Map.groupBy(found, keyOf)
  return turns.map((turn) => {
    const rows = byLane.get(keyOf(turn)) ?? []
    return { turn, count: rows.length, firstMs: Math.min(...rows.map(({ dueMs }) => dueMs)) }
  })
}
