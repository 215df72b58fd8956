import { type Clock, isYounger, SECOND } from '../../kernel/clock.ts'

/** How long it gives no receipts, each time it is asked, before it is taken to have none. */
const NO_RECEIPTS_MS = 20 * SECOND

/** A refusal costs little; what takes longer may be the whole timeout, each time. */
export const SLOW_MS = SECOND

/**
 * When an endpoint gave no receipts, first and last in a row, whether it was found to have none, and whether it took
 * long for that.
 */
type Refused = { sinceMs: number; lastMs: number; areNone: boolean; isSlow: boolean }

/** Notes whether a question was answered. @returns whether it is taken to have none, as it has given none for long */
type Note = (isGiven: boolean) => boolean

const isSpared = ({ areNone, isSlow }: Refused): boolean => areNone && isSlow

/** Whether an endpoint gives receipts. It is asked for them only where it is in doubt what is in a block: rarely. */
export class ReceiptsGiven {
  readonly #clock: Clock
  #refused: Refused | null = null
  /** It gave some: where it gives none, that passes. */
  #areKnown = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Begins a question. Several may be open at once, and each may take its whole timeout.
   * @returns null if it is taken to have none and took long to give none a moment ago: it is not asked now
   */
  begin(): Note | null {
    const askedMs = this.#clock()
    const last = this.#refused
    if (last && isSpared(last) && isYounger(last.lastMs, NO_RECEIPTS_MS, askedMs)) return null
    const began = performance.now()
    return (isGiven) => {
      this.#areKnown ||= isGiven
      this.#refused = isGiven ? null : this.#refuse(askedMs, performance.now() - began >= SLOW_MS)
      return this.#refused?.areNone ?? false
    }
  }

  /**
   * Without another question for so long, a failure is the first one again: the two may be about two blocks, of which
   * each had just come. One that never gave any need not begin again.
   */
  #refuse(askedMs: number, isSlow: boolean): Refused {
    const now = this.#clock()
    const last = this.#refused
    // the time in which it was not asked is none in which it might have given some
    const gapMs = last && isSpared(last) ? 2 * NO_RECEIPTS_MS : NO_RECEIPTS_MS
    const isNext = last !== null && isYounger(last.lastMs, gapMs, Math.max(askedMs, last.lastMs))
    const goesOn = last !== null && (isNext || (last.areNone && !this.#areKnown))
    // a clock that was set back begins it again
    const sinceMs = goesOn ? Math.min(last.sinceMs, now) : now
    return { sinceMs, lastMs: now, isSlow, areNone: goesOn && (last.areNone || now - sinceMs >= NO_RECEIPTS_MS) }
  }
}
