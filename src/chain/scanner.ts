import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/db.ts'
import { type Clock, systemClock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { startTicker } from '../kernel/ticker.ts'
import { type BlockId, claimChain, findHead, insertChain, type Lease, updateChainReleased } from './chain-queries.ts'
import type { Network } from './networks.ts'
import { type Rpc, RpcError } from './rpc.ts'
import { begin, finish, isFarBehind, LeaseLost, readBlocks, readRange, readView, reconcile, type Scan } from './scan.ts'
import { type Block, ChainDoubt } from './transfer-logs.ts'

export type ScannerOptions = {
  db: Db
  network: Network
  rpc: Rpc
  log: FastifyBaseLogger
  /** Something can be read from the change feed, or the head moved. Called outside any transaction. */
  onChange(): void
  /** Pause between looks at the chain; 0 looks only when `tick` is called. */
  pollMs: number
  clock?: Clock
}

export type Scanner = {
  /** Looks at the chain once. @returns whether anything changed @throws RpcError, AppError */
  tick(): Promise<boolean>
  /** Seconds since a node of ours stood at the chain's newest block. */
  lagSeconds(): number
  /** Ends after the present look, and lets another node take over at once. */
  stop(): Promise<void>
}

const LEASE_MS = 10_000
/** While nothing changes, this often the lease is prolonged and the database told that we stand at the head. */
const RENEW_MS = 3000
const MAX_SPAN = 100_000n
const FIRST_SPAN = 2000n

/** Where one node stands with one chain; what must outlive it is in the database. */
class Reader {
  readonly scan: Scan
  readonly clock: Clock
  stopped = false
  /** When a node of ours last stood at the chain's newest block. */
  atHeadMs: number
  private span = FIRST_SPAN
  private announced = ''
  private claimedMs = 0
  private registered = false

  constructor(scan: Scan, clock: Clock) {
    this.scan = scan
    this.clock = clock
    this.atHeadMs = clock()
  }

  /** Brings the tables to the node's newest block. @returns whether anything changed */
  async look(): Promise<boolean> {
    const { scan, clock } = this
    const view = await readView(scan)
    const news = [view.head.hash, view.safe?.hash, view.finalized?.hash].join()
    if (news === this.announced && clock() - this.claimedMs < RENEW_MS) {
      this.atHeadMs = clock()
      return false
    }
    const lease = await this.claim()
    if (!lease) return false
    const { number, hash } = lease
    const known = number === null || hash === null ? undefined : { number, hash }
    const start = known ?? (await begin(scan, view.head))
    if (!(await this.walk({ top: start, genesisHash: lease.genesisHash }, view.head))) return false
    this.atHeadMs = clock()
    await finish(scan, view)
    const changed = news !== this.announced
    this.announced = news
    return changed
  }

  private async claim(): Promise<Lease | undefined> {
    const { db, network, owner, leaseMs } = this.scan
    if (!this.registered) await insertChain(db, network.chainId)
    this.registered = true
    this.claimedMs = this.clock()
    const lease = await claimChain(db, { chainId: network.chainId, owner, leaseMs })
    if (lease) return lease
    this.announced = ''
    const head = await findHead(db, network.chainId)
    this.atHeadMs = Math.max(this.atHeadMs, head?.scannedAt.getTime() ?? 0)
    return undefined
  }

  /** Back to the common ancestor where needed, then forward. @returns whether the head was reached */
  private async walk(state: { top: BlockId; genesisHash: string | null }, head: Block): Promise<boolean> {
    const { scan } = this
    let { top } = state
    while (!this.stopped && top.hash !== head.hash) {
      const grown = head.number > top.number
      const next = grown
        ? await (isFarBehind(top, head) ? this.catchUp(top, head) : readBlocks(scan, top, head))
        : undefined
      const reached = next ?? (await reconcile(scan, { ...state, top }, head))
      // the node is behind us, or changed its mind meanwhile: look again later
      if (!next && reached.hash === top.hash) return false
      top = reached
    }
    return !this.stopped
  }

  private async catchUp(top: BlockId, head: Block): Promise<BlockId | undefined> {
    try {
      const reached = await readRange(this.scan, top, head, this.span)
      this.span = this.span * 2n > MAX_SPAN ? MAX_SPAN : this.span * 2n
      return reached
    } catch (error) {
      const smaller = error instanceof RpcError && this.span > 1n
      if (smaller) this.span /= 2n
      if (smaller && error.kind === 'definite') return top // the node refused the size: again, smaller
      throw error
    }
  }
}

/**
 * Reads one chain into `chain_transfers`: every transfer to a watched address, gone when its block is gone, back when
 * it is mined again. Of several nodes one reads; when it dies another goes on within seconds. Whatever is doubtful
 * ends the look, and the next one starts from what is stored.
 */
export function startScanner(options: ScannerOptions): Scanner {
  const { db, network, rpc, log, onChange, pollMs, clock = systemClock } = options
  const { chainId } = network
  const scan: Scan = { db, rpc, network, log, owner: newId(), leaseMs: LEASE_MS }
  const reader = new Reader(scan, clock)

  const lookOnce = async (): Promise<boolean> => {
    try {
      const changed = await reader.look()
      if (changed) onChange()
      return changed
    } catch (error) {
      if (!(error instanceof ChainDoubt) && !(error instanceof LeaseLost)) throw error
      log.info({ chainId, reason: error.message }, 'the look at the chain ended early')
      return false
    }
  }

  let last: Promise<unknown> = Promise.resolve()
  const tick = (): Promise<boolean> => {
    const next = last.then(lookOnce)
    last = next.catch(() => {})
    return next
  }
  const work = async (): Promise<undefined> => void (await tick())
  const ticker = pollMs > 0 ? startTicker(`scan chain ${chainId}`, pollMs, log, work) : undefined

  return {
    tick,
    lagSeconds: () => Math.max(0, (clock() - reader.atHeadMs) / 1000),
    stop: async () => {
      reader.stopped = true
      await ticker?.stop()
      await last
      await updateChainReleased(db, chainId, scan.owner).catch((error: Error) =>
        log.warn({ err: error }, 'lease not released'),
      )
    },
  }
}
