import { type Failure, isTimeout } from './failures.ts'

/** Initial cap of attempts in flight for one (company, origin), per node. */
export const LANE_CAP = 8
/** The highest cap that a receiver can earn: an eighth of a node's slots. */
export const MOST_IN_LANE = 64
/** Good answers that raise the cap by one while deliveries wait: additive increase, and any trouble halves it. */
const GOOD_FOR_ONE_MORE = 8
/** Slow attempts in a row that put a receiver into the slow lane: one attempt at a time until it answers in time. */
const SLOW_AFTER = 3
/** Share of the node's slots that all slow lanes together may take. */
const SLOW_SHARE = 0.25
/** What is known of a slow receiver that no delivery goes to is forgotten after this time. */
const FORGOTTEN_MS = 5 * 60_000
/** Slow receivers that no delivery goes to; beyond it, the oldest is forgotten. */
const MOST_AT_REST = 10_000
/** Lanes of one company known to wait; others are found again by a later sweep. */
const MOST_WAITING = 5000
/** Names that one common search may exclude. Beyond it, companies with the most waiting lanes leave it as a whole. */
const MOST_EXCLUDED = 2000
/** Lanes that are looked at for one claim: of one company, and of all. */
const MOST_LOOKS = { company: 256, claim: 2000 }

export type LaneKey = { companyId: string; lane: string }
/** How many more deliveries of this lane may start now. */
export type LaneRoom = LaneKey & { free: number }
/** A lane that has due deliveries and room; `lowerMs` (epoch, database) bounds the search for them. */
export type LaneTurn = LaneRoom & { lowerMs: number }
/** What a company has in flight, and how many more of its deliveries may start now. */
export type CompanyRoom = { inFlight: number; free: number }
/** Single lanes, and companies with all their lanes. */
export type LaneSet = { lanes: readonly LaneKey[]; companies: readonly string[] }

/**
 * What an attempt shows about its receiver. `good`: it accepted the delivery in time. `trouble`: it is late, overloaded
 * or broken. `slow`: it held its slot for most of an attempt's time, or for all of it. `refused`: it answered in time
 * but did not accept, which says nothing about its speed.
 */
export type LaneNews = 'good' | 'trouble' | 'slow' | 'refused'

/** How an attempt ended; without a failure it was delivered. */
type Answer = { failure: Failure | null; statusCode: number | null; durationMs: number }

/** A later answer is no reason to raise the cap. */
const IN_TIME_MS = 1000
/** A later answer is as bad as none, whatever it says: an attempt ends after ten seconds. */
const SLOW_MS = 8000
/** Statuses by which a receiver reports overload (RFC 9110, RFC 6585); every other 5xx counts too. */
const OVERLOADED = new Set([408, 425, 429])

/** What an attempt shows about its receiver's lane. */
export function newsOf({ failure, statusCode, durationMs }: Answer): LaneNews {
  if (isTimeout(failure) || durationMs > SLOW_MS) return 'slow'
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
  /** Slow attempts in a row. */
  slow: number
  /** Due time from which due deliveries are known to wait here; null: none known. */
  backlogFromMs: number | null
}

type CompanyState = {
  id: string
  inFlight: number
  /** Its lanes with a backlog, in the order of their turns. */
  waiting: Set<LaneState>
}

const keyOf = ({ companyId, lane }: LaneKey): string => `${companyId} ${lane}`

function learn(state: LaneState, news: LaneNews): void {
  state.slow = news === 'slow' ? state.slow + 1 : 0
  if (news === 'trouble' || news === 'slow') {
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

const isSlow = (state: LaneState): boolean => state.slow >= SLOW_AFTER

/** What one claim may still take. */
type Budget = { left: number; slowFree: number; looks: number }

/**
 * What this node knows of its lanes: how full, how slow, and where deliveries wait because the lane was full. Such a
 * lane leaves the common search by due time and takes turns with others, so that a long queue for one receiver is not
 * read over and over and blocks no other (head-of-line blocking). Companies take turns as well, and one company never
 * holds the last slot: it may hold as many as it leaves free, half of all when it is alone.
 */
export class Lanes {
  readonly #states = new Map<string, LaneState>()
  readonly #companies = new Map<string, CompanyState>()
  /** Companies with waiting lanes, in the order of their turns. */
  readonly #queue = new Set<CompanyState>()
  /** Slow lanes without a delivery, and since when; the one that rests longest comes first. */
  readonly #atRest = new Map<LaneState, number>()
  readonly #slots: number
  readonly #mostInFlight: number
  readonly #now: () => number
  #inFlight = 0
  #slowInFlight = 0

  /**
   * @param slots for attempts that do not linger; slow lanes get a share of them
   * @param mostInFlight attempts at once, lingering ones included
   * @param now a clock in ms
   */
  constructor(slots: number, mostInFlight = 4 * slots, now = () => performance.now()) {
    this.#slots = slots
    this.#mostInFlight = mostInFlight
    this.#now = now
  }

  #stateOf(key: LaneKey): LaneState {
    const known = this.#states.get(keyOf(key))
    if (known) return known
    const { companyId, lane } = key
    const state = { companyId, lane, inFlight: 0, cap: LANE_CAP, good: 0, slow: 0, backlogFromMs: null }
    this.#states.set(keyOf(key), state)
    return state
  }

  #companyOf(id: string): CompanyState {
    const known = this.#companies.get(id)
    if (known) return known
    const company = { id, inFlight: 0, waiting: new Set<LaneState>() }
    this.#companies.set(id, company)
    return company
  }

  #setBacklog(state: LaneState, fromMs: number | null): void {
    state.backlogFromMs = fromMs
    const company = this.#companyOf(state.companyId)
    if (fromMs === null) company.waiting.delete(state)
    else company.waiting.add(state)
    if (company.waiting.size === 0) this.#queue.delete(company)
    else this.#queue.add(company)
  }

  /** Forgets what is idle: a slow lane only after a while. */
  #forgetIdle(state: LaneState): void {
    const company = this.#companyOf(state.companyId)
    if (company.inFlight === 0 && company.waiting.size === 0) this.#companies.delete(company.id)
    if (state.inFlight > 0 || state.backlogFromMs !== null) return
    if (state.slow === 0) this.#states.delete(keyOf(state))
    else this.#atRest.set(state, this.#now())
  }

  #forgetRested(): void {
    const beforeMs = this.#now() - FORGOTTEN_MS
    for (const [state, sinceMs] of this.#atRest) {
      if (sinceMs > beforeMs && this.#atRest.size <= MOST_AT_REST) return
      this.#atRest.delete(state)
      this.#states.delete(keyOf(state))
    }
  }

  started(key: LaneKey): void {
    const state = this.#stateOf(key)
    this.#atRest.delete(state)
    state.inFlight += 1
    this.#inFlight += 1
    this.#companyOf(key.companyId).inFlight += 1
    if (isSlow(state)) this.#slowInFlight += 1
  }

  /**
   * @param news null when no attempt was made
   * @returns true when a slot became free in a company whose deliveries wait
   */
  ended(key: LaneKey, news: LaneNews | null): boolean {
    const state = this.#stateOf(key)
    const company = this.#companyOf(key.companyId)
    const wasSlow = isSlow(state)
    const before = state.inFlight
    state.inFlight -= 1
    this.#inFlight -= 1
    company.inFlight -= 1
    if (news !== null) learn(state, news)
    this.#slowInFlight += (isSlow(state) ? state.inFlight : 0) - (wasSlow ? before : 0)
    this.#forgetIdle(state)
    this.#forgetRested()
    return company.waiting.size > 0
  }

  /** Due deliveries wait in this lane, the first one due at `fromMs`. */
  noteBacklog(key: LaneKey, fromMs: number): void {
    const known = this.#states.get(keyOf(key))
    const isNew = known === undefined || known.backlogFromMs === null
    if (isNew && (this.#companies.get(key.companyId)?.waiting.size ?? 0) >= MOST_WAITING) return
    const state = this.#stateOf(key)
    this.#atRest.delete(state)
    this.#setBacklog(state, Math.min(state.backlogFromMs ?? Number.POSITIVE_INFINITY, fromMs))
  }

  /** A turn filled all its room: more may wait from there on. */
  noteTurn(key: LaneKey, fromMs: number): void {
    this.#setBacklog(this.#stateOf(key), fromMs)
  }

  /** A turn found fewer due deliveries than it had room for: the lane returns to the common search. */
  noteDrained(key: LaneKey): void {
    const state = this.#stateOf(key)
    this.#setBacklog(state, null)
    this.#forgetIdle(state)
  }

  /** Each attempt more takes one from what is free, too. */
  #roomOf(company: CompanyState): number {
    return Math.max(0, Math.ceil((this.#mostInFlight - this.#inFlight - company.inFlight) / 2))
  }

  /** The room of these companies. */
  companyRooms(ids: Iterable<string>): Map<string, CompanyRoom> {
    const rooms = new Map<string, CompanyRoom>()
    for (const id of ids) {
      const company = this.#companies.get(id) ?? { id, inFlight: 0, waiting: new Set() }
      rooms.set(id, { inFlight: company.inFlight, free: this.#roomOf(company) })
    }
    return rooms
  }

  /** Companies of which nothing may start now. */
  fullCompanies(): string[] {
    return [...this.#companies.values()].filter((company) => this.#roomOf(company) === 0).map(({ id }) => id)
  }

  /** The room of those of these lanes that may take more or less than an unknown one. */
  limits(keys: Iterable<LaneKey>): LaneRoom[] {
    let slowFree = this.#slowFree()
    const states = new Set<LaneState>()
    for (const key of keys) {
      const state = this.#states.get(keyOf(key))
      if (state) states.add(state)
    }
    return [...states].map((state) => {
      const { companyId, lane, inFlight } = state
      if (!isSlow(state)) return { companyId, lane, free: Math.max(0, state.cap - inFlight) }
      const free = inFlight === 0 && slowFree > 0 ? 1 : 0
      slowFree -= free
      return { companyId, lane, free }
    })
  }

  /** Lanes in which nothing may start now. */
  full(): LaneKey[] {
    const hasSlowRoom = this.#slowFree() > 0
    return [...this.#states.values()].filter((state) =>
      isSlow(state) ? state.inFlight > 0 || !hasSlowRoom : state.inFlight >= state.cap,
    )
  }

  /**
   * Whose deliveries wait for their own receivers and for nothing else: full lanes, and companies with hardly any room.
   * @param hasRoom the node could start more: then a lane with a queue waits for its own attempts in flight
   */
  waiting(hasRoom: boolean): LaneSet {
    const full = new Set(this.full())
    const lanes = [...this.#states.values()].filter(
      (state) => full.has(state) || (hasRoom && state.backlogFromMs !== null && state.inFlight > 0),
    )
    const crowded = [...this.#queue].filter((company) => company.inFlight > 0 && this.#roomOf(company) < LANE_CAP)
    return { lanes, companies: crowded.map(({ id }) => id) }
  }

  /** Lanes that take turns, left out of the common search; companies with very many such lanes as a whole. */
  backlogged(): LaneSet {
    const whole = new Set<CompanyState>()
    let names = 0
    for (const { waiting } of this.#queue) names += waiting.size
    if (names > MOST_EXCLUDED)
      for (const company of [...this.#queue].sort((left, right) => right.waiting.size - left.waiting.size)) {
        if (names <= MOST_EXCLUDED || company.waiting.size === 1) break
        names -= company.waiting.size - 1
        whole.add(company)
      }
    const lanes = [...this.#queue].flatMap((company) => (whole.has(company) ? [] : [...company.waiting]))
    return { lanes, companies: [...whole].map(({ id }) => id) }
  }

  /**
   * The next lanes whose turn it is, as many as fit into `room` deliveries: one of each company, then the next ones.
   * Each moves to the back of its queue.
   */
  takeTurns(room: number): LaneTurn[] {
    this.#forgetRested()
    const budget: Budget = { left: room, slowFree: this.#slowFree(), looks: MOST_LOOKS.claim }
    let lines = [...this.#queue].map((company) => ({
      company,
      lanes: company.waiting.values(),
      looks: Math.min(company.waiting.size, MOST_LOOKS.company),
      free: this.#roomOf(company),
    }))
    const turns: LaneTurn[] = []
    while (lines.length > 0) {
      const more: typeof lines = []
      for (const line of lines) {
        if (budget.left <= 0 || budget.looks <= 0) return turns
        // to the back of the queue
        this.#queue.delete(line.company)
        this.#queue.add(line.company)
        const turn = this.#nextTurn(line, budget)
        if (turn === null) continue
        turns.push(turn)
        more.push(line)
      }
      lines = more
    }
    return turns
  }

  #nextTurn(
    line: { company: CompanyState; lanes: Iterator<LaneState>; looks: number; free: number },
    budget: Budget,
  ): LaneTurn | null {
    while (line.looks > 0 && line.free > 0 && budget.looks > 0) {
      line.looks -= 1
      budget.looks -= 1
      const state: LaneState = line.lanes.next().value
      const slow = isSlow(state)
      const open = slow ? (state.inFlight === 0 && budget.slowFree > 0 ? 1 : 0) : state.cap - state.inFlight
      const free = Math.min(budget.left, line.free, open)
      // to the back of its line; without a turn only where the line is too long to look at
      if (free > 0 || line.company.waiting.size > MOST_LOOKS.company) {
        line.company.waiting.delete(state)
        line.company.waiting.add(state)
      }
      if (free <= 0) continue
      if (slow) budget.slowFree -= 1
      budget.left -= free
      line.free -= free
      return { companyId: state.companyId, lane: state.lane, free, lowerMs: state.backlogFromMs ?? 0 }
    }
    return null
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
