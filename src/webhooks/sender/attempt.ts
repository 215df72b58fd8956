import type { Dispatcher } from 'undici'
import { type Failure, failureOf } from './failures.ts'

/** The limits of one attempt. */
const ATTEMPT_DEADLINE_MS = 10_000
const DRAIN_MS = 1000
const DRAIN_BYTES = 64 * 1024
const KEPT_BYTES = 1024

export type AttemptResult = {
  statusCode: number | null
  /** null: delivered */
  failure: Failure | null
  /** From start to end, including the body. */
  durationMs: number
  /** `performance.now()` of the end */
  endedAtMs: number
  /** At most 1 KiB of the answer's body, as text that PostgreSQL can store. */
  responseBody: string | null
}

export type AttemptRequest = { url: string; headers: string[]; body: string }

const statusFailure = (statusCode: number): Failure | null => {
  if (statusCode >= 200 && statusCode <= 299) return null
  return statusCode >= 300 && statusCode <= 399 ? 'redirect_refused' : 'http_status'
}

const toStorableText = (chunks: Buffer[]): string | null =>
  chunks.length === 0 ? null : Buffer.concat(chunks).toString('utf8').replaceAll('\u0000', '\uFFFD')

/** One POST in flight: the handler for undici, and the deadlines that cut it off. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly startedAtMs = performance.now()
  /** `performance.now()` at which it is cut off: the deadline, later the end of draining. */
  cutOffAtMs = this.startedAtMs + ATTEMPT_DEADLINE_MS
  readonly #done: (result: AttemptResult) => void
  #controller: Dispatcher.DispatchController | null = null
  #statusCode: number | null = null
  #sawAnswer = false
  #chunks: Buffer[] = []
  #keptBytes = 0
  #readBytes = 0
  #isOver = false

  constructor(done: (result: AttemptResult) => void) {
    this.#done = done
  }

  get isOver(): boolean {
    return this.#isOver
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new Error('the attempt is over'))
  }

  onResponseStarted(): void {
    this.#sawAnswer = true
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    if (statusCode < 200 || this.#isOver) return
    this.#statusCode = statusCode
    this.cutOffAtMs = Math.min(this.cutOffAtMs, performance.now() + DRAIN_MS)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#readBytes += chunk.length
    if (this.#keptBytes < KEPT_BYTES) {
      const kept = Buffer.from(chunk.subarray(0, KEPT_BYTES - this.#keptBytes))
      this.#chunks.push(kept)
      this.#keptBytes += kept.length
    }
    if (this.#readBytes >= DRAIN_BYTES) this.cutOff()
  }

  onResponseEnd(): void {
    this.#finish(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#finish(failureOf(error, this.#sawAnswer))
  }

  /** Ends it now: if a status line has arrived it counts as the answer, otherwise this is a timeout. */
  cutOff(): void {
    const controller = this.#controller
    this.#finish(controller === null ? 'connect_timeout' : 'timeout')
    controller?.abort(new Error('cut off'))
  }

  /** Abandons the attempt at shutdown: the delivery becomes due again, for any node. */
  abandon(): void {
    this.#isOver = true
    this.#controller?.abort(new Error('abandoned'))
  }

  /** @param failure reported if no status line has arrived */
  #finish(failure: Failure | null): void {
    if (this.#isOver) return
    this.#isOver = true
    const endedAtMs = performance.now()
    this.#done({
      statusCode: this.#statusCode,
      failure: this.#statusCode === null ? (failure ?? 'answer_cut_off') : statusFailure(this.#statusCode),
      durationMs: Math.round(endedAtMs - this.startedAtMs),
      endedAtMs,
      responseBody: toStorableText(this.#chunks),
    })
  }
}

const TICK_MS = 20

/** Sends attempts through one dispatcher and enforces their deadlines with one timer for all of them. */
export class AttemptSender {
  readonly #dispatcher: Dispatcher
  readonly #inFlight = new Set<Attempt>()
  #timer: NodeJS.Timeout | null = null

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher
  }

  get inFlight(): ReadonlySet<Attempt> {
    return this.#inFlight
  }

  /** Never rejects: every failure is a result. */
  send(request: AttemptRequest): Promise<AttemptResult> {
    return new Promise((resolve) => {
      const attempt = new Attempt((result) => {
        this.#inFlight.delete(attempt)
        resolve(result)
      })
      this.#inFlight.add(attempt)
      this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
      try {
        const url = new URL(request.url)
        const path = url.pathname + url.search
        const { headers, body } = request
        this.#dispatcher.dispatch({ origin: url.origin, path, method: 'POST', headers, body }, attempt)
      } catch (error) {
        attempt.onResponseError(null, error as Error)
      }
    })
  }

  #tick(): void {
    const nowMs = performance.now()
    for (const attempt of this.#inFlight) if (attempt.cutOffAtMs <= nowMs) attempt.cutOff()
    if (this.#inFlight.size === 0 && this.#timer) {
      clearInterval(this.#timer)
      this.#timer = null
    }
  }

  /** Abandons what is still in flight. */
  async close(): Promise<void> {
    for (const attempt of this.#inFlight) attempt.abandon()
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
    await this.#dispatcher.destroy()
  }
}
