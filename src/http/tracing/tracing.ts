import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'

/** Never an address with its path or query, a body, a name, or a credential. */
export type Attributes = Readonly<Record<string, string | number>>

export type Span = {
  name: string
  /** `server`: a request to us; `client`: one of ours to somebody else. */
  kind: 'server' | 'client'
  /** The request that this belongs to, on whatever node and however much later; null: of none. */
  requestId: string | null
  startMs: number
  durationMs: number
  attributes: Attributes
  /** What failed, as one word of ours; null: it worked. */
  fault: string | null
}

/** Takes spans. Absent where nothing is traced, so that nothing is spent on it. */
export type Tracer = {
  record(span: Span): void
  stop(): Promise<void>
}

export type SpanIds = { traceId: string; spanId: string; parentSpanId?: string }

/**
 * A trace's id and that of its first span follow from the request's id, which each webhook carries: a node that
 * sends it later, after a restart even, finds the trace without anything being stored for it.
 */
export function idsOf({ requestId, kind }: Pick<Span, 'requestId' | 'kind'>): SpanIds {
  if (requestId === null) return { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') }
  const hash = createHash('sha256').update(requestId).digest('hex')
  const [traceId, first] = [hash.slice(0, 32), hash.slice(32, 48)]
  if (kind === 'server') return { traceId, spanId: first }
  return { traceId, spanId: randomBytes(8).toString('hex'), parentSpanId: first }
}

const running = new AsyncLocalStorage<string>()

/** Everything that the current request starts from now on belongs to it. */
export const enterRequest = (requestId: string): void => running.enterWith(requestId)
export const runningRequest = (): string | null => running.getStore() ?? null
