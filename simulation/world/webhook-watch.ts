import type { HttpRequest } from '../virtual/network.ts'
import { currentScope, type Scheduler, type Scope } from '../virtual/scheduler.ts'
import type { Conditions } from './conditions.ts'

/** Before the second, third … attempt, after the end of the previous one (docs/webhooks.md). */
const DELAYS_MS = [2000, 4000, 8000, 16_000]
/** Tolerance: rounding of the stored times, plus one tick of the sender. */
const EARLY_MS = 3

type Sent = {
  orderId: string
  event: string
  /** Attempts that ended without a 2xx. */
  failed: number
  isDelivered: boolean
  endedMs: number
  /** The node that is sending; null: none. */
  sender: Scope | null
  /** When the shop requested it again; null: it did not, or that series has begun. */
  replayedMs: number | null
}

type Late = 'first' | 'repeated' | 'takenOver'

const isWebhook = ({ url, headers }: HttpRequest): boolean =>
  url.host.startsWith('shop-') && headers['service-webhook-id'] !== undefined

/** Times each webhook as it leaves: the first attempt after its event, each repetition after the previous attempt. */
export class WebhookWatch {
  readonly #scheduler: Scheduler
  readonly #conditions: Conditions
  readonly #sent = new Map<string, Sent>()
  readonly #byOrder = new Map<string, Set<string>>()
  /**
   * The latest first attempt and the latest repetition while nothing else failed, in milliseconds after they were due.
   */
  readonly latest = { first: 0, repeated: 0, takenOver: 0 }

  constructor(scheduler: Scheduler, conditions: Conditions) {
    this.#scheduler = scheduler
    this.#conditions = conditions
  }

  readonly observe = (request: HttpRequest): ((status: number | null) => void) | undefined => {
    if (!isWebhook(request)) return undefined
    const id = String(request.headers['service-webhook-id'])
    const sent = this.#sent.get(id) ?? this.#begin(id, request)
    if (sent.sender !== null) this.#judgeOverlap(sent)
    else if (sent.replayedMs !== null) this.#judgeLateness(sent, sent.replayedMs, 'first')
    else if (sent.isDelivered) this.#judgeRepeat(sent)
    else if (sent.failed > 0) this.#judgePause(sent)
    const sender = currentScope()
    sent.sender = sender
    sent.replayedMs = null
    return (status) => {
      if (sent.sender !== sender) return
      sent.sender = null
      sent.endedMs = this.#scheduler.nowMs
      if (status !== null && status >= 200 && status < 300) sent.isDelivered = true
      else sent.failed += 1
    }
  }

  #ofOrder(orderId: string): Sent[] {
    return [...(this.#byOrder.get(orderId) ?? [])].flatMap((id) => this.#sent.get(id) ?? [])
  }

  /** The node that is sending one of an order's webhooks now. */
  senderOf(orderId: string): Scope | null {
    return this.#ofOrder(orderId).find(({ sender }) => sender?.alive)?.sender ?? null
  }

  /**
   * A permanent failure is requested again: from now on a new series of five attempts counts. A request that is lost is
   * repeated, and what has left by then is left alone.
   */
  replay(orderId: string, repetition = 0): void {
    for (const sent of this.#ofOrder(orderId))
      if (!sent.isDelivered && (repetition === 0 || sent.replayedMs !== null))
        Object.assign(sent, { failed: 0, replayedMs: this.#scheduler.nowMs } satisfies Partial<Sent>)
  }

  /** Whether all attempts of this webhook left, and none was acknowledged. */
  hasUsedUp(id: string): boolean {
    const { isDelivered = true, failed = 0 } = this.#sent.get(id) ?? {}
    return !isDelivered && failed > DELAYS_MS.length
  }

  forget(orderId: string): void {
    for (const id of this.#byOrder.get(orderId) ?? []) this.#sent.delete(id)
    this.#byOrder.delete(orderId)
  }

  #begin(id: string, { body }: HttpRequest): Sent {
    const { _id: orderId, event, updatedAt } = JSON.parse(body) as Record<'_id' | 'event' | 'updatedAt', string>
    const sent: Sent = { orderId, event, failed: 0, isDelivered: false, endedMs: 0, sender: null, replayedMs: null }
    this.#sent.set(id, sent)
    const ids = this.#byOrder.get(orderId) ?? new Set()
    this.#byOrder.set(orderId, ids.add(id))
    this.#judgeLateness(sent, Date.parse(updatedAt), 'first')
    return sent
  }

  #judgeLateness(sent: Sent, dueMs: number, which: Late): void {
    const lateMs = this.#scheduler.nowMs - dueMs
    const allowedMs = this.#conditions.allowedMs(dueMs)
    if (which === 'takenOver' || this.#conditions.wereGood(dueMs))
      this.latest[which] = Math.max(this.latest[which], lateMs)
    if (lateMs > allowedMs)
      this.#broken(sent, `attempt ${sent.failed + 1} is ${Math.round(lateMs)} ms late, ${allowedMs} are allowed`)
  }

  #judgePause(sent: Sent): void {
    const dueMs = sent.endedMs + (DELAYS_MS[sent.failed - 1] ?? Number.POSITIVE_INFINITY)
    const isGood = this.#conditions.wereGood(sent.endedMs)
    if (!Number.isFinite(dueMs)) {
      if (isGood) this.#broken(sent, `attempt ${sent.failed + 1} is one too many`)
      return
    }
    const earlyMs = dueMs - this.#scheduler.nowMs
    if (earlyMs > EARLY_MS && isGood)
      this.#broken(sent, `attempt ${sent.failed + 1} is ${Math.round(earlyMs)} ms early`)
    this.#judgeLateness(sent, dueMs, 'repeated')
  }

  /** The sending node has died, or two nodes send it at once. */
  #judgeOverlap(sent: Sent): void {
    if (sent.sender?.diedMs !== undefined) this.#judgeLateness(sent, sent.sender.diedMs, 'takenOver')
    else if (this.#conditions.wereGood(this.#scheduler.nowMs))
      this.#broken(sent, `it leaves ${sent.sender?.name} and ${currentScope()?.name} at once`)
  }

  #judgeRepeat(sent: Sent): void {
    if (this.#conditions.wereGood(sent.endedMs)) this.#broken(sent, 'it is repeated although it was acknowledged')
  }

  #broken({ orderId, event }: Sent, words: string): void {
    this.#scheduler.fail(new Error(`Broken: the webhook ${event} of the order ${orderId}: ${words}`))
  }
}
