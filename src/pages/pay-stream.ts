import type { FastifyBaseLogger } from 'fastify'
import type { OrderFeed } from './order-feed.ts'
import type { PayView } from './pay-service.ts'
import type { PayLanguage } from './pay-texts.ts'

/** One open page. */
export type Viewer = {
  language: PayLanguage
  /** The event id of what it shows already. */
  lastId: string | null
  send(chunk: string): void
  end(): void
}

export type PayStreams = {
  /** Shows the viewer the order as it is and as it becomes. @returns ends it */
  open(code: string, viewer: Viewer): () => void
  /** How many pages are connected. */
  count(): number
  stop(): void
}

export type PayStreamDeps = {
  feed: OrderFeed
  log: FastifyBaseLogger
  load(code: string): Promise<PayView>
  render(view: PayView, language: PayLanguage): string
}

const HEARTBEAT_MS = 15_000

/** Server-sent event (HTML standard, section 9.2): each line of the data with its own field name. */
const eventOf = (id: string, html: string): string =>
  `id: ${id}\nevent: state\ndata: ${html.replace(/\r\n|\r|\n/g, '\ndata: ')}\n\n`

type Room = {
  viewers: Set<Viewer>
  view: PayView | undefined
  /** One rendering for all who watch in the same language. */
  rendered: Map<PayLanguage, string>
  leave(): void
  refresh(): void
}

export function openPayStreams({ feed, log, load, render }: PayStreamDeps): PayStreams {
  const rooms = new Map<string, Room>()
  let heartbeat: NodeJS.Timeout | undefined

  const show = (room: Room, viewer: Viewer): void => {
    const { view } = room
    if (!view) return
    if (viewer.lastId !== view.id) {
      const event = room.rendered.get(viewer.language) ?? eventOf(view.id, render(view, viewer.language))
      room.rendered.set(viewer.language, event)
      viewer.lastId = view.id
      viewer.send(event)
    }
    if (view.final) viewer.end()
  }

  /** Loads the order once for all viewers; news during the load makes it load once more. */
  const refresher = (code: string, room: Room): (() => void) => {
    let running = false
    let again = false
    const run = async (): Promise<void> => {
      running = true
      do {
        again = false
        const view = await load(code)
        if (view.id !== room.view?.id) room.rendered.clear()
        room.view = view
        for (const viewer of [...room.viewers]) show(room, viewer)
      } while (again)
    }
    return () => {
      again = true
      if (running) return
      void run()
        .catch((error: unknown) => log.warn({ err: error }, 'pay page could not be refreshed'))
        .finally(() => {
          running = false
        })
    }
  }

  const openRoom = (code: string): Room => {
    const room: Room = { viewers: new Set(), view: undefined, rendered: new Map(), leave: () => {}, refresh: () => {} }
    room.refresh = refresher(code, room)
    room.leave = feed.subscribe(code, (changed) => {
      const moving = room.view?.payment?.progress != null && !room.view.final
      if (changed || moving) room.refresh()
    })
    rooms.set(code, room)
    return room
  }

  const beat = (): void => {
    for (const room of rooms.values()) for (const viewer of room.viewers) viewer.send(':\n\n')
  }

  return {
    open(code, viewer) {
      const room = rooms.get(code) ?? openRoom(code)
      room.viewers.add(viewer)
      heartbeat ??= setInterval(beat, HEARTBEAT_MS)
      viewer.send('retry: 1000\n\n')
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
      for (const room of rooms.values()) for (const viewer of [...room.viewers]) viewer.end()
    },
  }
}
