import type { Db } from '../../db/db.ts'
import { type OutcomeRow, settleAttempts } from './sender-queries.ts'

/** How long outcomes are collected, so that one statement writes many. */
const FLUSH_DELAY_MS = 20
const FLUSH_ROWS = 200
/** Two concurrent statements keep the connection busy while the next batch fills. */
const PARALLEL_FLUSHES = 2
const RETRY_DELAY_MS = 250

type Pending = { row: OutcomeRow; endedAtMs: number }

export type SettlementEvents = {
  settled: (row: OutcomeRow) => void
  /** The lease had passed to another claim: this outcome was dropped. */
  fenced: (row: OutcomeRow) => void
  failed: (error: unknown) => void
}

/** Collects outcomes of attempts and writes them in batches; while the database is down it retries until it answers. */
export class OutcomeWriter {
  readonly #db: Db
  readonly #events: SettlementEvents
  #waiting: Pending[] = []
  #flushing = 0
  #timer: NodeJS.Timeout | null = null
  #idle: (() => void)[] = []

  constructor(db: Db, events: SettlementEvents) {
    this.#db = db
    this.#events = events
  }

  /** @param endedAtMs `performance.now()` at the end of the attempt: the retry delay counts from there */
  add(row: OutcomeRow, endedAtMs: number): void {
    this.#waiting.push({ row, endedAtMs })
    if (this.#waiting.length >= FLUSH_ROWS) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_DELAY_MS)
  }

  /** Resolves when everything is written, at the latest after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#flush()
    if (this.#waiting.length === 0 && this.#flushing === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#idle.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    while (this.#waiting.length > 0 && this.#flushing < PARALLEL_FLUSHES) {
      const batch = this.#waiting.splice(0, FLUSH_ROWS)
      this.#flushing += 1
      void this.#write(batch)
    }
  }

  async #write(batch: Pending[]): Promise<void> {
    const nowMs = performance.now()
    const rows = batch.map(({ row, endedAtMs }) => {
      const delayMs = row.outcome === 'retry' ? Math.max(0, row.delayMs - (nowMs - endedAtMs)) : row.delayMs
      return { ...row, delayMs }
    })
    try {
      const ours = new Set(await settleAttempts(this.#db, rows))
      for (const { row } of batch) this.#events[ours.has(row.deliveryId) ? 'settled' : 'fenced'](row)
    } catch (error) {
      this.#events.failed(error)
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS))
      this.#waiting.push(...batch)
    }
    this.#flushing -= 1
    if (this.#waiting.length >= FLUSH_ROWS) this.#flush()
    else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#flush(), FLUSH_DELAY_MS)
    else if (this.#flushing === 0) for (const done of this.#idle.splice(0)) done()
  }
}
