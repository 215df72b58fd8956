import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { type Clock, isYounger, MINUTE, SECOND } from '../../kernel/clock.ts'
import { type Endpoint, ForeignChain } from '../endpoints/endpoint.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'
import { tagsOf } from '../endpoints/network-check.ts'
import { RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { type Block, blockCall, type RpcBlock, toBlock } from '../transfer-logs.ts'
import { compareHeads, type HeadTime } from './compare-heads.ts'
import { standingOf } from './standing.ts'

/** How often the newest blocks are compared. */
const COMPARE_MS = 3 * SECOND
/** Reading waits this long for the comparison; who answers later is compared when it does. */
const PATIENCE_MS = SECOND
/** It does not tell its newest block: while another does, it is behind until it is asked again. */
const NO_HEAD = Number.NEGATIVE_INFINITY
/** What an endpoint said counts so long after it fell silent. */
const REMEMBERED_MS = MINUTE
/** An endpoint whose newest or finalized block is so much older than another's, for a minute, stands still. */
const STILL_MS = 10 * MINUTE
const STILL_LASTS_MS = MINUTE

const EARLY_WORDS = 'the endpoint shows a block from the future, and no other one does; it is not used'
const AHEAD_ALONE_WORDS =
  'the only endpoint that answers shows a block from the future, or the clock here is slow; nothing is read from it'

export type Tag = 'safe' | 'finalized'
type Tagged = Readonly<Record<Tag, Block | null>>
type View = Tagged & { head: Block; atMs: number }

type Watched = {
  endpoints: Pick<Endpoints, 'all'>
  network: Network
  log: FastifyBaseLogger
  clock: Clock
  onForeign(endpoint: Endpoint, words: string): void
}

/**
 * Knows the newest blocks of all endpoints, and those that they call safe and finalized. Finds those that are behind,
 * stand still, or whose blocks are from the future: beside the reading, so that none delays it.
 */
export class HeadWatch {
  readonly #watched: Watched
  readonly #views = new Map<Endpoint, View>()
  /** Endpoints that were asked since the start; what the others say is not known yet. */
  readonly #asked = new Set<Endpoint>()
  /** Since when an endpoint stands still while another one moves, and whether that was said. */
  readonly #still = new Map<Endpoint, { sinceMs: number; isSaid: boolean }>()
  #comparedMs = Number.NEGATIVE_INFINITY
  #isComparing = false
  #tagsSeen = ''

  constructor(watched: Watched) {
    this.#watched = watched
  }

  async compare(): Promise<void> {
    if (!isYounger(this.#comparedMs, COMPARE_MS, this.#watched.clock())) await this.#compareNow()
  }

  /** Asks the others now if one names a block as safe or finalized that it did not name before. */
  async refreshTags(endpoint: Endpoint, { safe, finalized }: Tagged): Promise<void> {
    const seen = `${endpoint.number}: ${safe?.hash} ${finalized?.hash}`
    if (seen === this.#tagsSeen) return
    this.#tagsSeen = seen
    if (safe || finalized) await this.#compareNow()
  }

  /** The highest block that an endpoint other than this one has; null if none is known. */
  highestBeside(endpoint: Endpoint): bigint | null {
    const numbers = this.#othersOf(endpoint).map(({ head }) => head.number)
    return numbers.reduce<bigint | null>((most, one) => (most === null || one > most ? one : most), null)
  }

  /**
   * The highest block that two endpoints have come to name so, of two the lower one. Who names none has no voice about
   * it; a single voice stands. Before the others were asked, none does.
   * @param isOurs whether a block is the one that was read at its height: else its word does not count
   */
  async agreedTag(
    endpoint: Endpoint,
    { tag, own, isOurs }: { tag: Tag; own: Block | null; isOurs(block: Block): Promise<boolean> },
  ): Promise<bigint | null> {
    const { all } = this.#watched.endpoints
    if (all.some((one) => one !== endpoint && standingOf(one) === 'current' && !this.#asked.has(one))) return null
    const named = [own, ...this.#othersOf(endpoint).map((view) => view[tag])].filter((block) => block !== null)
    const numbers: bigint[] = []
    for (const block of named) if (await isOurs(block)) numbers.push(block.number)
    const [first = null, second = null] = numbers.toSorted((left, right) => (left > right ? -1 : 1))
    return named.length === 1 ? first : second
  }

  #othersOf(endpoint: Endpoint): View[] {
    return this.#watched.endpoints.all.flatMap((one) => (one === endpoint ? [] : (this.#viewOf(one) ?? [])))
  }

  /** What it said, if that still counts. */
  #viewOf(endpoint: Endpoint): View | undefined {
    const view = this.#views.get(endpoint)
    const isHeard = ['current', 'paused'].includes(standingOf(endpoint))
    return view && isHeard && isYounger(view.atMs, REMEMBERED_MS, this.#watched.clock()) ? view : undefined
  }

  async #compareNow(): Promise<void> {
    const { endpoints, clock } = this.#watched
    const { all } = endpoints
    if (all.length < 2 || this.#isComparing) return
    this.#comparedMs = clock()
    this.#isComparing = true
    const heads: HeadTime[] = all.map((endpoint) => ({ endpoint, at: null }))
    const whole = this.#askAll(heads).finally(() => {
      this.#isComparing = false
    })
    await Promise.race([whole, sleep(PATIENCE_MS, undefined, { ref: false })])
    if (this.#isComparing) this.#judge(heads)
  }

  /** Never throws: it may end long after it was waited for. */
  async #askAll(heads: HeadTime[]): Promise<void> {
    const { network, log } = this.#watched
    try {
      await Promise.all(
        heads.map(async (head) => {
          head.at = await this.#askHead(head.endpoint)
        }),
      )
      this.#judge(heads)
    } catch (error) {
      log.error({ err: error, chainId: network.chainId }, 'the newest blocks were not compared')
    }
  }

  #judge(heads: readonly HeadTime[]): void {
    const { clock } = this.#watched
    const { early, aheadAlone } = compareHeads(heads, clock())
    for (const one of early) this.#alarm(one, EARLY_WORDS)
    for (const one of aheadAlone) this.#alarm(one, AHEAD_ALONE_WORDS)
    for (const { endpoint } of heads) this.#judgeStill(endpoint)
  }

  #alarm({ number }: Endpoint, words: string): void {
    this.#watched.log.error({ chainId: this.#watched.network.chainId, endpoint: number }, `ALARM: ${words}`)
  }

  /** Either it stands still, or the other one names what is not there: the operator hears of both. */
  #judgeStill(endpoint: Endpoint): void {
    const now = this.#watched.clock()
    const view = this.#viewOf(endpoint)
    const words = view ? this.#findStill(endpoint, view) : null
    const known = this.#still.get(endpoint)
    if (words === null) this.#still.delete(endpoint)
    else if (!known) this.#still.set(endpoint, { sinceMs: now, isSaid: false })
    else if (!known.isSaid && now - known.sinceMs >= STILL_LASTS_MS) {
      known.isSaid = true
      this.#alarm(endpoint, words)
    }
  }

  #findStill(endpoint: Endpoint, mine: View): string | null {
    for (const other of this.#watched.endpoints.all) {
      const view = this.#viewOf(other)
      if (!view || other === endpoint || other.early) continue
      for (const what of ['head', 'safe', 'finalized'] as const) {
        const [own, its] = [mine[what], view[what]]
        if (own && its && its.at.getTime() - own.at.getTime() > STILL_MS)
          return (
            `endpoint ${endpoint.number} names block ${own.number} as its ${what === 'head' ? 'newest' : what} one, ` +
            `endpoint ${other.number} block ${its.number}: one stands still, or the other is wrong`
          )
      }
    }
    return null
  }

  /** When its newest block was mined; null: it is not asked. */
  async #askHead(endpoint: Endpoint): Promise<number | null> {
    const { network, clock } = this.#watched
    if (endpoint.foreign || endpoint.paused) {
      this.#asked.add(endpoint)
      return null
    }
    try {
      await endpoint.verify(network)
      const tags = tagsOf(network)
      const calls = [blockCall('latest'), ...tags.map(blockCall)]
      const [newest, ...tagged] = await endpoint.rpc.batch<RpcBlock | null>(calls)
      if (!newest) return NO_HEAD
      const pick = (tag: Tag): Block | null => {
        const block = tagged[tags.indexOf(tag)]
        return block ? toBlock(block) : null
      }
      const head = toBlock(newest)
      this.#views.set(endpoint, { head, safe: pick('safe'), finalized: pick('finalized'), atMs: clock() })
      return head.at.getTime()
    } catch (error) {
      if (error instanceof RpcError) return NO_HEAD
      if (!(error instanceof ForeignChain)) throw error
      this.#watched.onForeign(endpoint, error.message)
      return null
    } finally {
      this.#asked.add(endpoint)
    }
  }
}
