import { type Clock, isRecent, isYounger, MINUTE, SECOND } from '../../kernel/clock.ts'
import type { Network } from '../networks.ts'
import { isOptional } from './answer-shapes.ts'
import { Pace } from './pace.ts'
import { ReceiptsGiven } from './receipts-given.ts'
import { type Hex, MAX_FILTER_VALUES, type Rpc, type RpcCall, RpcError } from './rpc.ts'

/** A node's limits, learned from its refusals. */
export type EndpointLimits = {
  batchSize: number
  blockSpan: bigint
  topicCount: number
  /** Null: it has never refused a call for rate. */
  callsPerSecond: number | null
}

const FIRST_LIMITS: EndpointLimits = {
  ...{ batchSize: 100, blockSpan: 2000n, topicCount: MAX_FILTER_VALUES, callsPerSecond: null },
}

/**
 * Why an endpoint is not read. `down`: its last call failed. `behind`: others have newer blocks. `foreign`: it served
 * another chain less than a minute ago. `outvoted`: others, or its own block headers, contradict it, or its blocks are
 * from the future. `unproven`: it has not shown yet that its token is USDC. Whether it is heard is another question:
 * `hearing/standing.ts`.
 */
export type EndpointFault = 'down' | 'behind' | 'foreign' | 'outvoted' | 'unproven'

/** The node does not serve the configured chain, or not the one read before. */
export class ForeignChain extends Error {
  override readonly name = 'ForeignChain'
}

/** Upper limit of a block range: every header in it is read. */
const MAX_SPAN = 5000n
const MAX_BLOCKS_AT_ONCE = 32
/** How long an endpoint that was wrong must give right answers before it is used again. */
const PROBATION_MS = MINUTE
const FIRST_PAUSE_MS = SECOND
const MAX_PAUSE_MS = 30 * SECOND
const VERIFIED_MS = 30 * SECOND
/** How long after it refused so many receivers it is asked for more again: each trial costs a few requests. */
const RECEIVERS_MS = 10 * MINUTE
/** How long it refuses so many receivers before that is its limit, though it calls that a failure. */
const REFUSED_MS = 10 * SECOND
/** How long it refuses to say what is in blocks before someone is told. */
const MUTE_MS = 30 * SECOND
/** Nodes hear of a block one after another: without it for longer, an endpoint is not only a moment behind. */
const LATE_MS = 5 * SECOND
/** Under which is remembered since when it lacks what others prove. */
const PROVEN = 'proven'
/** What it lacks, of which we remember since when: more than the blocks of the longest range, each in a few ways. */
const LACKED = 4 * Number(MAX_SPAN)

export type EndpointEvents = {
  /** A request that failed or was refused. */
  onError(endpoint: number): void
  onLearned(endpoint: number, limits: EndpointLimits): void
}

/** One node of a chain: its client, health and limits. Numbered from 1 in the order of configuration. */
export class Endpoint {
  readonly number: number
  /** Counts and judges every answer; splits requests that exceed the node's limits. */
  readonly rpc: Rpc
  /** For what it need not answer: whoever asks judges that, and one without an answer is no worse for anything else. */
  readonly optional: Rpc
  readonly receipts: ReceiptsGiven
  limits: EndpointLimits = { ...FIRST_LIMITS }
  behind = false
  /** Its newest block is far ahead of all others and of our clock. */
  early = false
  /** Its newest block is so old that it is being synchronised: what it lacks says nothing. */
  stale = false
  /** Its newest block is far ahead of our clock, and no other endpoint says what is right. */
  aheadAlone = false
  /** Its last answer to a vote took long: where the others decide, it is not waited for. */
  slow = false
  /** It did not have all blocks that it was last asked to confirm: another one is asked first. */
  short = false
  /** It lacks payments for longer than an index of logs lags, and another one proved them: that one is read first. */
  lacking = false
  /** Its token is not checked yet: until then nothing is read from it, even if no other endpoint answers. */
  unproven = false
  /** Blocks queried at once: fewer after each missing answer, one more after each answer. */
  blocksAtOnce = MAX_BLOCKS_AT_ONCE
  readonly #inner: Rpc
  readonly #clock: Clock
  readonly #events: EndpointEvents
  #failures = 0
  #paused = { atMs: 0, forMs: 0 }
  #wrong: { fault: 'foreign' | 'outvoted'; rightSince: number | null } | null = null
  #verifiedAt = Number.NEGATIVE_INFINITY
  /** Since when its limit of receivers holds; null: that is not known, as after a start. */
  #receiversMs: number | null = null
  /** The fewest receivers that it refused, and since when it has not taken as many. */
  #refused: { receivers: number; sinceMs: number } | null = null
  /** Its first and its last refusal in a row to say what is in blocks, and whether that was told. */
  #mute: { sinceMs: number; lastMs: number; isTold: boolean } | null = null
  /** By block: when it was first asked about it in vain. */
  readonly #lacked = new Map<string, number>()
  readonly #pace = new Pace()

  constructor(number: number, inner: Rpc, { clock, events }: { clock: Clock; events: EndpointEvents }) {
    this.number = number
    this.#inner = inner
    this.#clock = clock
    this.receipts = new ReceiptsGiven(clock)
    this.#events = events
    const ask = (mayFail: boolean): Rpc => ({
      call: (method, ...params) =>
        this.#watch(1, () => inner.call(method, ...params), mayFail || isOptional({ method })),
      batch: (calls) => this.#batch(calls, mayFail),
      close: () => inner.close(),
    })
    this.rpc = ask(false)
    this.optional = ask(true)
  }

  /** Called after it has answered about this many blocks, or failed to. */
  noteBlocksRead(isAnswered: boolean): void {
    this.blocksAtOnce = isAnswered
      ? Math.min(MAX_BLOCKS_AT_ONCE, this.blocksAtOnce + 1)
      : Math.max(1, Math.floor(this.blocksAtOnce / 2))
  }

  fault(): EndpointFault | null {
    const wrong = this.#wrongNow()
    if (wrong) return wrong
    if (this.early) return 'outvoted'
    if (this.unproven) return 'unproven'
    if (this.paused) return 'down'
    return this.behind ? 'behind' : null
  }

  #wrongNow(): 'foreign' | 'outvoted' | null {
    if (!this.#wrong) return null
    const now = this.#clock()
    const { fault, rightSince } = this.#wrong
    // a clock that was set back begins it again
    if (rightSince !== null) this.#wrong.rightSince = Math.min(rightSince, now)
    if (rightSince === null || now - rightSince < PROBATION_MS) return fault
    this.#wrong = null
    return null
  }

  /** It served another chain less than a minute ago. */
  get foreign(): boolean {
    return this.#wrongNow() === 'foreign'
  }

  /** Its last call failed: it is left alone for a while. */
  get paused(): boolean {
    return isRecent(this.#paused.atMs, this.#paused.forMs, this.#clock())
  }

  /** It does not have a block that it is asked about. @returns whether it has had time enough to get it */
  noteLacking(block: string, enoughMs = LATE_MS): boolean {
    const now = this.#clock()
    // a clock that was set back begins it again
    const sinceMs = Math.min(this.#lacked.get(block) ?? now, now)
    this.#lacked.delete(block)
    this.#lacked.set(block, sinceMs)
    const [oldest] = this.#lacked.keys()
    if (this.#lacked.size > LACKED && oldest !== undefined) this.#lacked.delete(oldest)
    return now - sinceMs >= enoughMs
  }

  noteHaving(block: string): void {
    this.#lacked.delete(block)
  }

  /** Others proved a payment that it lacks, and of which it gives no receipts. @returns whether that has lasted */
  noteProven(): boolean {
    return this.noteLacking(PROVEN)
  }

  /** It shows the payments of a block, and lacks none. */
  noteWhole(): void {
    this.lacking = false
    this.noteHaving(PROVEN)
  }

  /** It said what is in blocks, or refused to for a step of the reading: what it keeps of old blocks is no matter. */
  noteWord(isGiven: boolean): void {
    const now = this.#clock()
    this.#mute = isGiven ? null : { sinceMs: now, isTold: false, ...this.#mute, lastMs: now }
  }

  /** Whether it has refused for long to say what is in blocks; told once. */
  tellMute(): boolean {
    const mute = this.#mute
    if (!mute || mute.isTold || mute.lastMs - mute.sinceMs < MUTE_MS) return false
    mute.isTold = true
    return true
  }

  /** It contradicts the chain we know, or all other endpoints. @returns whether that is new */
  noteWrong(fault: 'foreign' | 'outvoted'): boolean {
    const news = this.fault() !== fault
    this.#verifiedAt = Number.NEGATIVE_INFINITY
    this.#wrong = { fault, rightSince: fault === 'outvoted' ? this.#clock() : null }
    return news
  }

  /** It gave a right answer; the first one starts its probation. */
  noteRight(): void {
    this.#verifiedAt = this.#clock()
    if (this.#wrong && this.#wrong.rightSince === null) this.#wrong.rightSince = this.#clock()
  }

  /** Whether it must prove its chain before it is used. */
  get needsLook(): boolean {
    return this.#wrong?.fault === 'foreign' || !isYounger(this.#verifiedAt, VERIFIED_MS, this.#clock())
  }

  /** @throws ForeignChain, RpcError */
  async verify({ chainId }: Pick<Network, 'chainId'>): Promise<void> {
    if (!this.needsLook) return
    const answered = Number(BigInt(await this.rpc.call<Hex>('eth_chainId')))
    if (answered !== chainId) {
      this.noteWrong('foreign')
      throw new ForeignChain(`endpoint ${this.number} serves chain ${answered}, not ${chainId}`)
    }
    this.noteRight()
  }

  learn(change: Partial<EndpointLimits>): void {
    this.limits = { ...this.limits, ...change }
    if (change.topicCount !== undefined) this.#receiversMs = this.#clock()
    this.#events.onLearned(this.number, this.limits)
  }

  /** It answered ranges as long as it is asked for: longer ones may do again. */
  growSpan(): void {
    const { blockSpan } = this.limits
    if (blockSpan < MAX_SPAN) this.limits.blockSpan = 2n * blockSpan > MAX_SPAN ? MAX_SPAN : 2n * blockSpan
  }

  /** It refuses so many receivers, and takes few. @returns whether that has lasted */
  noteRefused(receivers: number): boolean {
    const now = this.#clock()
    const known = this.#refused ?? { receivers, sinceMs: now }
    // a clock that was set back begins it again
    const sinceMs = Math.min(known.sinceMs, now)
    this.#refused = { receivers: Math.min(known.receivers, receivers), sinceMs }
    return now - sinceMs >= REFUSED_MS
  }

  /** It answered a question about so many receivers. */
  noteTaken(receivers: number): void {
    if (this.#refused && receivers >= this.#refused.receivers) this.#refused = null
  }

  /**
   * It was asked in parts for as many receivers as it takes. Some time after its refusal, more may do again, also where
   * it answers none of the parts: the more they are, the more often one of them fails.
   */
  growReceivers(): void {
    const now = this.#clock()
    this.#receiversMs ??= now
    if (isYounger(this.#receiversMs, RECEIVERS_MS, now)) return
    this.limits.topicCount = Math.min(MAX_FILTER_VALUES, 2 * this.limits.topicCount)
  }

  async #watch<Result>(calls: number, ask: () => Promise<Result>, mayFail: boolean): Promise<Result> {
    const answered = await this.#pace.wait(calls, this.limits.callsPerSecond)
    try {
      const result = await ask()
      this.#failures = 0
      this.#paused = { atMs: 0, forMs: 0 }
      return result
    } catch (error) {
      if (error instanceof RpcError) this.#noteFailure(error, mayFail)
      throw error
    } finally {
      answered()
    }
  }

  #noteFailure(error: RpcError, mayFail: boolean): void {
    this.#events.onError(this.number)
    error.endpoint = this.number
    if (error.kind === 'definite' || error.wholeBatch) return
    if (error.tooOften) this.learn({ callsPerSecond: this.#pace.slower(this.limits.callsPerSecond) })
    if (mayFail) return
    this.#failures += 1
    const pauseMs = error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (this.#failures - 1)
    this.#paused = { atMs: this.#clock(), forMs: Math.min(MAX_PAUSE_MS, pauseMs) }
  }

  /** A batch that is refused as a whole is asked in smaller ones. Only if these are answered was it their size. */
  async #batch<Result>(calls: readonly RpcCall[], mayFail: boolean): Promise<Result[]> {
    const answers: Result[] = []
    let most = this.limits.batchSize
    while (answers.length < calls.length) {
      const size = Math.min(most, this.limits.callsPerSecond ?? most)
      const part = calls.slice(answers.length, answers.length + size)
      try {
        answers.push(...(await this.#watch(part.length, () => this.#inner.batch<Result>(part), mayFail)))
      } catch (error) {
        if (!(error instanceof RpcError) || !error.wholeBatch) throw error
        most = Math.ceil(part.length / 2)
      }
    }
    if (most < this.limits.batchSize) this.learn({ batchSize: most })
    return answers
  }
}
