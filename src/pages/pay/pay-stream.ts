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
  /** A company's accounts and rules: another object once they changed, here or on another node. */
  accountsOf(companyId: string): Promise<object>
  render(view: PayView, language: Lang): string
}

const HEARTBEAT_MS = 15_000
/** Number of feed polls between two checks of which channels are available. */
const CHOICE_POLLS = 8
/** The same for the accounts and rules of companies whose own wallet is shown. */
const ACCOUNT_POLLS = 4
/** How many pages a poll loads anew because a company's accounts changed: payers and shops are not kept waiting. */
const MAX_TURNS = 100

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

  /** @param takesTurn whether it is loaded anew at this poll, because accounts changed */
  constructor(code: string, deps: PayStreamDeps, takesTurn: (room: Room) => boolean) {
    this.#code = code
    this.#deps = deps
    this.leave = deps.feed.subscribe(code, (changed) => {
      this.#polls += 1
      if (changed || this.#stale || this.#isMoving() || takesTurn(this)) this.refresh()
    })
  }

  /** Changes on the page without a change of the order: confirmations, a silent provider, expiry, channels. */
  #isMoving(): boolean {
    if (!this.#view) return false
    const { situation, status, payment, final, open, expiresAt } = this.#view
    if (situation === 'preparing' || (payment?.progress != null && !final)) return true
    if (open && expiresAt.getTime() <= this.#deps.clock()) return true
    // an open order whose page offers nothing waits for a channel; no provider can take a wallet's away
    const isLasting = payment?.channel === 'crypto'
    const dependsOnChannels = situation === 'choose' || (isOpen(status) && (!open || !isLasting))
    return dependsOnChannels && this.#polls % CHOICE_POLLS === 0
  }

  /** Undefined until the first load. */
  get companyId(): string | undefined {
    return this.#view?.companyId
  }

  /** A wallet of the company's own may be removed or replaced. */
  get showsOwnWallet(): boolean {
    const payment = this.#view?.payment
    return payment?.channel === 'crypto' && payment.ownAccount
  }

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

/**
 * Pages to load anew because their company's accounts or rules changed, some at each poll. A company is compared once
 * for all its pages.
 */
function openTurns({ feed, accountsOf }: PayStreamDeps, rooms: ReadonlyMap<string, Room>) {
  const due = new Set<Room>()
  /** What each company was last compared with; one that is not known has changed. */
  const known = new Map<string, object>()
  /** Those that were due first, so that a company that saves again and again delays nobody else's pages. */
  let chosen = new Set<Room>()
  let polls = 0
  let looking = false

  /** Whoever saves an account does not pay for what it reads. */
  const compare = AsyncLocalStorage.bind(async (companies: Iterable<string>): Promise<void> => {
    const changed = new Set<string>()
    for (const companyId of companies) {
      const accounts = await accountsOf(companyId).catch(() => known.get(companyId))
      if (accounts === undefined || known.get(companyId) === accounts) continue
      known.set(companyId, accounts)
      changed.add(companyId)
    }
    if (changed.size === 0) return
    // one that is just being loaded may read what was there before
    for (const room of rooms.values()) if (room.companyId === undefined || changed.has(room.companyId)) due.add(room)
  })

  feed.onChannels((companyId) => {
    if (rooms.size > 0) void compare([companyId])
  })
  feed.onPoll(() => {
    chosen = new Set([...due].slice(0, MAX_TURNS))
    polls += 1
    if (looking || polls % ACCOUNT_POLLS !== 0) return
    const shown = [...rooms.values()].flatMap((room) => (room.showsOwnWallet ? [room.companyId ?? ''] : []))
    const companies = new Set(shown)
    for (const companyId of known.keys()) if (!companies.has(companyId)) known.delete(companyId)
    looking = true
    void compare(companies).finally(() => {
      looking = false
    })
  })
  return {
    takesTurn(room: Room): boolean {
      return chosen.delete(room) && due.delete(room)
    },
    leave: (room: Room): void => void due.delete(room),
  }
}

export function openPayStreams(deps: PayStreamDeps): PayStreams {
  const rooms = new Map<string, Room>()
  const turns = openTurns(deps, rooms)
  let heartbeat: NodeJS.Timeout | undefined
  const viewers = (): Viewer[] => [...rooms.values()].flatMap((room) => [...room.viewers])
  const beat = (): void => {
    const text = beatAt(deps.clock())
    for (const viewer of viewers()) viewer.send(text)
  }
  return {
    open(code, viewer) {
      const room = rooms.get(code) ?? new Room(code, deps, turns.takesTurn)
      rooms.set(code, room)
      room.viewers.add(viewer)
      heartbeat ??= setInterval(beat, HEARTBEAT_MS)
      viewer.send(`retry: 1000\n${beatAt(deps.clock())}`)
      room.refresh()
      return () => {
        room.viewers.delete(viewer)
        if (room.viewers.size > 0 || rooms.get(code) !== room) return
        room.leave()
        turns.leave(room)
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
