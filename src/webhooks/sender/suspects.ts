import type { Db } from '../../db/db.ts'
import type { Buckets, ClaimedDelivery, DueSuspect } from './claim-queries.ts'
import { findDueSuspect, updateDoubted } from './claim-queries.ts'
import type { Lanes } from './lanes.ts'
import { MAX_CRASHES } from './sender-queries.ts'

/**
 * A delivery that kills its node mostly does so at once; if its receiver is silent, it holds up the others for this
 * long.
 */
const APART_MS = 100
/** Search interval while there are no suspects. */
const SEARCH_MS = 1000

/** Names that one search may have. */
const MOST_SERVED = 2000

export type SuspectOptions = {
  db: Db
  lanes: Lanes
  buckets: () => Buckets
  /** A crash can no longer be blamed on it, so another may start. */
  freed: () => void
}

/**
 * Deliveries that one more crash would park. They start one after another. If one starts while others are not through
 * yet, a crash would prove nothing: it parks none of them, and each is then sent alone.
 */
export class Suspects {
  readonly #options: SuspectOptions
  readonly #underWay = new Map<string, { companyId: string; deliveryId: string; isAlone: boolean }>()
  /** Companies that had a turn in this round: one with many silent receivers would hold up those of all others. */
  readonly #served = new Set<string>()
  #startedMs = Number.NEGATIVE_INFINITY
  #searchAtMs = 0

  constructor(options: SuspectOptions) {
    this.#options = options
  }

  /** There may be new suspects. */
  sweep(): void {
    this.#searchAtMs = 0
  }

  /** @returns the one that may start now */
  async next(): Promise<DueSuspect | undefined> {
    const { db, lanes, buckets } = this.#options
    const now = performance.now()
    const underWay = [...this.#underWay.values()]
    const isHeldUp =
      underWay.some(({ isAlone }) => isAlone) || (underWay.length > 0 && now - this.#startedMs < APART_MS)
    if (isHeldUp || now < this.#searchAtMs) return undefined
    const full = { full: lanes.full(), fullCompanies: lanes.fullCompanies() }
    const search = { ...full, served: [...this.#served], beside: underWay.length > 0, buckets: buckets() }
    const suspect = await findDueSuspect(db, search)
    if (!suspect) {
      this.#searchAtMs = now + SEARCH_MS
      return undefined
    }
    this.#noteServed(suspect)
    return this.#noteBeside(suspect)
  }

  /** A company that had its turn was found again: no other one has a suspect that may start now. */
  #noteServed({ companyId }: DueSuspect): void {
    if (this.#served.has(companyId) || this.#served.size >= MOST_SERVED) this.#served.clear()
    this.#served.add(companyId)
  }

  /** Written to the database before it starts, because what this node knows is lost in a crash. */
  async #noteBeside(suspect: DueSuspect): Promise<DueSuspect> {
    const underWay = [...this.#underWay.values()]
    if (underWay.length === 0) return suspect
    const changed = await updateDoubted(this.#options.db, [suspect, ...underWay])
    const moved = changed.find(({ deliveryId }) => deliveryId === suspect.deliveryId)
    return { ...suspect, ...moved }
  }

  /** Its attempt starts. */
  started({ companyId, deliveryId, crashes, doubt }: ClaimedDelivery): void {
    if (crashes < MAX_CRASHES - 1) return
    this.#underWay.set(deliveryId, { companyId, deliveryId, isAlone: doubt >= 2 })
    this.#startedMs = performance.now()
  }

  /** Its outcome is written, or another node owns it. */
  settled(deliveryId: string): void {
    if (this.#underWay.delete(deliveryId)) this.#options.freed()
  }
}
