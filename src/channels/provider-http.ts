import { Agent, request } from 'undici'
import { type Clock, SECOND, systemClock } from '../kernel/clock.ts'
import { recordProviderCall } from './provider-calls.ts'
import { ProviderTrouble } from './provider-errors.ts'

export type ProviderCall = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers: Record<string, string>
  /** Sent as exactly these bytes: what was signed is what is sent. */
  body?: string
  timeoutMs?: number
}

export type ProviderAnswer = { status: number; headers: Record<string, string>; text: string }

/** One HTTP exchange with a provider. @throws ProviderTrouble when there is no complete answer in time */
export type ProviderHttp = (call: ProviderCall) => Promise<ProviderAnswer>

/** Shorter than the time after which a job takes over an unanswered accept. */
const TIMEOUT_MS = 10_000
/** No connection was made. */
const NOT_SENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])
const MAX_ANSWER_BYTES = 1024 * 1024

/** The whole answer within the time limit, at most 1 MiB. */
async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer is larger than 1 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const flat = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value ?? '')]))

/**
 * `Date` has whole seconds, and was written at some time between the request and its answer. A difference within that
 * range is not counted. RFC 9110, 6.6.1
 */
function compareClocks(date: string | string[] | undefined, askedAt: number, answeredAt: number): number | null {
  const written = typeof date === 'string' ? Date.parse(date) : Number.NaN
  if (Number.isNaN(written)) return null
  if (askedAt > written + SECOND) return askedAt - written - SECOND
  return answeredAt < written ? answeredAt - written : 0
}

/**
 * Calls providers: does not follow redirects, and records each exchange without headers and without the given secrets.
 */
export function openProviderHttp(options: { secrets: readonly string[]; clock?: Clock }): {
  http: ProviderHttp
  /** How far our clock was ahead of the last answer's `Date`; null: no answer yet. */
  clockAheadMs(): number | null
  close(): Promise<void>
} {
  const agent = new Agent({ connect: { timeout: 5000 }, keepAliveTimeout: 20_000, connections: 32 })
  const clock = options.clock ?? systemClock
  let clockAheadMs: number | null = null
  const http: ProviderHttp = async ({ method, url, headers, body, timeoutMs = TIMEOUT_MS }) => {
    const startedAt = clock()
    const note = (outcome: { status: number | null; answer: string }): void =>
      recordProviderCall(
        { method, url, body: body ?? '', ...outcome, durationMs: clock() - startedAt, startedAt },
        options,
      )
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const answer = await request(url, { method, headers, body: body ?? null, dispatcher: agent, signal })
      clockAheadMs = compareClocks(answer.headers.date, startedAt, clock()) ?? clockAheadMs
      const text = await readText(answer.body)
      note({ status: answer.statusCode, answer: text })
      return { status: answer.statusCode, headers: flat(answer.headers), text }
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error)
      note({ status: null, answer: words })
      const notSent = NOT_SENT.has((error as { code?: string }).code ?? '')
      throw new ProviderTrouble(`no answer from ${new URL(url).host}: ${words}`, { cause: error, notSent })
    }
  }
  return { http, clockAheadMs: () => clockAheadMs, close: () => agent.destroy() }
}
