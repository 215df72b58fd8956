import type { Db } from '../../db/db.ts'
import type { Buckets, ClaimedDelivery, DueSuspect } from './claim-queries.ts'
import { findDueSuspect, updateDoubted } from './claim-queries.ts'
import type { Lanes } from './lanes.ts'
import { MAX_CRASHES } from './sender-queries.ts'

/** What kills its node does so at once, mostly; and what a silent receiver holds up, it holds up for this long. */
const APART_MS = 100
/** How often suspects are looked for, as long as there are none. */
const SEARCH_MS = 1000

export type SuspectOptions = {
  db: Db
  lanes: Lanes
  buckets: () => Buckets
  /** No crash can be blamed on it any more, so that another may start. */
  freed: () => void
}

/**
 * Deliveries that one more crash would park. They start one after another. Where one starts beside others that are not
 * through yet, a crash would prove nothing: it parks none of them, and each is then sent with no other beside it.
 */
export class Suspects {
  readonly #options: SuspectOptions
  readonly #underWay = new Map<string, { companyId: string; deliveryId: string; isAlone: boolean }>()
  #startedMs = Number.NEGATIVE_INFINITY
  #searchAtMs = 0

  constructor(options: SuspectOptions) {
    this.#options = options
  }

  /** Something may have become one. */
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

  /** In the database before it starts: what this node knows is gone with the crash. */
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

  /** Its outcome is written, or another node has it. */
  settled(deliveryId: string): void {
    if (this.#underWay.delete(deliveryId)) this.#options.freed()
  }
}
