import { MAX_FILTER_VALUES } from './endpoints/rpc.ts'

/** Bytes on the wire, as measured by `npm run bench -- chain`: one receiver in a filter, one log in an answer. */
const RECEIVER_BYTES = 69
const LOG_BYTES = 690
/** More receivers cost too much of our own time (docs/benchmarks.md). */
const MOST_OF_A_BLOCK = 5000
const MOST_OF_A_RANGE = 10_000
/** Logs per block assumed for a chain whose logs were never all read. */
const UNKNOWN_PER_BLOCK = 100
/** After this many queries by receiver, all logs of one block are read again. */
const MEASURE_EVERY = 500
const NEW_SHARE = 0.3

/**
 * Chooses the cheaper way to query a chain: by the watched addresses, a thousand per call, or all transfers of the
 * tokens, matched here. That depends on the number of transfers in its blocks.
 */
export class LogCost {
  #perBlock: number | null = null
  #since = 0

  /** All transfers of some blocks were read. */
  note(logs: number, blocks: number): void {
    const seen = logs / Math.max(1, blocks)
    this.#perBlock = this.#perBlock === null ? seen : this.#perBlock * (1 - NEW_SHARE) + seen * NEW_SHARE
    this.#since = 0
  }

  /** Up to this many receivers, name them when the newest blocks are read one by one. */
  mostOfBlock(): number {
    this.#since += 1
    if (this.#perBlock === null || this.#since > MEASURE_EVERY) return MAX_FILTER_VALUES
    const worth = Math.floor((this.#perBlock * LOG_BYTES) / RECEIVER_BYTES)
    return Math.min(MOST_OF_A_BLOCK, Math.max(MAX_FILTER_VALUES, worth))
  }

  /** Up to this many receivers, name them for a range, whose answer holds the logs of all its blocks. */
  mostOfRange(blocks: number): number {
    const worth = Math.floor(((this.#perBlock ?? UNKNOWN_PER_BLOCK) * blocks * LOG_BYTES) / RECEIVER_BYTES)
    return Math.min(MOST_OF_A_RANGE, Math.max(MAX_FILTER_VALUES, worth))
  }
}
