import { AsyncLocalStorage } from 'node:async_hooks'
import { toStorableText } from '../db/storable.ts'

/** One request to a provider and what came back, without headers and secrets: kept for support. */
export type ProviderCallRecord = {
  method: string
  url: string
  body: string
  /** Null: no answer; `answer` then holds the reason. */
  status: number | null
  answer: string
  durationMs: number
  startedAt: number
}

export type ProviderCallScope = {
  companyId: string
  channel: string
  merchantReference: string
  /** `create`, `query`, `close`, `refund` … */
  step: string
}

export type ProviderCallSink = (place: ProviderCallScope, exchange: ProviderCallRecord) => void

const current = new AsyncLocalStorage<{ place: ProviderCallScope; sink: ProviderCallSink }>()

/** Records every provider call made while `work` runs, under this scope. */
export const withProviderCallScope = <Result>(
  place: ProviderCallScope,
  sink: ProviderCallSink,
  work: () => Promise<Result>,
): Promise<Result> => current.run({ place, sink }, work)

const MAX_TEXT = 16_000
/** Field names never recorded for any provider: credentials, and the payer's identity. */
const SECRET_NAMES =
  /("?(?:token|secret|password|authorization|signature|api_?key|private_?key|clientIp|orderClientIp|email)"?\s*[:=]\s*"?)[^"&,\s}]+/gi

/** Removes everything that grants access from a text: known secrets, and values under suspicious names. */
export function scrub(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= 6)
  const without = known.reduce((left, secret) => left.replaceAll(secret, '[secret]'), text)
  return toStorableText(without.replace(SECRET_NAMES, '$1[secret]'), MAX_TEXT)
}

/** Called by the HTTP client; outside of `recordExchanges` (a check at start) nothing is recorded. */
export function recordProviderCall(exchange: ProviderCallRecord, { secrets }: { secrets: readonly string[] }): void {
  const store = current.getStore()
  if (!store) return
  const { url, body, answer } = exchange
  store.sink(store.place, {
    ...exchange,
    url: scrub(url, secrets),
    body: scrub(body, secrets),
    answer: scrub(answer, secrets),
  })
}
