import { type Failure, isTimeout } from './failures.ts'

/** Initial cap of attempts in flight for one (company, origin), per node. */
export const LANE_CAP = 8
/** The highest cap that a receiver can earn: an eighth of a node's slots. */
export const MOST_IN_LANE = 64
/** Good answers that raise the cap by one while deliveries wait: additive increase, and any trouble halves it. */
const GOOD_FOR_ONE_MORE = 8
/** Timeouts in a row that put a receiver into the slow lane: one attempt at a time until it answers again. */
const SLOW_AFTER = 3
/** Share of the node's slots that all slow lanes together may take. */
const SLOW_SHARE = 0.25

export type LaneKey = { companyId: string; lane: string }
/** How many more deliveries of this lane may start now. */
export type LaneRoom = LaneKey & { free: number }
/** A lane that has due deliveries and room; `lowerMs` (epoch, database) bounds the search for them. */
export type LaneTurn = LaneRoom & { lowerMs: number }

/**
 * What an attempt shows about its receiver. `good`: it accepted the delivery in time. `trouble`: it is slow, overloaded
 * or broken. `refused`: it answered in time but did not accept, which says nothing about its speed.
 */
export type LaneNews = 'good' | 'trouble' | 'timeout' | 'refused'

/** How an attempt ended; without a failure it was delivered. */
type Answer = { failure: Failure | null; statusCode: number | null; durationMs: number }

/** A slower answer is no reason to raise the cap. */
const IN_TIME_MS = 1000
/** Statuses by which a receiver reports overload (RFC 9110, RFC 6585); every other 5xx counts too. */
const OVERLOADED = new Set([408, 425, 429])

/** What an attempt shows about its receiver's lane. */
export function newsOf({ failure, statusCode, durationMs }: Answer): LaneNews {
  if (isTimeout(failure)) return 'timeout'
  if (statusCode === null || statusCode >= 500 || OVERLOADED.has(statusCode) || durationMs > IN_TIME_MS)
    return 'trouble'
  return failure === null ? 'good' : 'refused'
}

type LaneState = LaneKey & {
  inFlight: number
  /** Cap of attempts in flight: from `LANE_CAP` to `MOST_IN_LANE`. */
  cap: number
  /** Good answers since the cap changed. */
  good: number
  timeouts: number
  /** Due time from which due deliveries are known to wait here; null: none known. */
  backlogFromMs: number | null
}

const keyOf = ({ companyId, lane }: LaneKey): string => `${companyId} ${lane}`

function learn(state: LaneState, news: LaneNews): void {
  state.timeouts = news === 'timeout' ? state.timeouts + 1 : 0
  if (news === 'trouble' || news === 'timeout') {
    state.cap = Math.max(LANE_CAP, state.cap >> 1)
    state.good = 0
  }
  // unused capacity proves nothing: a cap grows only while deliveries wait
  if (news !== 'good' || state.backlogFromMs === null) return
  state.good += 1
  if (state.good < GOOD_FOR_ONE_MORE) return
  state.cap = Math.min(MOST_IN_LANE, state.cap + 1)
  state.good = 0
}

const isSlow = (state: LaneState): boolean => state.timeouts >= SLOW_AFTER

/**
 * What this node knows of its lanes: how full, how slow, and where deliveries wait because the lane was full. Such a
 * lane leaves the common search by due time and takes turns with others, so that a long queue for one receiver is not
 * read over and over and blocks no other (head-of-line blocking).
 */
export class Lanes {
  readonly #states = new Map<string, LaneState>()
  readonly #slots: number
  #slowInFlight = 0

  constructor(slots: number) {
    this.#slots = slots
  }

  #stateOf(key: LaneKey): LaneState {
    const known = this.#states.get(keyOf(key))
    if (known) return known
    const state = {
      companyId: key.companyId,
      lane: key.lane,
      inFlight: 0,
      cap: LANE_CAP,
      good: 0,
      timeouts: 0,
      backlogFromMs: null,
    }
    this.#states.set(keyOf(key), state)
    return state
  }

  #forgetIdle(state: LaneState): void {
    if (state.inFlight === 0 && state.timeouts === 0 && state.backlogFromMs === null) this.#states.delete(keyOf(state))
  }

  started(key: LaneKey): void {
    const state = this.#stateOf(key)
    state.inFlight += 1
    if (isSlow(state)) this.#slowInFlight += 1
  }

  /**
   * @param news null when no attempt was made
   * @returns true when a slot became free in a lane where deliveries wait
   */
  ended(key: LaneKey, news: LaneNews | null): boolean {
    const state = this.#stateOf(key)
    const wasSlow = isSlow(state)
    const before = state.inFlight
    state.inFlight -= 1
    if (news !== null) learn(state, news)
    this.#slowInFlight += (isSlow(state) ? state.inFlight : 0) - (wasSlow ? before : 0)
    this.#forgetIdle(state)
    return state.backlogFromMs !== null
  }

  /** Due deliveries wait in this lane, the first one due at `fromMs`. */
  noteBacklog(key: LaneKey, fromMs: number): void {
    const state = this.#stateOf(key)
    state.backlogFromMs = Math.min(state.backlogFromMs ?? Number.POSITIVE_INFINITY, fromMs)
  }

  /** A turn filled all its room: more may wait from there on. */
  noteTurn(key: LaneKey, fromMs: number): void {
    this.#stateOf(key).backlogFromMs = fromMs
  }

  /** A turn found fewer due deliveries than it had room for: the lane returns to the common search. */
  noteDrained(key: LaneKey): void {
    const state = this.#stateOf(key)
    state.backlogFromMs = null
    this.#forgetIdle(state)
  }

  /** Active lanes that may take less than a full lane's share of the next common search. */
  limits(): LaneRoom[] {
    let slowFree = this.#slowFree()
    const rooms: LaneRoom[] = []
    for (const state of this.#states.values()) {
      const { companyId, lane, inFlight } = state
      if (state.backlogFromMs !== null) continue
      if (!isSlow(state)) rooms.push({ companyId, lane, free: Math.max(0, state.cap - inFlight) })
      else {
        const free = inFlight === 0 && slowFree > 0 ? 1 : 0
        slowFree -= free
        rooms.push({ companyId, lane, free })
      }
    }
    return rooms
  }

  /** Lanes in which nothing may start now. */
  full(): LaneKey[] {
    const hasSlowRoom = this.#slowFree() > 0
    return [...this.#states.values()].filter((state) =>
      isSlow(state) ? state.inFlight > 0 || !hasSlowRoom : state.inFlight >= state.cap,
    )
  }

  /**
   * Lanes whose deliveries wait for their own receiver and for nothing else.
   * @param hasRoom the node could start more: then a lane with a queue waits for its own attempts in flight
   */
  waiting(hasRoom: boolean): LaneKey[] {
    const full = new Set(this.full())
    return [...this.#states.values()].filter(
      (state) => full.has(state) || (hasRoom && state.backlogFromMs !== null && state.inFlight > 0),
    )
  }

  /** Lanes that take turns: left out of the common search. */
  backlogged(): LaneKey[] {
    return [...this.#states.values()].filter((state) => state.backlogFromMs !== null)
  }

  /** The next lanes whose turn it is, as many as fit into `room` deliveries; they move to the back of the queue. */
  takeTurns(room: number): LaneTurn[] {
    const turns: LaneTurn[] = []
    let slowFree = this.#slowFree()
    let left = room
    for (const [key, state] of [...this.#states]) {
      if (left <= 0) break
      if (state.backlogFromMs === null) continue
      const slow = isSlow(state)
      const open = slow ? (state.inFlight === 0 && slowFree > 0 ? 1 : 0) : state.cap - state.inFlight
      const free = Math.min(left, open)
      if (free <= 0) continue
      if (slow) slowFree -= 1
      left -= free
      turns.push({ companyId: state.companyId, lane: state.lane, free, lowerMs: state.backlogFromMs })
      this.#states.delete(key)
      this.#states.set(key, state)
    }
    return turns
  }

  #slowFree(): number {
    return Math.floor(this.#slots * SLOW_SHARE) - this.#slowInFlight
  }

  counts(): { active: number; slow: number; backlogged: number } {
    const states = [...this.#states.values()]
    return {
      active: states.filter((state) => state.inFlight > 0).length,
      slow: states.filter(isSlow).length,
      backlogged: states.filter((state) => state.backlogFromMs !== null).length,
    }
  }
}
