import type { Logger } from 'pino'
import type { Tracer } from '../../http/tracing/tracing.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Vault } from '../../kernel/vault.ts'
import { webhookHeaders } from '../outbox/signature.ts'
import { createSecretReader, SECRET_AGE_MS } from '../outbox/webhook-secret.ts'
import type { AttemptResult, AttemptSender } from './attempt.ts'
import { attemptSpan, openReceiverNames } from './attempt-facts.ts'
import type { ClaimedDelivery } from './claim-queries.ts'
import { type Lanes, newsOf } from './lanes.ts'
import type { OutcomeWriter } from './outcome-writer.ts'
import type { SenderMetrics } from './sender-metrics.ts'
import { MAX_CRASHES, type Outcome, type OutcomeRow } from './sender-queries.ts'
import type { Suspects } from './suspects.ts'

/** Delays after failed attempt 1, 2, 3, 4 (docs/webhooks.md). The fifth is the last. */
export const RETRY_DELAYS_MS = [2000, 4000, 8000, 16_000] as const

const UNREADABLE_SECRET_DELAY_MS = 30_000

export type DeliveryRunnerOptions = {
  vault: Vault
  clock: Clock
  log: Pick<Logger, 'error'>
  allowHttp: boolean
  attempts: AttemptSender
  lanes: Lanes
  suspects: Suspects
  settlement: OutcomeWriter
  metrics: SenderMetrics | null
  tracer?: Tracer | undefined
  /** A slot became free in a lane where deliveries wait, or on a node that was full. */
  freed: () => void
}

/** Runs claimed deliveries: signs, sends, decides what comes next. */
export class DeliveryRunner {
  readonly #options: DeliveryRunnerOptions
  readonly #secretOf: (companyId: string, sealed: string) => string
  readonly #running = new Set<Promise<void>>()
  readonly #receiverOf = openReceiverNames()

  constructor(options: DeliveryRunnerOptions) {
    this.#options = options
    this.#secretOf = createSecretReader(options.vault)
  }

  /** @param readAtMs `performance.now()` before the delivery and its secret were read */
  start(delivery: ClaimedDelivery, readAtMs: number): void {
    const { metrics } = this.#options
    metrics?.startDelay.observe(Math.max(0, delivery.overdueMs) / 1000)
    if (delivery.wasInterrupted) metrics?.unknownOutcomes.inc()
    if (delivery.crashes >= MAX_CRASHES) this.#settleWithoutAttempt(delivery, 'parked', 0)
    else if (performance.now() - readAtMs > SECRET_AGE_MS) this.#release(delivery, 'slow_database', 0)
    else this.#attempt(delivery)
  }

  /** Resolves when nothing is in flight, or after `timeoutMs`. */
  async idle(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, timeoutMs)
    })
    await Promise.race([Promise.all(this.#running), late])
    clearTimeout(timer)
  }

  #attempt(delivery: ClaimedDelivery): void {
    const { clock, attempts, lanes, suspects, log } = this.#options
    const startedAt = clock()
    let headers: string[]
    try {
      const secret = this.#secretOf(delivery.companyId, delivery.webhookSecretSealed)
      const { deliveryId: id, event, body } = delivery
      headers = webhookHeaders({ id, event, body, secret, atSeconds: Math.floor(startedAt / 1000) })
    } catch (error) {
      log.error({ err: error, companyId: delivery.companyId }, 'cannot sign webhooks of this company')
      this.#release(delivery, 'unreadable_secret', UNREADABLE_SECRET_DELAY_MS)
      return
    }
    lanes.started(delivery)
    suspects.started(delivery)
    const { url, body } = delivery
    const sent = this.#isSchemeRefused(url) ? refusedScheme() : attempts.send({ url, headers, body })
    const running = sent.then((result) => {
      this.#running.delete(running)
      this.#ended(delivery, new Date(startedAt), result)
    })
    this.#running.add(running)
  }

  #isSchemeRefused(url: string): boolean {
    return !this.#options.allowHttp && url.slice(0, 5).toLowerCase() === 'http:'
  }

  #ended(delivery: ClaimedDelivery, startedAt: Date, result: AttemptResult): void {
    const { lanes, settlement, metrics, tracer, freed } = this.#options
    tracer?.record(attemptSpan(delivery, startedAt, result))
    metrics?.receivers.inc({ receiver: this.#receiverOf(delivery.url), ok: String(result.failure === null) })
    metrics?.duration.observe(result.durationMs / 1000)
    const { failure: errorCode, durationMs, statusCode, responseBody } = result
    const number = delivery.attempts + 1
    const delayMs = RETRY_DELAYS_MS[number - 1]
    const outcome: Outcome = errorCode === null ? 'delivered' : delayMs === undefined ? 'failed' : 'retry'
    const facts = { startedAt, durationMs, statusCode, errorCode, responseBody }
    settlement.add({ ...keyOf(delivery), ...facts, outcome, number, delayMs: delayMs ?? 0 }, result.endedAtMs)
    if (lanes.ended(delivery, newsOf(result))) freed()
  }

  #release(delivery: ClaimedDelivery, reason: 'slow_database' | 'unreadable_secret', delayMs: number): void {
    this.#options.metrics?.released.inc({ reason })
    this.#settleWithoutAttempt(delivery, 'released', delayMs)
  }

  #settleWithoutAttempt(delivery: ClaimedDelivery, outcome: 'parked' | 'released', delayMs: number): void {
    const facts = { startedAt: new Date(this.#options.clock()), durationMs: null, statusCode: null, responseBody: null }
    const row = { ...keyOf(delivery), ...facts, errorCode: null, outcome, number: delivery.attempts + 1, delayMs }
    this.#options.settlement.add(row, performance.now())
  }
}

const keyOf = (delivery: ClaimedDelivery): Pick<OutcomeRow, 'companyId' | 'deliveryId' | 'series' | 'epoch'> => ({
  companyId: delivery.companyId,
  deliveryId: delivery.deliveryId,
  series: delivery.series,
  epoch: delivery.epoch,
})

const refusedScheme = (): Promise<AttemptResult> =>
  Promise.resolve({
    statusCode: null,
    failure: 'scheme_refused',
    durationMs: 0,
    endedAtMs: performance.now(),
    responseBody: null,
  })
