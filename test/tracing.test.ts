import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { idsOf } from '../src/http/tracing/tracing.ts'
import { openReceiverNames } from '../src/webhooks/sender/attempt-facts.ts'
import { type Collector, type SeenSpan, startCollector } from './harness/collector.ts'
import { type Market, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'

const TOKEN = 'throw-away-collector-token'
let collector: Collector
let market: Market

before(async () => {
  collector = await startCollector(TOKEN)
  market = await openMarket({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: `x-token=${TOKEN}` },
  })
})
after(async () => {
  await market?.stop()
  await collector?.close()
})

const named = (name: string, requestId: string): SeenSpan | undefined =>
  collector.spans.find((span) => span.name === name && span.attributes['comptoir.request_id'] === requestId)

const ROUTE = '/api/next/confirm_conversion'

test('a request, its calls to a provider and the webhooks that it causes are one trace, found by the request id', async () => {
  const { host, merchant, receiver } = market
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const webhookUrl = `${receiver.url}/hook/secret-in-the-path?token=abc`
  const asked = (path: string, requestId: string, content: object) =>
    host.call<{ code: string }>('POST', path, { as: merchant, body: content, headers: { 'x-request-id': requestId } })
  const made = await asked('request', 'order-request-1', { ...body, webhookUrl })
  assert.equal(made.status, 200, made.text)
  const accepted = await asked(`accept/${made.data.code}`, 'accept-request-1', { paymentChannel: 'binance' })
  assert.equal(accepted.status, 200, accepted.text)
  const refused = await asked('request', 'refused-request-1', { ...body, amount: -1 })
  assert.equal(refused.status, 400)
  const wanted: [string, string][] = [
    [`POST ${ROUTE}/request`, 'order-request-1'],
    ['webhook order.initial', 'order-request-1'],
    [`POST ${ROUTE}/accept/:code`, 'accept-request-1'],
    ['binance create', 'accept-request-1'],
    ['webhook order.pending', 'accept-request-1'],
    [`POST ${ROUTE}/request`, 'refused-request-1'],
  ]
  await eventually(
    async () => wanted.filter(([name, id]) => named(name, id) === undefined),
    (missing) => missing.length === 0,
  )
  assert.deepEqual(collector.faults, [])
  const [request, webhook] = [named(...(wanted[0] as [string, string])), named(...(wanted[1] as [string, string]))]
  assert.deepEqual([webhook?.traceId, webhook?.parentSpanId], [request?.traceId, request?.spanId])
  assert.deepEqual([request?.kind, webhook?.kind, request?.parentSpanId], [2, 3, undefined])
  assert.equal(
    named('binance create', 'accept-request-1')?.traceId,
    idsOf({ requestId: 'accept-request-1', kind: 'server' }).traceId,
  )
  assert.equal(webhook?.attributes['http.response.status_code'], 200)
  const refusal = named(`POST ${ROUTE}/request`, 'refused-request-1')
  assert.deepEqual([refusal?.attributes['http.response.status_code'], refusal?.failed], [400, false])
  assert.equal(refusal?.attributes['error.type'], refused.error.code)
})

test('no trace holds a credential, a code, an address of a receiver, or a person', async () => {
  const { merchant, host } = market
  const path = '/api/next/auth/login/manager'
  await host.call('POST', path, { body: { email: 'ada@person.example', password: 'Wr0ng-word!', origin: 'dashboard' } })
  await eventually(
    async () => collector.spans.some(({ name }) => name === `POST ${path}`),
    (seen) => seen,
  )
  const text = collector.text()
  const secrets = [...Object.values(merchant.headers), merchant.webhookSecret, 'secret-in-the-path', 'token=abc']
  for (const word of [...secrets, 'ada@person.example', 'Wr0ng-word!', '127.0.0.1"', TOKEN])
    assert.equal(text.includes(word), false, word)
})

test('a collector that is gone costs spans, never a request', async () => {
  const { host, merchant } = market
  await collector.close()
  const made = await market.create()
  assert.equal((await host.call('GET', `status/${made.code}`, { as: merchant })).status, 200)
  const dropped = async () =>
    (await host.service.metrics.getSingleMetric('comptoir_traces_dropped_total')?.get())?.values[0]
  await eventually(dropped, (found) => (found?.value ?? 0) > 0)
})

test('receivers are counted by their host, and no more than a fixed number of them', () => {
  const nameOf = openReceiverNames(2)
  const urls = ['https://a.example/x?y=1', 'https://b.example:8443/', 'https://c.example/', 'https://a.example/z']
  assert.deepEqual(urls.map(nameOf), ['a.example', 'b.example:8443', '(other)', 'a.example'])
})
