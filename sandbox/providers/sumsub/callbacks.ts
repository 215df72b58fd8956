import { createHmac, randomUUID } from 'node:crypto'
import type { Applicant } from './state.ts'

/** What goes wrong with the next callbacks: each once. */
export type Trouble = 'twice' | 'reordered' | 'forged'

export type CallbackOptions = { callbackUrl: string; webhookSecret: string; log?(line: string): void }

/** The original waits 5 min, 1 h, 5 h and 18 h; developers wait less. */
const RETRY_MS = [1000, 5000, 30_000]

/** "2024-06-10 06:15:00.123" */
const timeText = (): string => new Date().toISOString().replace('T', ' ').replace('Z', '')

function bodyOf(applicant: Applicant, type: string, review: Applicant['review']): string {
  return JSON.stringify({
    applicantId: applicant.id,
    inspectionId: `${applicant.id.slice(0, 23)}f`,
    correlationId: randomUUID(),
    levelName: applicant.levelName,
    externalUserId: applicant.externalUserId,
    type,
    sandboxMode: true,
    reviewStatus: review.reviewStatus,
    ...(review.reviewResult ? { reviewResult: review.reviewResult } : {}),
    createdAtMs: timeText(),
    clientId: 'sandbox',
  })
}

/** Sends signed callbacks in order, unless a story reorders them, and repeats those that were not accepted. */
export class CallbackSender {
  readonly #options: CallbackOptions
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #trouble = new Set<Trouble>()

  constructor(options: CallbackOptions) {
    this.#options = options
  }

  plan(trouble: Trouble): void {
    this.#trouble.add(trouble)
  }

  /** What happened to an applicant, oldest first. */
  async send(applicant: Applicant, news: { type: string; review: Applicant['review'] }[]): Promise<void> {
    const bodies = news.map(({ type, review }) => bodyOf(applicant, type, review))
    if (this.#trouble.delete('reordered')) bodies.reverse()
    const repeated = this.#trouble.delete('twice') ? bodies.flatMap((body) => [body, body]) : bodies
    const forged = this.#trouble.delete('forged')
    for (const body of repeated) await this.#deliver(body, forged, 0)
  }

  async #deliver(body: string, forged: boolean, attempt: number): Promise<void> {
    const { callbackUrl, webhookSecret, log } = this.#options
    const digest = createHmac('sha256', forged ? `${webhookSecret}?` : webhookSecret)
      .update(body)
      .digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-payload-digest-alg': 'HMAC_SHA256_HEX',
      'x-payload-digest': digest,
    }
    const status = await fetch(callbackUrl, { method: 'POST', headers, body, signal: AbortSignal.timeout(5000) }).then(
      (answer) => answer.status,
      () => 0,
    )
    const delayMs = RETRY_MS[attempt]
    if ((status >= 200 && status < 300) || forged || delayMs === undefined) return
    log?.(`sumsub: a callback was answered ${status}; it comes again`)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void this.#deliver(body, forged, attempt + 1)
    }, delayMs)
    timer.unref()
    this.#timers.add(timer)
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}
