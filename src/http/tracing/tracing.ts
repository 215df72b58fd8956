import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'

/** Never contains a path or query, a body, a name, or a credential. */
export type Attributes = Readonly<Record<string, string | number>>

export type Span = {
  name: string
  /** `server`: a request to us; `client`: a request from us. */
  kind: 'server' | 'client'
  /** The request that this belongs to, on any node and however much later; null: none. */
  requestId: string | null
  startMs: number
  durationMs: number
  attributes: Attributes
  /** What failed, as one word of ours; null: it worked. */
  fault: string | null
}

/** Receives spans. Undefined when tracing is off, so that it costs nothing. */
export type Tracer = {
  record(span: Span): void
  stop(): Promise<void>
}

export type SpanIds = { traceId: string; spanId: string; parentSpanId?: string }

/**
 * A trace's id and that of its first span are derived from the request's id, which each webhook carries: a node that
 * sends it later, even after a restart, finds the trace without anything being stored for it.
 */
export function idsOf({ requestId, kind }: Pick<Span, 'requestId' | 'kind'>): SpanIds {
  if (requestId === null) return { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') }
  const hash = createHash('sha256').update(requestId).digest('hex')
  const [traceId, first] = [hash.slice(0, 32), hash.slice(32, 48)]
  if (kind === 'server') return { traceId, spanId: first }
  return { traceId, spanId: randomBytes(8).toString('hex'), parentSpanId: first }
}

const running = new AsyncLocalStorage<string>()

/** Associates everything that the current request starts from now on with it. */
export const enterRequest = (requestId: string): void => running.enterWith(requestId)
export const runningRequest = (): string | null => running.getStore() ?? null
