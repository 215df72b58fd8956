import { Agent, type Dispatcher, Pool } from 'undici'
import type { Random } from './random.ts'
import { runIn, type Scheduler } from './scheduler.ts'

export type HttpRequest = { method: string; url: URL; headers: Record<string, string>; body: string }
export type HttpAnswer = { status: number; headers: Record<string, string>; body: string }

/** A machine in the network. `null`: no answer ever. */
export type Host = (request: HttpRequest) => Promise<HttpAnswer | null>

/**
 * `refused`: no connection. `lost`: the request never arrives. `unanswered`: it is processed, but the answer never
 * arrives. `reset`: it is processed, and the connection breaks. `slow`: the answer arrives after the client's timeout.
 * `broken`: 502 from something in between.
 */
export type NetworkFault = 'refused' | 'lost' | 'unanswered' | 'reset' | 'slow' | 'broken'

export type NetworkOptions = {
  scheduler: Scheduler
  /** The fault of this request, if any. */
  fault(request: HttpRequest): NetworkFault | null
}

/** Sees a request leave. @returns called when its client has the status of an answer, or null for none */
export type Observer = (request: HttpRequest) => ((status: number | null) => void) | undefined

const SLOW_MS = 15_000

const netError = (code: string): Error => Object.assign(new Error(`simulated ${code}`), { code })

const latencyMs = (random: Random): number => 1 + random.next() ** 4 * 200

const readHeaders = (given: unknown): Record<string, string> => {
  const entries: [string, string][] = []
  if (Array.isArray(given))
    for (let at = 0; at + 1 < given.length; at += 2) entries.push([String(given[at]), String(given[at + 1])])
  else for (const [name, value] of Object.entries(given ?? {})) entries.push([name, String(value)])
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]))
}

type Handler = Required<Dispatcher.DispatchHandler>

/** A request from undici, and its answer back to undici. */
class Exchange {
  readonly #handler: Partial<Handler>
  #isOver = false
  #reason: Error | null = null
  readonly controller: Dispatcher.DispatchController
  over: ((status: number | null) => void) | undefined

  constructor(handler: Partial<Handler>) {
    this.#handler = handler
    const reasonOf = (): Error | null => this.#reason
    const fail = (reason: Error): void => {
      if (this.#reason !== null) return
      this.#reason = reason
      this.fail(reason)
    }
    this.controller = {
      get aborted() {
        return reasonOf() !== null
      },
      get reason() {
        return reasonOf()
      },
      paused: false,
      rawHeaders: [],
      abort: fail,
      pause() {},
      resume() {},
    }
  }

  get isOver(): boolean {
    return this.#isOver
  }

  start(): void {
    this.#handler.onRequestStart?.(this.controller, {})
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.over?.(null)
    this.#handler.onResponseError?.(this.controller, error)
  }

  answer({ status, headers, body }: HttpAnswer): void {
    if (this.#isOver) return
    this.#isOver = true
    this.over?.(status)
    const handler = this.#handler as Partial<Handler> & { onResponseStarted?(): void }
    handler.onResponseStarted?.()
    handler.onResponseStart?.(this.controller, status, headers, '')
    if (body !== '') handler.onResponseData?.(this.controller, Buffer.from(body))
    handler.onResponseEnd?.(this.controller, {})
  }
}

/** Every request from the service, the providers or the shops, below their HTTP clients. */
export class Network {
  readonly #options: NetworkOptions
  readonly #hosts = new Map<string, Host>()
  #hostOf: (name: string) => Host | undefined = () => undefined
  /** Null: requests are not observed. */
  observe: Observer | null = null
  requests = 0

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  listen(name: string, host: Host): void {
    this.#hosts.set(name, host)
  }

  /** Hosts created by a rule: one per shop. */
  listenFor(hostOf: (name: string) => Host | undefined): void {
    this.#hostOf = hostOf
  }

  /** From here on undici and `fetch` of this process use this network. */
  install(): void {
    const network = this
    const dispatch = function (this: object, options: Dispatcher.DispatchOptions, handler: Handler): boolean {
      const url = Object.getOwnPropertySymbols(this).find(({ description }) => description === 'url')
      const base = options.origin ?? (url && String((this as Record<symbol, unknown>)[url]))
      network.#dispatch(String(base), options, handler)
      return true
    }
    Agent.prototype.dispatch = dispatch as typeof Agent.prototype.dispatch
    Pool.prototype.dispatch = dispatch as typeof Pool.prototype.dispatch
    globalThis.fetch = ((target: string, init: RequestInit = {}) => network.#fetch(target, init)) as typeof fetch
  }

  #dispatch(base: string, options: Dispatcher.DispatchOptions, handler: Handler): void {
    const exchange = new Exchange(handler)
    const body = options.body === null || options.body === undefined ? '' : String(options.body)
    const request = {
      method: String(options.method),
      url: new URL(options.path, base),
      headers: readHeaders(options.headers),
      body,
    }
    this.#options.scheduler.after(0, () => {
      exchange.start()
      if (!exchange.isOver) this.#carry(request, exchange)
    })
  }

  #fetch(target: string, init: RequestInit): Promise<Response> {
    return new Promise((resolve, reject) => {
      let answer: { status: number; text: string } = { status: 0, text: '' }
      const exchange = new Exchange({
        onResponseStart: (_controller, status) => {
          answer = { status, text: '' }
        },
        onResponseData: (_controller, chunk) => {
          answer.text += chunk.toString()
        },
        onResponseEnd: () => {
          const { status, text } = answer
          const response = { status, ok: status < 300, text: async () => text, json: async () => JSON.parse(text) }
          resolve(response as unknown as Response)
        },
        onResponseError: (_controller, error) => reject(error),
      })
      init.signal?.addEventListener('abort', () => exchange.controller.abort(init.signal?.reason as Error))
      const headers = readHeaders(init.headers)
      const request = { method: init.method ?? 'GET', url: new URL(target), headers, body: String(init.body ?? '') }
      this.#carry(request, exchange)
    })
  }

  #carry(request: HttpRequest, exchange: Exchange): void {
    const { scheduler, fault: drawFault } = this.#options
    this.requests += 1
    exchange.over = this.observe?.(request)
    const fault = drawFault(request)
    const host = this.#hosts.get(request.url.host) ?? this.#hostOf(request.url.host)
    const way = (): number => latencyMs(scheduler.random)
    scheduler.note(`${request.method} ${request.url} ${fault}\n`)
    if (fault === 'lost') return
    if (fault === 'refused' || !host) {
      scheduler.after(way(), () => exchange.fail(netError('ECONNREFUSED')))
      return
    }
    if (fault === 'broken') {
      const answer = { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>502 Bad Gateway</h1>' }
      scheduler.after(way(), () => exchange.answer(answer))
      return
    }
    const client = scheduler.channel()
    const back = (extraMs: number, work: () => void): void => client(way() + extraMs, work)
    scheduler.after(
      way(),
      () => {
        // a host outlives its client: what it starts must not die with the requesting node
        runIn(null, () => host(request)).then(
          (answer) => {
            if (!answer || fault === 'unanswered') return
            scheduler.note(`${answer.status}\n`)
            back(fault === 'slow' ? SLOW_MS : 0, () =>
              fault === 'reset' ? exchange.fail(netError('UND_ERR_SOCKET')) : exchange.answer(answer),
            )
          },
          (error: unknown) => back(0, () => exchange.fail(error as Error)),
        )
      },
      null,
    )
  }
}
