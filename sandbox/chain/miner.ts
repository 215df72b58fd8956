import type { RpcCall } from './rpc.ts'

export type Miner = {
  /** Resolves when another block exists and, if it contains transactions, is on disk. */
  nextBlock(): Promise<void>
  /** Mines waiting transactions, saves, and stops. */
  stop(): Promise<void>
}

type MinerOptions = { call: RpcCall; blockTimeMs: number; persist: () => Promise<void>; log: (message: string) => void }

/**
 * After this long without a transaction, blocks come every IDLE_BLOCK_MS; otherwise an idle sandbox would add 86,400
 * blocks a day.
 */
const IDLE_AFTER_MS = 30 * 60_000
const IDLE_BLOCK_MS = 30_000
const SAVE_EMPTY_EVERY_MS = 15_000

/**
 * Mines one block per `blockTimeMs`. A block with transactions is saved before the next one is mined, so whatever has
 * two confirmations survives a killed process; a killed process may lose the last block and the waiting transactions.
 */
export function startMiner({ call, blockTimeMs, persist, log }: MinerOptions): Miner {
  let waiters: (() => void)[] = []
  let activeAt = Date.now()
  let minedAt = 0
  let savedAt = Date.now()
  let saveTookMs = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  const save = async () => {
    const startedAt = Date.now()
    await persist()
    savedAt = Date.now()
    saveTookMs = savedAt - startedAt
  }

  const mine = async () => {
    const pool = await call<{ pending: string }>('txpool_status')
    const waiting = BigInt(pool.pending) > 0n
    const now = Date.now()
    if (waiting) activeAt = now
    else if (!stopped && now - activeAt > IDLE_AFTER_MS && now - minedAt < IDLE_BLOCK_MS) return
    minedAt = now
    await call('evm_mine')
    // counted in the block instead of the pool before it, because a transaction may have arrived in between
    const filled = BigInt(await call<string>('eth_getBlockTransactionCountByNumber', 'latest')) > 0n
    if (filled || stopped || now - savedAt > Math.max(SAVE_EMPTY_EVERY_MS, 50 * saveTookMs)) await save()
    const woken = waiters
    waiters = []
    for (const wake of woken) wake()
  }

  const tick = () => {
    const startedAt = Date.now()
    running = mine()
      .catch((error: Error) => log(`chain: no block was mined: ${error.message}`))
      .finally(() => {
        if (!stopped) timer = setTimeout(tick, Math.max(0, blockTimeMs - (Date.now() - startedAt)))
      })
  }
  timer = setTimeout(tick, blockTimeMs)

  return {
    nextBlock: () => new Promise((resolve) => waiters.push(resolve)),
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
      clearTimeout(timer)
      await mine().catch((error: Error) => log(`chain: the state was not saved: ${error.message}`))
    },
  }
}
