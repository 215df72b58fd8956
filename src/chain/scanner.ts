import type { FastifyBaseLogger } from 'fastify'
import { type Clock, systemClock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { newId } from '../ids.ts'
import { startTicker } from '../ticker.ts'
import { type BlockId, claimChain, findHead, insertChain, updateChainReleased } from './chain-queries.ts'
import type { Network } from './networks.ts'
import { type Rpc, RpcError } from './rpc.ts'
import { begin, finish, isFarBehind, LeaseLost, readBlocks, readRange, readView, reconcile, type Scan } from './scan.ts'
import { ChainDoubt } from './transfer-logs.ts'

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

/**
 * Reads one chain into `chain_transfers`: every transfer to a watched address, gone when its block is gone, back when it
 * is mined again. Of several nodes one reads; when it dies another goes on within seconds. Whatever is doubtful ends the
 * look, and the next one starts from what is stored.
 */
export function startScanner(options: ScannerOptions): Scanner {
  const { db, network, rpc, log, onChange, pollMs, clock = systemClock } = options
  const { chainId } = network
  const scan: Scan = { db, rpc, network, log, owner: newId(), leaseMs: LEASE_MS }
  let span = FIRST_SPAN
  let atHeadMs = clock()
  let announced = ''
  let claimedMs = 0
  let registered = false
  let stopped = false

  const register = async (): Promise<void> => {
    if (!registered) await insertChain(db, chainId)
    registered = true
  }

  const catchUp = async (top: BlockId, head: Parameters<typeof readRange>[2]): Promise<BlockId | undefined> => {
    try {
      const reached = await readRange(scan, top, head, span)
      span = span * 2n > MAX_SPAN ? MAX_SPAN : span * 2n
      return reached
    } catch (error) {
      const smaller = error instanceof RpcError && span > 1n
      if (smaller) span /= 2n
      if (smaller && error.kind === 'definite') return top // the node refused the size: again, smaller
      throw error
    }
  }

  const look = async (): Promise<boolean> => {
    await register()
    const view = await readView(scan)
    const news = [view.head.hash, view.safe?.hash, view.finalized?.hash].join()
    if (news === announced && clock() - claimedMs < RENEW_MS) {
      atHeadMs = clock()
      return false
    }
    claimedMs = clock()
    const lease = await claimChain(db, { chainId, owner: scan.owner, leaseMs: LEASE_MS })
    if (!lease) {
      announced = ''
      const head = await findHead(db, chainId)
      atHeadMs = Math.max(atHeadMs, head?.scannedAt.getTime() ?? 0)
      return false
    }
    const { number, hash, genesisHash } = lease
    const known = number === null || hash === null ? undefined : { number, hash }
    let top = known ?? (await begin(scan, view.head))
    while (!stopped && top.hash !== view.head.hash) {
      const grown = view.head.number > top.number
      const read = isFarBehind(top, view.head) ? catchUp : (from: BlockId) => readBlocks(scan, from, view.head)
      const next = grown ? await read(top, view.head) : undefined
      if (next) {
        top = next
        continue
      }
      const ancestor = await reconcile(scan, { top, genesisHash }, view.head)
      if (ancestor.hash === top.hash) return false // the node is behind us, or changed its mind: look again later
      top = ancestor
    }
    if (stopped) return false
    atHeadMs = clock()
    await finish(scan, view)
    const changed = news !== announced
    announced = news
    return changed
  }

  const tickOnce = async (): Promise<boolean> => {
    try {
      const changed = await look()
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
    const next = last.then(tickOnce)
    last = next.catch(() => {})
    return next
  }
  const work = async (): Promise<undefined> => void (await tick())
  const ticker = pollMs > 0 ? startTicker(`scan chain ${chainId}`, pollMs, log, work) : undefined

  return {
    tick,
    lagSeconds: () => Math.max(0, (clock() - atHeadMs) / 1000),
    stop: async () => {
      stopped = true
      await ticker?.stop()
      await last
      await updateChainReleased(db, chainId, scan.owner).catch((error: Error) =>
        log.warn({ err: error }, 'lease not released'),
      )
    },
  }
}
