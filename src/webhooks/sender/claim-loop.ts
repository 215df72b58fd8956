import type { Db } from '../../db/db.ts'
import { SECRET_AGE_MS } from '../outbox/webhook-secret.ts'
import { type ClaimedDelivery, claimDeliveries, listDue, listSecrets, listTurns } from './claim-queries.ts'
import { type Picks, pickFairly, resultsOf } from './lane-picks.ts'
import type { Lanes, LaneTurn } from './lanes.ts'
import { LEASE_MS, listLanes, type SweptLane } from './sender-queries.ts'
import type { Suspects } from './suspects.ts'

const CLAIM_LIMIT = 200
const WINDOW = 500
/** How far the lower bound of the search lags behind: longer than a usual business transaction. */
const MARGIN_MS = 2000
const SWEEP_MS = 5000
const POLL_MIN_MS = 20
const POLL_MAX_MS = 250
/** After a claim that took fewer, the loop pauses, so that the next claim takes more. */
const PRODUCTIVE = 8
const GAP_MS = { productive: 2, meagre: 15 }
/** Lanes that one sweep reads, of all companies and of one; the next sweep continues behind them, and comes sooner. */
const SWEPT = { all: 10_000, company: 2000 }
const SWEEP_ON_MS = 1000
/** On a node short of room, a company with more than this of a full window leaves the common search. */
const CROWD = WINDOW / 4
const FAULT_DELAY_MS = 500
/** From a claim to its attempts at most, so that these end before their lease. */
const START_MS = LEASE_MS - 12_000
/** After claims whose secrets could not be read in time: doubled each time. */
const SLOW_DATABASE_MS = { first: 500, most: 8000 }

export type ClaimLoopOptions = {
  db: Db
  lanes: Lanes
  instance: () => string
  /** The buckets that this node owns; null: it competes for all. */
  buckets: () => readonly number[] | null
  /** How many more attempts this node may start. */
  room: () => number
  suspects: Suspects
  /** @param readAtMs `performance.now()` before the delivery's secret was read */
  start: (delivery: ClaimedDelivery, readAtMs: number) => void
  failed: (error: unknown) => void
}

/** Claims due deliveries in a loop: immediately when woken, otherwise by polling; one claim at a time. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  #lowerMs = 0
  #sweepAtMs = 0
  /** The company after which the next sweep continues. */
  #sweptTo = ''
  /** Of companies with more lanes than a sweep reads: the lane after which the next one continues. */
  readonly #sweptLanes = new Map<string, string>()
  /** Claims in a row whose secrets could not be read in time. */
  #slowReads = 0
  #delayMs = POLL_MIN_MS
  #isWoken = false
  #isStopped = false
  #interrupt: (() => void) | null = null
  #ended: Promise<void> = Promise.resolve()

  constructor(options: ClaimLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#ended = this.#run()
  }

  /** Something may be due, or a slot became free. */
  wake(): void {
    this.#isWoken = true
    this.#interrupt?.()
  }

  /** The lower bound may have skipped something: searches everything. */
  sweep(): void {
    this.#sweepAtMs = 0
    this.#options.suspects.sweep()
    this.wake()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#interrupt?.()
    await this.#ended
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#isWoken = false
      let count = 0
      try {
        count = await this.#turn()
        if (this.#slowReads > 0) await this.#rest(slowPauseMs(this.#slowReads))
        this.#delayMs = count > 0 ? POLL_MIN_MS : Math.min(POLL_MAX_MS, this.#delayMs * 2)
        await this.#pause(count >= PRODUCTIVE ? GAP_MS.productive : GAP_MS.meagre, count >= CLAIM_LIMIT)
      } catch (error) {
        this.#options.failed(error)
        await this.#sleep(FAULT_DELAY_MS)
      }
    }
  }

  async #pause(gapMs: number, isFull: boolean): Promise<void> {
    if (this.#isStopped) return
    await new Promise((resolve) => setTimeout(resolve, gapMs))
    if (!this.#isWoken && !isFull) await this.#sleep(this.#delayMs)
  }

  /** Sleeps until woken, stopped, or `ms` have passed. */
  async #sleep(ms: number): Promise<void> {
    if (this.#isStopped) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#interrupt = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#interrupt = null
  }

  /** Sleeps for `ms` though woken, until stopped. */
  async #rest(ms: number): Promise<void> {
    const untilMs = performance.now() + ms
    while (!this.#isStopped && performance.now() < untilMs) await this.#sleep(untilMs - performance.now())
  }

  /** @returns how many deliveries were started */
  async #turn(): Promise<number> {
    const { lanes, suspects, room: roomOf } = this.#options
    if (performance.now() >= this.#sweepAtMs) await this.#sweep()
    const room = roomOf()
    if (room <= 0) {
      this.#delayMs = POLL_MIN_MS / 2
      return 0
    }
    const suspect = await suspects.next()
    // deliveries chosen with it find one slot less in its lane
    if (suspect) lanes.started(suspect)
    return this.#claim(room, suspect?.place).finally(() => {
      if (suspect) lanes.ended(suspect, null)
    })
  }

  async #claim(room: number, suspect: string | undefined): Promise<number> {
    const { db, lanes, buckets } = this.#options
    const turns = lanes.takeTurns(Math.min(CLAIM_LIMIT, Math.ceil(room / 2)))
    const reserved = turns.reduce((sum, turn) => sum + turn.free, 0)
    const common = await this.#searchCommon(Math.min(CLAIM_LIMIT, room - reserved))
    const found = turns.length === 0 ? [] : await listTurns(db, turns, buckets())
    const places = [...common.picked, ...found].map(({ place }) => place)
    if (suspect !== undefined) places.push(suspect)
    const count = places.length === 0 ? 0 : await this.#take(places)
    if (common.reachedMs !== null) this.#lowerMs = Math.max(this.#lowerMs, common.reachedMs - MARGIN_MS)
    for (const { dueMs, ...lane } of common.full) lanes.noteBacklog(lane, dueMs - MARGIN_MS)
    this.#noteTurns(resultsOf(turns, found))
    return count
  }

  /** Claims what is at these places and starts it. */
  async #take(places: readonly string[]): Promise<number> {
    const { db, instance, start, failed } = this.#options
    const claimedAtMs = performance.now()
    const claimed = await claimDeliveries(db, instance(), places)
    if (claimed.length === 0) return 0
    const { deliveries, readAtMs } = await this.#readAgain(claimed, claimedAtMs)
    for (const delivery of deliveries) start(delivery, readAtMs)
    this.#slowReads = isStale(readAtMs) ? this.#slowReads + 1 : 0
    if (this.#slowReads > 0) failed(new Error(`webhook secrets were not read within ${SECRET_AGE_MS} ms`))
    return deliveries.length
  }

  /** A claim reads the secrets too. One that took long has read them too early to sign with. */
  async #readAgain(claimed: ClaimedDelivery[], claimedAtMs: number) {
    let [deliveries, readAtMs] = [claimed, claimedAtMs]
    const isInTime = (): boolean => performance.now() < claimedAtMs + START_MS
    while (isStale(readAtMs) && isInTime()) {
      const sentAtMs = performance.now()
      try {
        const secrets = await listSecrets(this.#options.db, [...new Set(claimed.map(({ companyId }) => companyId))])
        deliveries = claimed.map((one) => ({
          ...one,
          webhookSecretSealed: secrets.get(one.companyId) ?? one.webhookSecretSealed,
        }))
        readAtMs = sentAtMs
      } catch (error) {
        // left alone, they would count as interrupted when their lease ends
        this.#options.failed(error)
        break
      }
    }
    return { deliveries, readAtMs: isInTime() ? readAtMs : Number.NEGATIVE_INFINITY }
  }

  /** Searches by due time alone. @returns also the due time up to which everything was seen and picked */
  async #searchCommon(limit: number): Promise<Picks & { reachedMs: number | null }> {
    const { db, lanes, buckets } = this.#options
    if (limit === 0) return { picked: [], full: [], reachedMs: null }
    const search = { lowerMs: this.#lowerMs, window: WINDOW, excluded: lanes.backlogged(), buckets: buckets() }
    const { nowMs, due } = await listDue(db, search)
    const companies = lanes.companyRooms(due.map(({ companyId }) => companyId))
    const isFull = due.length === WINDOW
    const crowd = isFull && limit < CLAIM_LIMIT ? CROWD : WINDOW
    const picks = pickFairly(due, { lanes: lanes.limits(due), companies, limit, crowd })
    const sawAll = !isFull && picks.picked.length < limit
    return { ...picks, reachedMs: sawAll ? nowMs : (due[0]?.dueMs ?? 0) }
  }

  #noteTurns(results: { turn: LaneTurn; count: number; firstMs: number }[]): void {
    const { lanes } = this.#options
    for (const { turn, count, firstMs } of results) {
      if (count < turn.free) lanes.noteDrained(turn)
      else lanes.noteTurn(turn, firstMs - MARGIN_MS)
    }
  }

  async #sweep(): Promise<void> {
    const { db, lanes } = this.#options
    this.#sweepAtMs = performance.now() + SWEEP_MS
    const resume = [...this.#sweptLanes].map(([companyId, lane]) => ({ companyId, lane }))
    const limits = { perCompany: SWEPT.company, limit: SWEPT.all }
    const swept = await listLanes(db, { after: this.#sweptTo, resume, ...limits })
    for (const { companyId, lane, dueMs } of swept)
      if (lane !== null && dueMs !== null) lanes.noteBacklog({ companyId, lane }, dueMs)
    if (this.#noteSwept(swept)) this.#sweepAtMs = performance.now() + SWEEP_ON_MS
  }

  /** @returns true if there may be more companies behind these */
  #noteSwept(swept: readonly SweptLane[]): boolean {
    const isCut = swept.length === SWEPT.all
    const last = swept.at(-1)?.companyId ?? ''
    const byCompany = Map.groupBy(swept, ({ companyId }) => companyId)
    const isWhole = this.#sweptTo === '' && !isCut
    for (const id of this.#sweptLanes.keys()) if (isWhole && !byCompany.has(id)) this.#sweptLanes.delete(id)
    for (const [id, rows] of byCompany) {
      const to = rows.at(-1)?.lane ?? null
      const isPart = rows.length === SWEPT.company || (isCut && id === last)
      if (isPart && to !== null) this.#sweptLanes.set(id, to)
      else this.#sweptLanes.delete(id)
    }
    this.#sweptTo = isCut ? last : ''
    return isCut
  }
}

const isStale = (readAtMs: number): boolean => performance.now() - readAtMs > SECRET_AGE_MS

const slowPauseMs = (times: number): number =>
  Math.min(SLOW_DATABASE_MS.most, SLOW_DATABASE_MS.first * 2 ** (times - 1))
