import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * An OpenTelemetry collector that takes only what the OTLP specification allows in JSON: ids in lower-case hex, 64-bit
 * numbers as text, enums as numbers, no field it does not name (opentelemetry-proto: trace.proto, common.proto).
 */
type Value = { stringValue?: string; intValue?: string; doubleValue?: number }
type Attribute = { key: string; value: Value }
export type SeenSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Record<string, string | number | undefined>
  failed: boolean
}

const only = (thing: object, names: readonly string[]): void =>
  assert.deepEqual(
    Object.keys(thing).filter((name) => !names.includes(name)),
    [],
  )

function readAttributes(list: Attribute[]): SeenSpan['attributes'] {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const [[kind, content] = []] = Object.entries(value)
      assert.ok(kind === 'stringValue' || kind === 'intValue' || kind === 'doubleValue', `${key}: ${kind}`)
      assert.equal(typeof content, kind === 'doubleValue' ? 'number' : 'string', key)
      if (kind === 'intValue') assert.match(String(content), /^-?\d+$/)
      return [key, kind === 'intValue' ? Number(content) : content]
    }),
  )
}

type RawSpan = Omit<SeenSpan, 'attributes' | 'failed'> & {
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  status: { code: number; message?: string }
}

function readSpan(span: RawSpan): SeenSpan {
  const times = ['startTimeUnixNano', 'endTimeUnixNano'] as const
  only(span, ['traceId', 'spanId', 'parentSpanId', 'name', 'kind', ...times, 'attributes', 'status'])
  assert.match(span.traceId, /^(?!0+$)[0-9a-f]{32}$/)
  for (const id of [span.spanId, span.parentSpanId ?? span.spanId]) assert.match(id, /^(?!0+$)[0-9a-f]{16}$/)
  for (const time of times) assert.match(span[time], /^\d{19}$/)
  assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))
  assert.ok([1, 2, 3, 4, 5].includes(span.kind) && [0, 1, 2].includes(span.status.code))
  only(span.status, ['code', 'message'])
  const { traceId, spanId, parentSpanId, name, kind } = span
  const parent = parentSpanId === undefined ? {} : { parentSpanId }
  return {
    ...{ traceId, spanId, ...parent, name, kind },
    ...{ attributes: readAttributes(span.attributes), failed: span.status.code === 2 },
  }
}

type Batch = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { scope: { name: string }; spans: RawSpan[] }[]
  }[]
}

export type Collector = {
  url: string
  spans: SeenSpan[]
  /** What was wrong with a request; nothing should be. */
  faults: string[]
  /** Everything that arrived, as text. */
  text(): string
  close(): Promise<void>
}

export async function startCollector(token: string): Promise<Collector> {
  const [spans, faults, bodies]: [SeenSpan[], string[], string[]] = [[], [], []]
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += String(piece)
    bodies.push(body)
    try {
      assert.deepEqual([request.method, request.url], ['POST', '/v1/traces'])
      assert.deepEqual([request.headers['content-type'], request.headers['x-token']], ['application/json', token])
      const batch = JSON.parse(body) as Batch
      only(batch, ['resourceSpans'])
      for (const { resource, scopeSpans } of batch.resourceSpans) {
        assert.equal(readAttributes(resource.attributes)['service.name'], 'comptoir')
        for (const scope of scopeSpans) spans.push(...scope.spans.map(readSpan))
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    } catch (error) {
      faults.push((error as Error).message)
      response.writeHead(400).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, faults },
    text: () => bodies.join('\n'),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
