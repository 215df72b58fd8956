import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Lang } from '../../kernel/lang.ts'
import { isOpen } from '../../orders/order-states.ts'
import type { OrderFeed } from './live-updates.ts'
import type { PayView } from './pay-service.ts'

/** One open page. */
export type Viewer = {
  language: Lang
  /** The event id of what it already shows. */
  lastId: string | null
  send(chunk: string): void
  end(): void
}

export type PayStreams = {
  /** Sends the order's current state and every change. @returns ends the subscription */
  open(code: string, viewer: Viewer): () => void
  /** How many pages are connected. */
  count(): number
  stop(): void
}

export type PayStreamDeps = {
  feed: OrderFeed
  log: FastifyBaseLogger
  clock: Clock
  load(code: string): Promise<PayView>
  render(view: PayView, language: Lang): string
}

const HEARTBEAT_MS = 15_000
/** Number of feed polls between two checks of which channels and accounts are available. */
const CHOICE_POLLS = 8

/** Server-sent event (HTML standard, section 9.2): each line of the data with its own field name. */
const eventOf = (id: string, html: string): string =>
  `id: ${id}\nevent: state\ndata: ${html.replace(/\r\n|\r|\n/g, '\ndata: ')}\n\n`

/** A page that gets none for 40 seconds reconnects; the time corrects the page's clock. */
const beatAt = (nowMs: number): string => `event: beat\ndata: ${nowMs}\n\n`

/** All viewers of one order. */
class Room {
  readonly viewers = new Set<Viewer>()
  readonly #code: string
  readonly #deps: PayStreamDeps
  readonly leave: () => void
  /** One rendering for all viewers with the same language. */
  readonly #rendered = new Map<Lang, string>()
  #view: PayView | undefined
  #loading = false
  #again = false
  /** The last load failed: it is retried at the next poll. */
  #stale = false
  #polls = 0

  constructor(code: string, deps: PayStreamDeps) {
    this.#code = code
    this.#deps = deps
    this.leave = deps.feed.subscribe(code, (changed) => {
      this.#polls += 1
      if (changed || this.#stale || this.#isMoving()) this.refresh()
    })
  }

  /** Changes on the page without a change of the order: confirmations, a silent provider, expiry, channels. */
  #isMoving(): boolean {
    if (!this.#view) return false
    const { situation, status, payment, final, open, expiresAt } = this.#view
    if (situation === 'preparing' || (payment?.progress != null && !final)) return true
    if (open && expiresAt.getTime() <= this.#deps.clock()) return true
    // an open order whose page offers nothing waits for a channel; an account may be removed or replaced elsewhere
    const isLasting = payment?.channel === 'crypto' && !payment.ownAccount
    const dependsOnChannels = situation === 'choose' || (isOpen(status) && (!open || !isLasting))
    return dependsOnChannels && this.#polls % CHOICE_POLLS === 0
  }

  isOf(companyId: string): boolean {
    return this.#view?.companyId === companyId
  }

  /** For a change by somebody else: what it reads counts for the viewer who opened this. */
  readonly refreshAsViewer = AsyncLocalStorage.bind(() => this.refresh())

  /** Loads the order once for all viewers; a change during the load triggers one more. */
  refresh(): void {
    this.#again = true
    if (this.#loading) return
    this.#loading = true
    void this.#load().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'pay page could not be refreshed'))
  }

  async #load(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false
        this.#stale = true
        const view = await this.#deps.load(this.#code)
        this.#stale = false
        if (view.id !== this.#view?.id) this.#rendered.clear()
        this.#view = view
        for (const viewer of [...this.viewers]) this.#show(view, viewer)
      }
    } finally {
      this.#loading = false
    }
  }

  #show(view: PayView, viewer: Viewer): void {
    if (viewer.lastId !== view.id) {
      viewer.lastId = view.id
      viewer.send(this.#eventIn(view, viewer.language))
    }
    if (view.final) viewer.end()
  }

  #eventIn(view: PayView, language: Lang): string {
    const event = this.#rendered.get(language) ?? eventOf(view.id, this.#deps.render(view, language))
    this.#rendered.set(language, event)
    return event
  }
}

export function openPayStreams(deps: PayStreamDeps): PayStreams {
  const rooms = new Map<string, Room>()
  let heartbeat: NodeJS.Timeout | undefined
  const viewers = (): Viewer[] => [...rooms.values()].flatMap((room) => [...room.viewers])
  const beat = (): void => {
    const text = beatAt(deps.clock())
    for (const viewer of viewers()) viewer.send(text)
  }
  deps.feed.onChannels((companyId) => {
    for (const room of rooms.values()) if (room.isOf(companyId)) room.refreshAsViewer()
  })
  return {
    open(code, viewer) {
      const room = rooms.get(code) ?? new Room(code, deps)
      rooms.set(code, room)
      room.viewers.add(viewer)
      heartbeat ??= setInterval(beat, HEARTBEAT_MS)
      viewer.send(`retry: 1000\n${beatAt(deps.clock())}`)
      room.refresh()
      return () => {
        room.viewers.delete(viewer)
        if (room.viewers.size > 0 || rooms.get(code) !== room) return
        room.leave()
        rooms.delete(code)
        if (rooms.size > 0) return
        clearInterval(heartbeat)
        heartbeat = undefined
      }
    },
    count: () => [...rooms.values()].reduce((sum, room) => sum + room.viewers.size, 0),
    stop() {
      for (const viewer of viewers()) viewer.end()
    },
  }
}

const MAX_STREAMS_OF_ORDER = 20
const MAX_STREAMS_OF_ADDRESS = 200

type StreamCounter = {
  /** Counts one more stream. @returns releases its slot @throws TOO_MANY_REQUESTS */
  enter(address: string, code: string): () => void
}

/**
 * Counts open streams by address, and by address and order, so that no single address fills the node
 * (docs/security.md).
 */
export function openStreamCounter(): StreamCounter {
  const open = new Map<string, number>()
  const add = (key: string, by: 1 | -1): void => {
    const count = (open.get(key) ?? 0) + by
    if (count > 0) open.set(key, count)
    else open.delete(key)
  }
  return {
    enter(address, code) {
      const place = `${address} ${code}`
      const isFull =
        (open.get(place) ?? 0) >= MAX_STREAMS_OF_ORDER || (open.get(address) ?? 0) >= MAX_STREAMS_OF_ADDRESS
      if (isFull) throw new AppError('TOO_MANY_REQUESTS', { retryAfter: 15 })
      add(place, 1)
      add(address, 1)
      let left = false
      return () => {
        if (left) return
        left = true
        add(place, -1)
        add(address, -1)
      }
    },
  }
}
