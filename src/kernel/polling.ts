import type { FastifyBaseLogger } from 'fastify'
import { startTicker, type Ticker } from './ticker.ts'

/** A row that is due. `lane` names the provider account that answers for it. */
export type DueItem = { companyId: string; id: string; lane: string }

/** Where due items are, and how one is claimed. */
export type PollSource = {
  /** For the log: `payments.poll`. */
  name: string
  /** Due and unclaimed items, the longest waiting first, none from full lanes. */
  listDue(fullLanes: readonly string[], limit: number): Promise<DueItem[]>
  /** Claims the item for this node. Undefined: another node was faster. The returned work never throws. */
  claim(item: DueItem): Promise<(() => Promise<void>) | undefined>
}

export type PollLimits = {
  /** Maximum items in progress per provider account, on this node. */
  perLane: number
  /** Maximum in total; a hanging one costs a socket, not a thread. */
  perNode: number
}

const EVERY_MS = 1000
const PAGE = 64

/**
 * Starts everything due, in parallel. A round ends when every due item is in progress or waits for a slot in its lane.
 * It never waits for an answer, so a hanging provider blocks only its own lane.
 */
export function createRound(source: PollSource, { perLane, perNode }: PollLimits, onFree: () => void) {
  const busy = new Map<string, number>()
  const underWay = new Set<Promise<void>>()
  const countIn = (lane: string): number => busy.get(lane) ?? 0

  const leave = (lane: string): void => {
    const left = countIn(lane) - 1
    if (left > 0) busy.set(lane, left)
    else busy.delete(lane)
  }
  /** The slot is taken before the claim, so that a page from one lane does not overfill it. */
  const start = async (item: DueItem): Promise<boolean> => {
    busy.set(item.lane, countIn(item.lane) + 1)
    const work = await source.claim(item).catch((error: unknown) => {
      leave(item.lane)
      throw error
    })
    if (!work) {
      leave(item.lane)
      return false
    }
    const running = work().finally(() => {
      underWay.delete(running)
      leave(item.lane)
      onFree()
    })
    underWay.add(running)
    return true
  }
  const startPage = async (items: readonly DueItem[]): Promise<number> => {
    let started = 0
    for (const item of items) {
      if (countIn(item.lane) >= perLane || underWay.size >= perNode) continue
      if (await start(item)) started += 1
    }
    return started
  }
  return {
    async run(): Promise<number> {
      let total = 0
      while (underWay.size < perNode) {
        const full = [...busy].flatMap(([lane, count]) => (count >= perLane ? [lane] : []))
        const started = await startPage(await source.listDue(full, PAGE))
        total += started
        if (started === 0) break
      }
      return total
    },
    /** Resolves when everything that was started has ended. */
    idle: async (): Promise<void> => void (await Promise.all(underWay)),
  }
}

/** Polls a source until stopped: every second, at once after `wake`, and whenever a slot becomes free. */
export function startPolling(source: PollSource, limits: PollLimits, log: FastifyBaseLogger): Ticker {
  let wake = (): void => {}
  const round = createRound(source, limits, () => wake())
  const ticker = startTicker(source.name, EVERY_MS, log, async () => {
    await round.run()
    return false
  })
  wake = () => ticker.wake()
  return {
    wake: () => ticker.wake(),
    async stop() {
      wake = () => {}
      await ticker.stop()
      await round.idle()
    },
  }
}
