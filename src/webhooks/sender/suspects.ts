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
    const suspect = await findDueSuspect(db, { full: lanes.full(), beside: underWay.length > 0, buckets: buckets() })
    if (!suspect) this.#searchAtMs = now + SEARCH_MS
    return suspect && this.#noteBeside(suspect)
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
