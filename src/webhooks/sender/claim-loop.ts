import type { Db } from '../../db/db.ts'
import type { Lanes } from './lanes.ts'
import { type ClaimedDelivery, type ClaimSummary, claimDeliveries, listDueLanes } from './sender-queries.ts'

const CLAIM_LIMIT = 200
const WINDOW = 500
/** How far the lower bound of the search stays behind: longer than a usual business transaction. */
const MARGIN_MS = 2000
const SWEEP_MS = 5000
const POLL_MIN_MS = 20
const POLL_MAX_MS = 250
/** A claim that took little is not followed by another at once, so that the next takes more. */
const PRODUCTIVE = 8
const GAP_MS = { productive: 2, meagre: 15 }
/** With more waiting lanes than this the common search is left out: everything is found by turns. */
const MAX_EXCLUDED = 2000
const MAX_SWEPT_LANES = 10_000
const FAULT_DELAY_MS = 500

export type ClaimLoopOptions = {
  db: Db
  lanes: Lanes
  instance: () => string
  /** The buckets that this node owns; null: it competes for all. */
  buckets: () => readonly number[] | null
  /** How many more attempts this node may start. */
  room: () => number
  /** @param sentAtMs `performance.now()` before the claim was sent: what it read is at least this old */
  start: (delivery: ClaimedDelivery, sentAtMs: number) => void
  failed: (error: unknown) => void
}

/** Claims due deliveries again and again: at once when woken, else by polling; one claim at a time. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  #lowerMs = 0
  #sweepAtMs = 0
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

  /** Something may be due, or a place became free. */
  wake(): void {
    this.#isWoken = true
    this.#interrupt?.()
  }

  /** The lower bound may have passed something: search everything. */
  sweep(): void {
    this.#sweepAtMs = 0
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

  /** Until woken, stopped, or `ms` have passed. */
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

  /** @returns how many deliveries were started */
  async #turn(): Promise<number> {
    const { db, lanes, room: roomOf, instance, buckets, start } = this.#options
    if (performance.now() >= this.#sweepAtMs) await this.#sweep()
    const room = roomOf()
    if (room <= 0) {
      this.#delayMs = POLL_MIN_MS / 2
      return 0
    }
    const turns = lanes.takeTurns(Math.min(CLAIM_LIMIT, Math.ceil(room / 2)))
    const reserved = turns.reduce((sum, turn) => sum + turn.free, 0)
    const excluded = lanes.backlogged()
    const limit = excluded.length > MAX_EXCLUDED ? 0 : Math.min(CLAIM_LIMIT, room - reserved)
    const window = limit === 0 ? 0 : WINDOW
    const limits = limit === 0 ? [] : lanes.limits()
    const sentAtMs = performance.now()
    const request = {
      instance: instance(),
      lowerMs: this.#lowerMs,
      limit,
      window,
      limits,
      excluded,
      turns,
      buckets: buckets(),
    }
    const { deliveries, summary } = await claimDeliveries(db, request)
    for (const delivery of deliveries) start(delivery, sentAtMs)
    if (limit > 0) this.#moveLowerBound(summary, limit)
    for (const [companyId, lane, dueMs] of summary.full) lanes.noteBacklog({ companyId, lane }, dueMs - MARGIN_MS)
    const found = new Map(
      summary.turns.map(([companyId, lane, count, dueMs]) => [`${companyId} ${lane}`, { count, dueMs }]),
    )
    for (const turn of turns) {
      const result = found.get(`${turn.companyId} ${turn.lane}`)
      if (!result || result.count < turn.free) lanes.noteDrained(turn)
      else lanes.noteTurn(turn, result.dueMs - MARGIN_MS)
    }
    return deliveries.length
  }

  /** Up to now when everything that is due was read and taken; else up to the first that was read. */
  #moveLowerBound(summary: ClaimSummary, limit: number): void {
    const readAll = summary.seen < WINDOW && summary.taken < limit
    const reached = readAll ? summary.nowMs : (summary.firstSeenMs ?? 0)
    this.#lowerMs = Math.max(this.#lowerMs, reached - MARGIN_MS)
  }

  async #sweep(): Promise<void> {
    const { db, lanes } = this.#options
    this.#sweepAtMs = performance.now() + SWEEP_MS
    for (const { companyId, lane, dueMs } of await listDueLanes(db, MAX_SWEPT_LANES)) {
      lanes.noteBacklog({ companyId, lane }, dueMs)
    }
  }
}
