import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { Agent, buildConnector, WebSocket } from 'undici'
import { MINUTE, SECOND } from '../../kernel/clock.ts'

/** An announcement is never trusted: it is only a reason to ask the endpoints now instead of at the next poll. */
export type HeadFeed = {
  /** Whether the node has accepted our subscription. */
  isOpen(): boolean
  stop(): Promise<void>
}

/** In milliseconds; tests shorten them. */
export type HeadTimes = {
  /** From the start of a connection until the node has accepted the subscription. */
  openingMs: number
  /** After this long without a message, the connection counts as dead. */
  silenceMs: number
  firstPauseMs: number
  maxPauseMs: number
  /** A node that floods us, or offers no subscription, is left alone this long. */
  timeOutMs: number
}

const TIMES: HeadTimes = {
  ...{ openingMs: 10 * SECOND, silenceMs: 2 * MINUTE, firstPauseMs: SECOND, maxPauseMs: MINUTE },
  timeOutMs: 10 * MINUTE,
}

/** A header without its transactions has about 2 kB. */
const MAX_MESSAGE_BYTES = 64 * 1024
/** Arbitrum makes four blocks a second; more messages than this in the window are a flood. */
const FLOOD = { messages: 200, windowMs: 10 * SECOND }
/** Minimum time between two looks at the chain, however many blocks are announced. */
const WAKE_GAP_MS = 100

const SUBSCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] })

type Message = {
  id?: unknown
  error?: unknown
  result?: unknown
  method?: unknown
  params?: { result?: { hash?: unknown } }
}

const parse = (text: string): Message | null => {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? message : null
  } catch {
    return null
  }
}

/** Why a connection ended, and whether the node deserves a longer rest. */
type End = { reason: string; rest: boolean }

/** One connection, from its opening to its end. The address may hold a secret and appears in no message. */
class Connection {
  readonly ended: Promise<End>
  isOpen = false
  /** Whether a block was announced: the node works, so the backoff starts over. */
  announced = false
  readonly #socket: WebSocket
  readonly #agent: Agent
  #wire: Socket | undefined
  readonly #times: HeadTimes
  readonly #onHead: () => void
  #end: (end: End) => void = () => {}
  #timer: NodeJS.Timeout | undefined
  #window = { startedMs: 0, messages: 0 }
  #lastHash = ''
  #wokenMs = Number.NEGATIVE_INFINITY
  #wakeTimer: NodeJS.Timeout | undefined

  constructor(url: string, { times, onHead }: { times: HeadTimes; onHead(): void }) {
    const { username, password } = new URL(url)
    const bare = new URL(url)
    bare.username = ''
    bare.password = ''
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    const headers = username === '' ? {} : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
    this.#times = times
    this.#onHead = onHead
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    const connect = buildConnector({ timeout: times.openingMs })
    this.#agent = new Agent({
      webSocket: { maxPayloadSize: MAX_MESSAGE_BYTES },
      connect: (options, done) =>
        connect(options, (...[error, wire]) => {
          if (error) return done(error, null)
          this.#wire = wire
          done(null, wire)
        }),
    })
    this.#socket = new WebSocket(bare, { dispatcher: this.#agent, headers })
    this.#expect(times.openingMs, 'it did not take the subscription in time')
    this.#socket.addEventListener('open', () => this.#socket.send(SUBSCRIBE))
    this.#socket.addEventListener('message', ({ data }) => this.#read(data))
    this.#socket.addEventListener('error', () => this.close('the connection failed'))
    this.#socket.addEventListener('close', () => this.close('the node closed the connection'))
  }

  close(reason: string, rest = false): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#wakeTimer)
    this.isOpen = false
    this.#end({ reason, rest })
    // no close handshake: a node that floods us or hangs would not answer it
    this.#wire?.destroy()
    void this.#agent.destroy()
  }

  #expect(delayMs: number, reason: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.close(reason), delayMs)
    this.#timer.unref()
  }

  #read(data: unknown): void {
    const complaint = this.#take(data)
    if (complaint !== null) this.close(complaint, true)
  }

  /** @returns why the connection must end; null: the message is fine */
  #take(data: unknown): string | null {
    if (this.#isFlood()) return 'it sends more messages than any chain has blocks'
    const message = typeof data === 'string' ? parse(data) : null
    if (message === null) return 'it does not speak JSON-RPC'
    if (message.id === 1 && typeof message.result !== 'string') return 'it offers no subscription to new blocks'
    if (message.id === 1) this.#open()
    if (this.isOpen) this.#expect(this.#times.silenceMs, 'it was silent for too long')
    if (this.isOpen && message.method === 'eth_subscription') this.#wake(String(message.params?.result?.hash))
    return null
  }

  /** Earlier blocks are not announced, so the chain is checked once for them. */
  #open(): void {
    if (this.isOpen) return
    this.isOpen = true
    this.#onHead()
  }

  #isFlood(): boolean {
    const now = performance.now()
    if (now - this.#window.startedMs > FLOOD.windowMs) this.#window = { startedMs: now, messages: 0 }
    this.#window.messages += 1
    return this.#window.messages > FLOOD.messages
  }

  /** The same block twice is ignored; many at once cause a single check. */
  #wake(hash: string): void {
    this.announced = true
    if (hash === this.#lastHash) return
    this.#lastHash = hash
    if (this.#wakeTimer !== undefined) return
    const wokenAgoMs = performance.now() - this.#wokenMs
    const delayMs = Math.max(0, WAKE_GAP_MS - wokenAgoMs)
    this.#wakeTimer = setTimeout(() => {
      this.#wakeTimer = undefined
      this.#wokenMs = performance.now()
      this.#onHead()
    }, delayMs)
  }
}

/**
 * Listens for new blocks of one node over WebSocket, and reconnects whenever the connection is lost.
 * @param url ws:// or wss://
 */
export function listenForHeads(options: {
  url: string
  /** Names the node in the log. */
  name: Record<string, number>
  log: FastifyBaseLogger
  onHead(): void
  times?: Partial<HeadTimes>
}): HeadFeed {
  const { url, name, log, onHead } = options
  const times = { ...TIMES, ...options.times }
  let stopped = false
  let current: Connection | undefined
  let endPause = (): void => {}
  const pause = (delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const run = async (): Promise<void> => {
    let failures = 0
    while (!stopped) {
      current = new Connection(url, { times, onHead })
      const { reason, rest } = await current.ended
      failures = current.announced ? 1 : failures + 1
      if (stopped) return
      const backOffMs = Math.min(times.maxPauseMs, times.firstPauseMs * 2 ** (failures - 1))
      const pauseMs = rest ? times.timeOutMs : backOffMs
      log.info({ ...name, reason, pauseMs }, 'a node announces no blocks; polling goes on')
      await pause(pauseMs)
    }
  }
  const running = run()
  return {
    isOpen: () => current?.isOpen ?? false,
    async stop() {
      stopped = true
      endPause()
      current?.close('stopped')
      await running
    },
  }
}
