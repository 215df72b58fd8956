import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { type Clock, isYounger, SECOND } from '../../kernel/clock.ts'
import type { Network } from '../networks.ts'
import { blockCall, type RpcBlock } from '../transfer-logs.ts'
import { compareHeads, type HeadTime } from './compare-heads.ts'
import { type Endpoint, ForeignChain } from './endpoint.ts'
import type { Endpoints } from './endpoints.ts'
import { RpcError } from './rpc.ts'

/** How often the newest blocks are compared. */
const COMPARE_MS = 3 * SECOND
/** Reading waits this long for the comparison; who answers later is compared when it does. */
const PATIENCE_MS = SECOND
/** It does not tell its newest block: while another does, it is behind until it is asked again. */
const NO_HEAD = Number.NEGATIVE_INFINITY

const EARLY_WORDS = 'the endpoint shows a block from the future, and no other one does; it is not used'
const AHEAD_ALONE_WORDS =
  'the only endpoint that answers shows a block from the future, or the clock here is slow; no payment is read from it'

type Watched = {
  endpoints: Pick<Endpoints, 'all'>
  network: Network
  log: FastifyBaseLogger
  clock: Clock
  onForeign(endpoint: Endpoint, words: string): void
}

/** Finds endpoints that are behind, or whose blocks are from the future: beside the reading, so that none delays it. */
export class HeadWatch {
  readonly #watched: Watched
  #comparedMs = Number.NEGATIVE_INFINITY
  #isComparing = false

  constructor(watched: Watched) {
    this.#watched = watched
  }

  async compare(): Promise<void> {
    const { endpoints, clock } = this.#watched
    const { all } = endpoints
    if (all.length < 2 || this.#isComparing || isYounger(this.#comparedMs, COMPARE_MS, clock())) return
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
    const { network, log, clock } = this.#watched
    const alarm = (words: string) => (one: Endpoint) =>
      log.error({ chainId: network.chainId, endpoint: one.number }, `ALARM: ${words}`)
    const { early, aheadAlone } = compareHeads(heads, clock())
    early.forEach(alarm(EARLY_WORDS))
    aheadAlone.forEach(alarm(AHEAD_ALONE_WORDS))
  }

  /** When its newest block was mined; null: it is not asked. */
  async #askHead(endpoint: Endpoint): Promise<number | null> {
    const fault = endpoint.fault()
    if (fault !== null && fault !== 'behind' && fault !== 'unproven' && !endpoint.early) return null
    try {
      await endpoint.verify(this.#watched.network)
      const { method, params } = blockCall('latest')
      const head = await endpoint.rpc.call<RpcBlock>(method, ...params)
      return Number(BigInt(head.timestamp)) * 1000
    } catch (error) {
      if (error instanceof RpcError) return NO_HEAD
      if (!(error instanceof ForeignChain)) throw error
      this.#watched.onForeign(endpoint, error.message)
      return null
    }
  }
}
