import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { openPayerTokens } from '../src/pages/shared/payer.ts'
import { inParallel } from './harness/accounts.ts'
import { type Merchant, startTestService, type TestService } from './harness/service.ts'

let service: TestService
let merchant: Merchant

before(async () => {
  const env = { LIMIT_PAGE_PER_MINUTE: '300', LIMIT_LINK_PER_MINUTE: '30', TRUST_PROXY: '127.0.0.1' }
  service = await startTestService({ env })
  merchant = await service.createMerchant()
})
after(() => service.stop())

async function createCode(): Promise<string> {
  const body = { amount: 5, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { data, text } = await service.call<{ code: string }>('POST', 'request', { as: merchant, body })
  assert.ok(data?.code, text)
  return data.code
}

const open = (path: string, from: string, init: RequestInit = {}): Promise<Response> =>
  fetch(service.baseUrl + path, { ...init, redirect: 'manual', headers: { 'x-forwarded-for': from, ...init.headers } })

test('pages that anyone opens: 300 a minute for an address, over all of them; others are served meanwhile', async () => {
  const code = await createCode()
  const paths = [
    `/pay?code=${code}`,
    '/refund?code=a&token=b',
    '/kyc?code=a&token=b',
    '/account/reset-password?token=a',
  ]
  const ask = async (from: string, path: string): Promise<number> => {
    const answer = await open(path, from)
    await answer.arrayBuffer()
    return answer.status
  }
  const statuses: number[] = []
  for (let count = 0; count < 300; count += 1) statuses.push(await ask('198.51.100.1', paths[count % 4] ?? ''))
  assert.equal(statuses.includes(429), false, 'the three hundredth is served')
  for (const path of paths) {
    const refused = await open(path, '198.51.100.1', { headers: { 'accept-language': 'de' } })
    assert.equal(refused.status, 429, path)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    if (!path.startsWith('/account')) assert.match(await refused.text(), /<h1>Einen Moment bitte<\/h1>/)
  }
  const form = { method: 'POST', body: new URLSearchParams({ code, token: 'x', paymentChannel: 'crypto' }) }
  assert.equal((await open('/pay/accept', '198.51.100.1', form)).status, 429, 'its forms count too')
  assert.equal(await ask('198.51.100.1', '/docs/search?q=refund'), 429, 'so does the search of the documents')
  assert.equal(await ask('198.51.100.2', `/pay?code=${code}`), 200, 'another address is served')
  const api = await service.call('GET', `status/${code}`, { headers: { 'x-forwarded-for': '198.51.100.1' } })
  assert.equal(api.status, 200, 'the API has its own limits')
})

test('live streams: 20 for an address and order, 200 for an address; one that closes makes room', async () => {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  const streams: IncomingMessage[] = []
  const watch = (from: string, code: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const url = `${service.baseUrl}/pay/events?code=${code}`
      const request = get(url, { agent, headers: { 'x-forwarded-for': from } }, (answer) => {
        if (answer.statusCode === 200) streams.push(answer)
        else answer.resume()
        answer.on('error', () => {})
        resolve(answer.statusCode ?? 0)
      })
      request.on('error', reject)
    })
  const [address, other] = ['203.0.113.1', '203.0.113.2']
  const code = await createCode()
  try {
    for (let count = 1; count <= 20; count += 1) assert.equal(await watch(address, code), 200, `stream ${count}`)
    assert.equal(await watch(address, code), 429, 'the twenty-first of one order')
    assert.equal(await watch(other, code), 200, 'another address watches it')
    streams.shift()?.destroy()
    const deadline = Date.now() + 5000
    let freed = await watch(address, code)
    while (freed !== 200 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      freed = await watch(address, code)
    }
    assert.equal(freed, 200, 'a closed stream gives its place back')
    for (let more = 0; more < 9; more += 1) {
      const next = await createCode()
      for (let count = 0; count < 20; count += 1) assert.equal(await watch(address, next), 200)
    }
    assert.equal(await watch(address, await createCode()), 429, 'the two hundred and first of an address')
  } finally {
    for (const stream of streams) stream.destroy()
    agent.destroy()
  }
})

/** Asks for a stream and breaks the connection when told to, as no browser does. */
async function ask(path: string, from: string): Promise<() => Promise<void>> {
  const { hostname, port } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nX-Forwarded-For: ${from}\r\n\r\n`)
  return async () => {
    socket.resetAndDestroy()
    await closed
  }
}

test('streams that are broken off before they begin keep no place, and are no error of ours', async () => {
  const code = await createCode()
  const from = '203.0.113.3'
  const path = `/pay/events?code=${code}`
  await service.db.tx(async (tx) => {
    // every look at an order waits
    await tx.run(sql`lock table orders in access exclusive mode`)
    const breaks = await inParallel(20, () => ask(path, from))
    await new Promise((resolve) => setTimeout(resolve, 300))
    await Promise.all(breaks.map((breakOff) => breakOff()))
    await new Promise((resolve) => setTimeout(resolve, 100))
  })
  // as soon as they were sent, some before the service has read where they come from
  for (let count = 0; count < 60; count += 1) await (await ask(path, from))()
  await new Promise((resolve) => setTimeout(resolve, 500))
  const stream = await open(path, from)
  assert.equal(stream.status, 200)
  await stream.body?.cancel()
  const errors = service.logLines.filter((line) => JSON.parse(line).level >= 50)
  assert.deepEqual(errors, [])
})

test('whoever has a link asks providers 12 times a minute for an order and 90 for an address, from however many addresses', async () => {
  const step = async (from: string, code: string, token: string, path = '/pay/accept') => {
    const fields = { code, token, paymentChannel: 'binance', reference: 'ABC' }
    const headers = { origin: service.baseUrl, host: new URL(service.baseUrl).host }
    return (await open(path, from, { method: 'POST', headers, body: new URLSearchParams(fields) })).status
  }
  const openOrder = async () => {
    const code = await createCode()
    return [code, openPayerTokens(service.vault).of(code)] as const
  }
  const [code, token] = await openOrder()
  for (let count = 1; count <= 12; count += 1)
    assert.equal(await step(`192.0.2.${count}`, code, token, count % 2 ? '/pay/accept' : '/pay/transaction'), 303)
  assert.equal(await step('192.0.2.50', code, token), 429, 'the thirteenth of one order')
  assert.equal(await step('192.0.2.50', code, token, '/pay/transaction'), 429, 'asking about a payment counts too')
  const other = await openOrder()
  assert.equal(await step('192.0.2.50', ...other), 303, 'another order')
  assert.equal(await step('192.0.2.50', code, 'forged'), 303, 'who has no page of it uses up nothing')
  const counted = [await step('192.0.2.60', ...other)]
  while (counted.length < 91) {
    const next = await openOrder()
    for (let count = 0; count < 12; count += 1) counted.push(await step('192.0.2.60', ...next))
  }
  assert.deepEqual(
    [counted.indexOf(429), counted.slice(90).includes(303)],
    [90, false],
    'the ninety-first of an address',
  )
})
