import type { Imitation, SignedCallback } from './imitation.ts'

const TIMEOUT_MS = 10_000

async function post({ url, headers, body }: SignedCallback): Promise<{ status: number; body: string }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers,
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  return { status: answer.status, body: await answer.text() }
}

/** Delivers callbacks to the merchant's server, and repeats them as the provider would until they are acknowledged. */
export class CallbackDispatcher {
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #log: (line: string) => void
  /** The last 500 attempts, for the page and for tests. */
  readonly attempts: (SignedCallback & { provider: string; status: number | null; acknowledged: boolean })[] = []

  constructor(log: (line: string) => void) {
    this.#log = log
  }

  /** Signs each attempt again, with its own time. @returns whether the first attempt was acknowledged */
  async deliver(imitation: Imitation, sign: () => SignedCallback | undefined, attempt = 0): Promise<boolean> {
    const callback = sign()
    if (!callback) return true
    const answer = await post(callback).catch((error: unknown) => {
      this.#log(`${imitation.prefix}: callback to ${callback.url} failed: ${String(error)}`)
      return null
    })
    const acknowledged = answer !== null && imitation.isAcknowledged(answer.status, answer.body)
    const status = answer?.status ?? null
    this.attempts.push({ ...callback, provider: imitation.prefix, status, acknowledged })
    this.attempts.splice(0, this.attempts.length - 500)
    const delayMs = imitation.retryDelaysMs[attempt]
    if (!acknowledged && delayMs !== undefined)
      this.later(delayMs, () => void this.deliver(imitation, sign, attempt + 1))
    return acknowledged
  }

  /** Sends once, whatever the answer: for a callback forged by a stranger. */
  async send(callback: SignedCallback): Promise<void> {
    await post(callback).catch(() => undefined)
  }

  later(delayMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      work()
    }, delayMs)
    timer.unref()
    this.#timers.add(timer)
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }
}
