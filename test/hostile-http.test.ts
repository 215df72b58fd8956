import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { type Merchant, startTestService, type TestService } from './harness/service.ts'

let host: TestService
let merchant: Merchant

before(async () => {
  host = await startTestService({ env: { CORS_ORIGINS: 'https://shop.example' } })
  merchant = await host.createMerchant()
})
after(() => host?.stop())

const bugsLogged = (): string[] => host.logLines.filter((line) => line.includes('unexpected error'))

/** Bytes as they are, which `fetch` would not send. */
async function sendRaw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(host.baseUrl)
  const socket = connect(Number(port), hostname)
  // not ended: the server takes that for a sender that went away
  socket.setTimeout(5000, () => socket.destroy()).write(bytes)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

for (const [name, raw] of [
  ['30 kB of [', '['.repeat(30_000)],
  ['33 arrays in each other', `${'['.repeat(33)}${']'.repeat(33)}`],
  ['33 objects in each other', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
  ['20 kB of valid depth', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
] as const)
  test(`${name} is 400 MALFORMED_JSON and no bug of ours`, async () => {
    const answer = await host.call('POST', 'request', { as: merchant, raw })
    assert.deepEqual([answer.status, answer.error.code], [400, 'MALFORMED_JSON'])
    assert.deepEqual(bugsLogged(), [])
  })

test('32 levels are read: brackets inside a text do not count', async () => {
  const deep = `${'{"a":'.repeat(31)}{"b":"[[[[[[[[\\"[["}${'}'.repeat(31)}`
  const answer = await host.call('POST', 'request', { as: merchant, raw: deep })
  assert.deepEqual([answer.status, answer.error.code], [422, 'VALIDATION_FAILED'])
})

for (const path of ['/%ff', '/api/next/confirm_conversion/status/%ff', '/%', '/api/next/%c3%28'])
  test(`${path} answers in our envelope`, async () => {
    const text = await sendRaw(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    const [head = '', body = ''] = text.split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 404/)
    assert.match(head, /x-request-id: /i)
    const json = JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1))
    assert.deepEqual([json.success, json.data, json.error.code], [false, null, 'NOT_FOUND'])
    assert.ok(json.error.requestId)
  })

test('an id in a path that is too long is refused alike, whatever its length', async () => {
  for (const id of ['x'.repeat(65), 'x'.repeat(500), 'x'.repeat(501), 'x'.repeat(5000)])
    for (const path of [`confirm_conversion/status/${id}`, `confirm_conversion/cancel/${id}`, `refunds/${id}`]) {
      const method = path.includes('cancel') ? 'POST' : 'GET'
      const answer = await host.call(method, `/api/next/${path}`, { as: merchant })
      assert.deepEqual([answer.status, answer.error.code], [422, 'VALIDATION_FAILED'], `${method} ${path.length}`)
    }
  assert.equal((await host.call('GET', `/docs/errors/${'x'.repeat(501)}`)).status, 404)
})

test('a request that is no HTTP, or has too many headers, is answered in our envelope, too', async () => {
  const garbage = await sendRaw('GARBAGE\r\n\r\n')
  assert.match(garbage, /^HTTP\/1\.1 400[\s\S]*"code":"MALFORMED_REQUEST"/)
  assert.match(garbage, new RegExp(`"docs":"${host.config.baseUrl}/docs/errors/MALFORMED_REQUEST"`))
  const hostless = await sendRaw('GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n')
  assert.match(hostless, /^HTTP\/1\.1 400[\s\S]*"code":"MALFORMED_REQUEST"[\s\S]*Host/)
  for (const path of ['/pay?code=x', '/link/x', '/nope', '/app'])
    assert.match(await sendRaw(`GET ${path} HTTP/1.1\r\nconnection: close\r\n\r\n`), /^HTTP\/1\.1 400/, path)
  const two = await sendRaw('GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n')
  assert.match(two, /^HTTP\/1\.1 400[\s\S]*"code":"MALFORMED_REQUEST"[\s\S]*Host once/)
  assert.match(await sendRaw('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200/)
  const long = await sendRaw(`GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(40_000)}\r\n\r\n`)
  assert.match(long, /^HTTP\/1\.1 431[\s\S]*"code":"HEADERS_TOO_LARGE"/)
})

test('a method with a body of no type, and a sender that goes away in the middle, are no bugs of ours', async () => {
  const query = await sendRaw('QUERY / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  assert.match(query, /^HTTP\/1\.1 400[\s\S]*"code":"MALFORMED_REQUEST"/)
  const { hostname, port } = new URL(host.baseUrl)
  for (const path of ['/api/next/channels/gatepay/callback', '/api/next/auth/login', '/nothing']) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    )
    socket.write('4\r\n{"a"\r\n', () => setTimeout(() => socket.resetAndDestroy(), 20))
    await new Promise((resolve) => socket.once('close', resolve))
  }
  // the server hears of it a moment later; what came after it is answered after it
  for (let count = 0; count < 10; count += 1) await fetch(`${host.baseUrl}/healthz`)
  assert.deepEqual(bugsLogged(), [])
})

test('a POST that names a type and sends no body is answered as one without a body', async () => {
  const path = '/api/next/confirm_conversion/cancel/none'
  const credentials = Object.entries(merchant.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${credentials.join('')}`
  for (const type of ['', 'content-type: application/json\r\n'])
    assert.match(await sendRaw(`${head}${type}\r\n`), /^HTTP\/1\.1 404[\s\S]*"code":"ORDER_NOT_FOUND"/)
})

test('a body that is not UTF-8 is refused with what to send, never stored with other characters', async () => {
  const sale = { amount: '12.00', fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier, alias: 'Café 1' }
  const send = async (type: string, encoding: BufferEncoding, more: Record<string, string> = {}) => {
    const answer = await fetch(`${host.baseUrl}/api/next/confirm_conversion/request`, {
      method: 'POST',
      headers: { ...merchant.headers, 'content-type': type, ...more },
      body: Buffer.from(JSON.stringify(sale), encoding),
    })
    const { status, error, data } = (await answer.json()) as {
      status: number
      error?: { code: string; message: string }
      data: { order: { alias: string } } | null
    }
    return { said: [status, error?.code ?? data?.order.alias], message: error?.message ?? '' }
  }
  const raw = await send('application/json', 'latin1')
  assert.deepEqual(raw.said, [400, 'MALFORMED_JSON'])
  assert.match(raw.message, /UTF-8/)
  for (const [type, encoding] of [
    ['application/json; charset=iso-8859-1', 'latin1'],
    ['application/json; charset=utf-16le', 'utf16le'],
    ['application/json;charset="windows-1252"', 'utf8'],
  ] as const) {
    const { said, message } = await send(type, encoding)
    assert.deepEqual(said, [415, 'UNSUPPORTED_MEDIA_TYPE'], type)
    assert.match(message, /UTF-8/, type)
  }
  const packed = await send('application/json', 'utf8', { 'content-encoding': 'gzip' })
  assert.deepEqual(packed.said, [415, 'UNSUPPORTED_MEDIA_TYPE'])
  assert.match(packed.message, /without Content-Encoding/)
  for (const [type, more] of [
    ['application/json; charset=UTF-8', {}],
    ['application/json; charset="utf8"', { 'content-encoding': 'identity' }],
    ['application/json; charset=', {}],
    ['application/json; charset=utf_8', {}],
    ["application/json; charset='utf-8'", {}],
    ['application/json; charset=ascii', {}],
  ] as const) {
    sale.alias = `Café ${type}`
    assert.deepEqual((await send(type, 'utf8', more)).said, [200, sale.alias])
  }
})

test('413 and 415 are in the reference for every path that takes a body', async () => {
  type Operation = { requestBody?: unknown; responses: Record<string, unknown> }
  const document = (await (await fetch(`${host.baseUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>
  }
  const silent = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { requestBody, responses }]) => requestBody && !(responses[413] && responses[415]))
      .map(([method]) => `${method} ${path}`),
  )
  assert.deepEqual(silent, [])
  const big = await host.call('POST', 'request', { as: merchant, raw: `{"a":"${'x'.repeat(70_000)}"}` })
  assert.deepEqual([big.status, big.error.code], [413, 'BODY_TOO_LARGE'])
  const text = await host.call('POST', 'request', {
    ...{ as: merchant, raw: 'amount=5' },
    headers: { 'content-type': 'text/plain' },
  })
  assert.deepEqual([text.status, text.error.code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
})

const preflight = (path: string) =>
  fetch(`${host.baseUrl}${path}`, {
    method: 'OPTIONS',
    headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
  })

test('with CORS_ORIGINS an unknown path stays 404, and a preflight lists the methods that exist', async () => {
  const read = await fetch(`${host.baseUrl}/api/next/nothing`, { headers: { origin: 'https://shop.example' } })
  assert.equal(read.status, 404)
  const written = await fetch(`${host.baseUrl}/api/next/nothing`, { method: 'POST' })
  assert.equal(written.status, 404)
  assert.equal((await preflight('/api/next/nothing')).status, 404)
  const known = await preflight('/api/next/sales-points/0123456789abcdef01234567')
  assert.equal(known.status, 204)
  assert.deepEqual(known.headers.get('access-control-allow-methods')?.split(', ').sort(), ['GET', 'HEAD', 'PUT'])
  assert.equal(known.headers.get('access-control-allow-origin'), 'https://shop.example')
  const stranger = await fetch(`${host.baseUrl}/api/next/sales-points`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
  })
  assert.equal(stranger.headers.get('access-control-allow-origin'), null)
})

test('ignored fields and parameters are named in Comptoir-Ignored and counted in the log', async () => {
  const body = {
    ...{ amount: 5, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' },
    ...{ returnURL: 'https://x.example', goods: { goodsName: 'Tea', colour: 'green' }, 'bad\nname': 1 },
  }
  const answer = await host.call('POST', 'request?Limit=5', { as: merchant, body })
  assert.equal(answer.status, 200, answer.text)
  const ignored = answer.headers.get('comptoir-ignored')?.split(', ') ?? []
  assert.deepEqual(ignored.sort(), ['Limit', 'bad%0Aname', 'goods.colour', 'returnURL'])
  const plain = await host.call('POST', 'request', {
    as: merchant,
    body: { amount: 5, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', alias: '' },
  })
  assert.equal(plain.headers.get('comptoir-ignored'), null)
  const counted = host.logLines.filter((line) => line.includes('"ignored"'))
  assert.ok(counted.some((line) => line.includes('returnURL')))
})

test('200 clients that send a byte a second are closed within 35 s, and others are served meanwhile', async () => {
  const { hostname, port } = new URL(host.baseUrl)
  const begun = Date.now()
  const closed: number[] = []
  const sockets: Socket[] = []
  for (let index = 0; index < 200; index += 1) {
    const socket = connect(Number(port), hostname)
    socket.resume()
    socket.on('error', () => {})
    socket.on('close', () => closed.push(Date.now() - begun))
    const isBody = index % 2 === 0
    socket.write(
      isBody
        ? 'POST /api/next/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{'
        : 'GET /healthz HTTP/1.1\r\nhost: x\r\n',
    )
    sockets.push(socket)
  }
  const drip = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('x')
  }, 1000)
  try {
    while (closed.length < 200 && Date.now() - begun < 45_000) {
      assert.equal((await host.call('GET', '', { as: merchant })).status, 200)
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    assert.equal(closed.length, 200, 'all were closed')
    assert.ok(Math.max(...closed) < 35_500, `the last after ${Math.max(...closed)} ms`)
  } finally {
    clearInterval(drip)
    for (const socket of sockets) socket.destroy()
  }
})
