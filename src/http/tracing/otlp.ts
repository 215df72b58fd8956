import { hostname } from 'node:os'
import { Counter, type Registry } from 'prom-client'
import { MINUTE, SECOND } from '../../kernel/clock.ts'
import { type Attributes, idsOf, type Span, type Tracer } from './tracing.ts'

const FLUSH_MS = 2 * SECOND
const BATCH = 512
/** While the collector is down, at most this many spans wait in memory; then spans are lost, never requests. */
const MOST_WAITING = 4096
const ANSWER_MS = 5 * SECOND
const NANOSECONDS = 1_000_000n

export type TracingOptions = {
  /** URL of the collector, without /v1/traces. */
  endpoint: string
  /** `name=value`, for the collector's own credential. */
  headers: readonly string[]
  serviceName: string
  /** The share of requests that is traced; the same requests on all nodes. */
  share: number
  version: string
  metrics: Registry
  log: { warn(fields: object, text: string): void }
}

type Value = { stringValue: string } | { intValue: string } | { doubleValue: number }

const typed = (value: string | number): Value => {
  if (typeof value === 'string') return { stringValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

const attributesOf = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: typed(value) }))

const nanoseconds = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * (NANOSECONDS / 1000n))

const KINDS = { server: 2, client: 3 } as const

/** A span in the JSON form of OTLP/HTTP: ids in hex, 64-bit numbers as text, enums as numbers (OTLP 1.x, "JSON"). */
function toOtlp(span: Span) {
  const { name, kind, startMs, durationMs, attributes, requestId, fault } = span
  return {
    ...idsOf(span),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(startMs + durationMs),
    attributes: attributesOf({ ...attributes, ...(requestId !== null && { 'comptoir.request_id': requestId }) }),
    status: fault === null ? { code: 0 } : { code: 2, message: fault },
  }
}

const readHeaders = (headers: readonly string[]): Record<string, string> =>
  Object.fromEntries(headers.map((pair) => [pair.split('=', 1)[0]?.trim() ?? '', pair.slice(pair.indexOf('=') + 1)]))

/** Whether a trace is sampled: every node decides the same (by the id's first 48 bits). */
const isKept = (span: Span, share: number): boolean =>
  share >= 1 || Number.parseInt(idsOf(span).traceId.slice(0, 12), 16) / 2 ** 48 < share

/**
 * Sends spans to an OpenTelemetry collector: OTLP over HTTP, in JSON. Spans that it does not accept are dropped and
 * counted. Source: OpenTelemetry Protocol Specification 1.x, "OTLP/HTTP"; attribute names: semantic conventions for
 * HTTP.
 */
export function openTracer(options: TracingOptions): Tracer {
  const { endpoint, serviceName, share, version, metrics, log } = options
  const dropped = new Counter({
    name: 'comptoir_traces_dropped_total',
    help: 'Spans that the collector did not take.',
    registers: [metrics],
  })
  const url = `${endpoint}/v1/traces`
  const headers = { ...readHeaders(options.headers), 'content-type': 'application/json' }
  const resource = {
    attributes: attributesOf({
      ...{ 'service.name': serviceName, 'service.version': version },
      'service.instance.id': `${hostname()}:${process.pid}`,
    }),
  }
  let waiting: Span[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> = Promise.resolve()
  let warnedAtMs = Number.NEGATIVE_INFINITY

  const lose = (count: number, reason: string): void => {
    dropped.inc(count)
    if (performance.now() - warnedAtMs < MINUTE) return
    warnedAtMs = performance.now()
    log.warn({ spans: count, reason }, 'the collector does not accept traces')
  }
  const send = async (spans: readonly Span[]): Promise<void> => {
    const scopeSpans = [{ scope: { name: 'comptoir', version }, spans: spans.map(toOtlp) }]
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] })
    const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(ANSWER_MS) }
    const answer = await fetch(url, { ...request, redirect: 'error' }).catch((error: Error) => error)
    if (answer instanceof Error) return lose(spans.length, answer.name)
    await answer.body?.cancel()
    if (!answer.ok) lose(spans.length, `answer ${answer.status}`)
  }
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    sending = sending.then(async () => {
      while (waiting.length > 0) await send(waiting.splice(0, BATCH))
    })
    return sending
  }
  return {
    record(span) {
      if (!isKept(span, share)) return
      if (waiting.length >= MOST_WAITING) return lose(1, 'too many wait')
      waiting.push(span)
      timer ??= setTimeout(() => void flush(), FLUSH_MS).unref()
    },
    async stop() {
      await flush()
      waiting = []
    },
  }
}
