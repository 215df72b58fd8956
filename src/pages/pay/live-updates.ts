import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../../db/db.ts'
import { askForAll } from '../../db/shares.ts'
import { SECOND } from '../../kernel/clock.ts'
import { startTicker, type Ticker } from '../../kernel/ticker.ts'
import { listOrderMarks } from '../shared/payer-page-queries.ts'

/**
 * Called with true when the order changed, and with false at every poll, for data outside the order (confirmations).
 */
export type FeedListener = (changed: boolean) => void

/**
 * Notifies viewers when their order changed: at once if this node changed it, within two seconds if another did. One
 * query covers all watched orders; without viewers there is none.
 */
export type OrderFeed = {
  /** The order with this code changed on this node (`OrderSignals.onChange`). */
  changed(code: string): void
  /** A company's channel accounts or rules changed on this node. */
  channelsChanged(companyId: string): void
  onChannels(listener: (companyId: string) => void): void
  /** Before the listeners of the orders at each poll. */
  onPoll(listener: () => void): void
  /** @returns ends the subscription */
  subscribe(code: string, listener: FeedListener): () => void
  stop(): Promise<void>
}

export const POLL_MS = 2 * SECOND

type Watched = { mark: string | undefined; listeners: Set<FeedListener> }

export function openOrderFeed({ db, log }: { db: Db; log: FastifyBaseLogger }): OrderFeed {
  const watched = new Map<string, Watched>()
  const channelListeners: ((companyId: string) => void)[] = []
  const pollListeners: (() => void)[] = []
  let ticker: Ticker | undefined
  const poll = async (): Promise<undefined> => {
    const codes = [...watched.keys()]
    const marks = new Map((await listOrderMarks(db, codes)).map(({ code, mark }) => [code, mark]))
    for (const listener of pollListeners) listener()
    for (const code of codes) {
      const entry = watched.get(code)
      if (!entry) continue
      const changed = entry.mark !== marks.get(code)
      entry.mark = marks.get(code)
      for (const listener of entry.listeners) listener(changed)
    }
  }
  const rest = (): void => {
    if (watched.size > 0) return
    void ticker?.stop()
    ticker = undefined
  }
  return {
    changed(code) {
      for (const listener of watched.get(code)?.listeners ?? []) listener(true)
    },
    channelsChanged(companyId) {
      for (const listener of channelListeners) listener(companyId)
    },
    onChannels: (listener) => void channelListeners.push(listener),
    onPoll: (listener) => void pollListeners.push(listener),
    subscribe(code, tell) {
      // what it reads counts for its viewer, whoever changed the order
      const listener = AsyncLocalStorage.bind(tell)
      const entry = watched.get(code) ?? { mark: undefined, listeners: new Set() }
      watched.set(code, entry)
      entry.listeners.add(listener)
      // in the share of the first viewer, all pages would wait behind that one's requests
      ticker ??= askForAll(() => startTicker('order feed', POLL_MS, log, poll))
      return () => {
        entry.listeners.delete(listener)
        if (entry.listeners.size === 0 && watched.get(code) === entry) watched.delete(code)
        rest()
      }
    },
    async stop() {
      watched.clear()
      await ticker?.stop()
    },
  }
}
