import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/db.ts'
import { type Clock, isYounger, systemClock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { startTicker } from '../kernel/ticker.ts'
import {
  type BlockId,
  type ChainTrouble,
  claimChain,
  type Lease,
  listStandings,
  lockChain,
  updateChainReleased,
  updateTrouble,
  upsertChainTried,
} from './chain-queries.ts'
import { type Endpoint, ForeignChain } from './endpoints/endpoint.ts'
import type { Endpoints } from './endpoints/endpoints.ts'
import { NetworkMismatch, prove } from './endpoints/network-check.ts'
import { RpcError } from './endpoints/rpc.ts'
import { isTopGone, reconcile } from './go-back.ts'
import { adviceOn, isAlarming, isDoubt, isOdd, isWaiting, LONG_MS, longAlarm } from './hearing/doubts.ts'
import { HeadWatch } from './hearing/head-watch.ts'
import { Disagreement, Outvoted } from './hearing/vote.ts'
import { LogCost } from './log-cost.ts'
import type { Network } from './networks.ts'
import {
  begin,
  catchUp,
  checkIdentity,
  finish,
  isFarBehind,
  LeaseLost,
  newsOf,
  readBlocks,
  readView,
  type Scan,
  type Top,
  type View,
} from './scan.ts'
import { type Block, ChainDoubt, LackingTip } from './transfer-logs.ts'

export type ScannerOptions = {
  db: Db
  network: Network
  endpoints: Endpoints
  log: FastifyBaseLogger
  /** The change feed has news, or the head moved. Called outside any transaction. */
  onChange(): void
  /** Pause between two scans; 0 scans only when `tick` is called. */
  pollMs: number
  /** In USDC units: smaller transfers are announced when they are found, orphaned or final, not at each block. */
  dustUnits?: bigint
  clock?: Clock
  /** How long a node may read without renewing its lease before another one takes over; default 10 s. */
  leaseMs?: number
}

export type Scanner = {
  /** Scans once. @returns whether anything changed @throws RpcError, AppError */
  tick(): Promise<boolean>
  /** Scans now instead of at the end of the pause. */
  wake(): void
  /** Finishes the current scan and lets another node take over at once. */
  stop(): Promise<void>
}

const LEASE_MS = 10_000
/** How often an idle scanner renews its lease and records that it is at the head. */
const RENEW_MS = 3000
/** Endpoints disagree briefly at every reorganisation; a longer disagreement raises an alarm. */
const DISAGREED_MS = 5000
/** Longer than an endpoint lags before it counts as behind: a doubt without progress does not pass by itself. */
const DOUBTED_MS = 30_000

type Base = Pick<Scan, 'db' | 'network' | 'log' | 'owner' | 'leaseMs' | 'endpoints' | 'cost' | 'dustUnits'>

/** In-memory state of one scanner; everything that must outlive it is in the database. */
class Reader {
  readonly base: Base
  readonly clock: Clock
  stopped = false
  /** Where this look has come to; null while that is where it began. */
  reached: BlockId | null = null
  private announced = ''
  private claimedMs = Number.NEGATIVE_INFINITY
  private registered = false
  private genesisHash: string | null = null
  /** As recorded at the last claim of the lease; null without it. */
  private trouble: ChainTrouble | null = null
  /** Since when endpoints contradict each other, and about which block, if that is known. */
  private disagreed: { sinceMs: number; at: bigint | null } | null = null
  /** Since when looks have ended in doubt and nothing was read. */
  private doubtedMs: number | null = null
  private isLongTold = false
  /** Since when every look has found the chain to end below our top. */
  private shorterMs: number | null = null
  /** Endpoints whose answers did not fit together while another one read on, and since when without a break. */
  private oddMs: ReadonlyMap<Endpoint, number> = new Map()
  private readonly heads: HeadWatch
  private readonly looks = new Map<Endpoint, Promise<unknown>>()
  private readonly lookedMs = new Map<Endpoint, number>()

  constructor(base: Base, clock: Clock) {
    this.base = base
    this.clock = clock
    this.heads = new HeadWatch({ ...base, clock, onForeign: (one, words) => this.noteForeign(one, words) })
  }

  /** Scans through the first trusted endpoint; if that proves wrong, or does not fit together, the next takes over. */
  async look(): Promise<boolean> {
    this.reached = null
    await this.register()
    let last: unknown = await this.lookAtSuspects()
    await this.heads.compare()
    const odd = new Map<Endpoint, Error>()
    for (const endpoint of this.base.endpoints.candidates()) {
      try {
        const changed = await this.lookThrough(endpoint)
        this.setAside(odd)
        return changed
      } catch (error) {
        if (error instanceof ForeignChain) this.noteForeign(endpoint, error.message)
        else if (!(error instanceof LeaseLost) && isOdd(error)) odd.set(endpoint, error)
        else if (!(error instanceof Outvoted) && !(error instanceof RpcError)) throw error
        last = error
      }
    }
    this.shorterMs = null
    const areForeign = this.base.endpoints.all.every((endpoint) => endpoint.fault() === 'foreign')
    if (areForeign) await this.note('foreign')
    const [doubt = last] = odd.values()
    if (doubt instanceof Error && !(doubt instanceof ForeignChain)) throw doubt
    if (!areForeign) throw new ChainDoubt('each endpoint is contradicted, foreign or unproven: none is read')
    return false
  }

  /** Another endpoint reads on where these do not. For a moment they may have changed chains; then they are wrong. */
  private setAside(doubted: ReadonlyMap<Endpoint, Error>): void {
    const now = this.clock()
    const odd = new Map([...doubted].filter(([, doubt]) => !(doubt instanceof LackingTip)))
    this.oddMs = new Map([...odd.keys()].map((one) => [one, Math.min(this.oddMs.get(one) ?? now, now)]))
    for (const [endpoint, { message }] of odd) {
      if (now - (this.oddMs.get(endpoint) ?? now) >= DISAGREED_MS)
        this.exclude(endpoint, 'outvoted', `the endpoint is set aside, and another one is read: ${message}`)
    }
  }

  private async register(): Promise<void> {
    if (this.registered) return
    const { db, network, endpoints } = this.base
    await upsertChainTried(db, network.chainId)
    const lease = await this.claim()
    this.claimedMs = Number.NEGATIVE_INFINITY
    // after a scanner was stopped for a foreign chain, a restarted one also needs a minute of right answers
    if (lease?.trouble === 'foreign') for (const endpoint of endpoints.all) endpoint.noteWrong('foreign')
    this.registered = true
  }

  /**
   * Finds endpoints that serve the right chain again, or prove their token. Waits for them only where no other can be
   * used, so that one that hangs delays nothing. @returns why one that was waited for is still not used, if it says so
   */
  private async lookAtSuspects(): Promise<unknown> {
    const { all, usable } = this.base.endpoints
    const others = usable().length > 0
    for (const endpoint of all) if (this.isSuspect(endpoint, others)) this.beginLook(endpoint)
    if (others) return undefined
    return (await Promise.all(this.looks.values())).find((error) => error instanceof RpcError)
  }

  private isSuspect(endpoint: Endpoint, others: boolean): boolean {
    const fault = endpoint.fault()
    const lookedMs = this.lookedMs.get(endpoint) ?? Number.NEGATIVE_INFINITY
    return fault === 'foreign' || (fault === 'unproven' && !(others && isYounger(lookedMs, RENEW_MS, this.clock())))
  }

  /** One look at a time for each endpoint. */
  private beginLook(endpoint: Endpoint): void {
    if (this.looks.has(endpoint)) return
    this.lookedMs.set(endpoint, this.clock())
    const look = this.lookAt(endpoint).finally(() => this.looks.delete(endpoint))
    this.looks.set(endpoint, look)
  }

  /** @returns why it tells nothing */
  private async lookAt(endpoint: Endpoint): Promise<unknown> {
    const { network, log } = this.base
    try {
      await prove(endpoint, network)
      await checkIdentity(network, endpoint, this.genesisHash)
      return undefined
    } catch (error) {
      if (error instanceof ForeignChain || error instanceof NetworkMismatch) this.noteForeign(endpoint, error.message)
      else if (!(error instanceof RpcError))
        log.error({ err: error, chainId: network.chainId }, 'an endpoint was not checked')
      return error
    }
  }

  private noteForeign(endpoint: Endpoint, words: string): void {
    this.exclude(endpoint, 'foreign', `${words.replace(/\.$/, '')}; its answers are ignored`)
  }

  private exclude(endpoint: Endpoint, fault: 'foreign' | 'outvoted', words: string): void {
    const { log, network } = this.base
    const alarm = { chainId: network.chainId, endpoint: endpoint.number }
    if (endpoint.noteWrong(fault)) log.error(alarm, `ALARM: ${words}`)
  }

  /** Logs once when reading stops and once when it resumes, even if it was another node that had stopped. */
  private async note(trouble: ChainTrouble | null, doubt?: Error): Promise<void> {
    const { db, network, owner, log, leaseMs } = this.base
    // after twice the lease, another node may have taken over and written something else
    const isKnown = isYounger(this.claimedMs, 2 * leaseMs, this.clock())
    if (trouble === this.trouble && isKnown) return
    const { chainId } = network
    const lease = await this.claim()
    if (!lease || lease.trouble === trouble) return
    await updateTrouble(db, { chainId, owner, trouble })
    this.trouble = trouble
    if (trouble === null) log.info({ chainId }, 'the chain is read again')
    else {
      const why = doubt ? ` on: ${doubt.message}${adviceOn(doubt, chainId)}` : '; recorded transfers are kept'
      const isAlarm = isAlarming(doubt)
      log[isAlarm ? 'error' : 'warn']({ chainId, trouble }, `${isAlarm ? 'ALARM: ' : ''}the chain is not read${why}`)
    }
  }

  /** Brings the tables up to the node's newest block. @returns whether anything changed */
  private async lookThrough(endpoint: Endpoint): Promise<boolean> {
    const { base, clock } = this
    const scan: Scan = {
      ...base,
      endpoint,
      rpc: endpoint.rpc,
      heads: this.heads,
      onOutvoted: (one, words) => this.exclude(one, 'outvoted', `the endpoint is contradicted about ${words}`),
    }
    const view = await readView(scan)
    if (newsOf(view) === this.announced && isYounger(this.claimedMs, RENEW_MS, clock())) {
      this.forgetHalt()
      return false
    }
    await checkIdentity(base.network, endpoint, this.genesisHash)
    const lease = await this.claim()
    return lease !== undefined && this.holding(() => this.readFrom(scan, view, lease))
  }

  /**
   * Renews the lease while `work` runs, because reading may outlast it: without renewals, nodes would keep taking a
   * slow chain from each other.
   */
  private async holding<Result>(work: () => Promise<Result>): Promise<Result> {
    const { db, network, owner, leaseMs } = this.base
    const renew = (): unknown => lockChain(db, { chainId: network.chainId, owner, leaseMs }).catch(() => {})
    const timer = setInterval(renew, leaseMs / 3)
    try {
      return await work()
    } finally {
      clearInterval(timer)
    }
  }

  /** @returns whether anything changed */
  private async readFrom(scan: Scan, view: View, { number, hash, blockAt }: Lease): Promise<boolean> {
    const known = number === null || hash === null ? undefined : { number, hash, at: blockAt }
    const start = known ?? (await begin(scan, view.head))
    const isAtHead = await this.walk(scan, start, view.head).catch(async (error: unknown) => {
      // one that lags holds up the blocks that it lacks, and not that earlier ones become final
      if (isWaiting(error)) await finish(scan, view, this.reached ?? start)
      throw error
    })
    if (!isAtHead) return false
    await finish(scan, view, this.reached ?? start)
    this.forgetDoubts()
    await this.note(null)
    const news = newsOf(view)
    const changed = news !== this.announced
    this.announced = news
    return changed
  }

  /** One that fails is none, whichever node is asked next. @returns undefined while another node reads this chain */
  private async claim(): Promise<Lease | undefined> {
    const { db, network, owner, leaseMs } = this.base
    const [nowMs, lease] = [this.clock(), await claimChain(db, { chainId: network.chainId, owner, leaseMs })]
    this.claimedMs = nowMs
    if (!lease) {
      this.announced = ''
      this.forgetDoubts()
    }
    const standing = lease ?? (await listStandings(db, [network.chainId]))[0]
    this.genesisHash = standing?.genesisHash ?? null
    this.trouble = lease?.trouble ?? null
    return lease
  }

  /** Goes back to the common ancestor if needed, then forward. @returns whether the head was reached */
  private async walk(scan: Scan, start: Top, head: Block): Promise<boolean> {
    let top = start
    if (head.number >= start.number) this.shorterMs = null
    while (!this.stopped && top.hash !== head.hash) {
      const grown = head.number > top.number
      const next = grown
        ? await (isFarBehind(top, head) ? catchUp(scan, top, head) : readBlocks(scan, top, head))
        : undefined
      if (next && next.hash !== top.hash) await this.noteProgress(next)
      top = next ?? (await this.goBack(scan, top, head))
      this.reached = top.hash === start.hash ? null : top
    }
    return !this.stopped
  }

  private async goBack(scan: Scan, top: BlockId, head: Block): Promise<Block> {
    const now = this.clock()
    this.shorterMs = head.number < top.number ? Math.min(this.shorterMs ?? now, now) : null
    const lasts = this.shorterMs !== null && now - this.shorterMs >= DOUBTED_MS
    const isShortened = lasts && (await isTopGone(scan, top, now))
    return reconcile(scan, { top, genesisHash: this.genesisHash, isShortened }, head)
  }

  /** A doubt holds until the chain is read on past it; that its head is not reached yet is none. */
  private async noteProgress({ number }: BlockId): Promise<void> {
    this.forgetHalt()
    if (this.disagreed?.at != null && number < this.disagreed.at) return
    this.forgetDoubts()
    if (this.trouble === 'doubt' || this.trouble === 'disagreement') await this.note(null)
  }

  /** Records a doubt, a refusal or a failure that only another scan, or a person, can settle. */
  async noteDoubt(doubt: Error): Promise<void> {
    const now = this.clock()
    this.doubtedMs = Math.min(this.doubtedMs ?? now, now)
    if (doubt instanceof Disagreement) {
      this.disagreed = { sinceMs: Math.min(this.disagreed?.sinceMs ?? now, now), at: doubt.at }
      if (now - this.disagreed.sinceMs >= DISAGREED_MS) await this.note('disagreement', doubt)
    } else if (this.trouble === null && now - this.doubtedMs >= DOUBTED_MS) await this.note('doubt', doubt)
    if (this.isLongTold || now - this.doubtedMs < LONG_MS) return
    this.isLongTold = true
    this.base.log.error(...longAlarm(doubt, this.base.network))
  }

  private forgetDoubts(): void {
    this.disagreed = null
    this.forgetHalt()
  }

  private forgetHalt(): void {
    this.doubtedMs = null
    this.isLongTold = false
    this.shorterMs = null
  }
}

/**
 * Records every transfer to a watched address in `chain_transfers`: orphaned with its block, restored when it is mined
 * again. One of several nodes scans; if it dies, another takes over within seconds. Any doubt ends the scan, and the
 * next one starts from what is stored.
 */
export function startScanner(options: ScannerOptions): Scanner {
  const { db, network, endpoints, log, onChange, pollMs, clock = systemClock } = options
  const { chainId } = network
  const { dustUnits = 0n, leaseMs = LEASE_MS } = options
  const own = { owner: newId(), leaseMs, cost: new LogCost(), dustUnits }
  const reader = new Reader({ db, endpoints, network, log, ...own }, clock)

  const lookOnce = async (): Promise<boolean> => {
    try {
      const changed = await reader.look()
      if (changed) onChange()
      return changed
    } catch (error) {
      await upsertChainTried(db, chainId).catch(() => {})
      if (!(error instanceof LeaseLost) && isDoubt(error)) await reader.noteDoubt(error)
      if (!(error instanceof ChainDoubt) && !(error instanceof LeaseLost)) throw error
      log.info({ chainId, reason: error.message }, 'the scan ended early')
      if (reader.reached) onChange()
      return reader.reached !== null
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
    wake: () => ticker?.wake(),
    stop: async () => {
      reader.stopped = true
      await ticker?.stop()
      await last
      await updateChainReleased(db, chainId, reader.base.owner).catch((error: Error) =>
        log.warn({ err: error }, 'lease not released'),
      )
    },
  }
}
