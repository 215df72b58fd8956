import type { DueDelivery } from './claim-queries.ts'
import { LANE_CAP, type LaneKey, type LaneRoom, type LaneTurn } from './lanes.ts'

const keyOf = ({ companyId, lane }: LaneKey): string => `${companyId} ${lane}`

/** @property full lanes with more due deliveries than room, and the due time of the first of these */
export type Picks = { picked: DueDelivery[]; full: (LaneKey & { dueMs: number })[] }

/**
 * Chooses from due deliveries, which are sorted by due time: the first of each lane, then the second, so that a long
 * queue for one receiver blocks no one else.
 */
export function pickFairly(due: readonly DueDelivery[], limits: readonly LaneRoom[], limit: number): Picks {
  const room = new Map(limits.map((one) => [keyOf(one), one.free]))
  const counts = new Map<string, number>()
  const full = new Map<string, LaneKey & { dueMs: number }>()
  const rounds: DueDelivery[][] = []
  for (const one of due) {
    const key = keyOf(one)
    const turn = counts.get(key) ?? 0
    counts.set(key, turn + 1)
    if (turn < (room.get(key) ?? LANE_CAP)) {
      rounds[turn] ??= []
      rounds[turn].push(one)
    } else if (!full.has(key)) full.set(key, { companyId: one.companyId, lane: one.lane, dueMs: one.dueMs })
  }
  return { picked: rounds.flat().slice(0, limit), full: [...full.values()] }
}

/** The result of each turn. @returns per turn: the number found, and the due time of the first */
export function resultsOf(turns: readonly LaneTurn[], found: readonly DueDelivery[]) {
  const byLane = Map.groupBy(found, keyOf)
  return turns.map((turn) => {
    const rows = byLane.get(keyOf(turn)) ?? []
    return { turn, count: rows.length, firstMs: Math.min(...rows.map(({ dueMs }) => dueMs)) }
  })
}
