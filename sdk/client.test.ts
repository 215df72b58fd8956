import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  Comptoir,
  ComptoirError,
  type Ignored,
  isComptoirError,
  isTemporary,
  loginByDevice,
  type OrderStatus,
  WaitError,
} from './index.ts'

type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string }
type Reply = (request: Seen, response: ServerResponse, count: number) => void

const json = (response: ServerResponse, status: number, body: unknown, headers = {}): void =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
const ok = (response: ServerResponse, data: unknown): void => json(response, 200, { success: true, status: 200, data })
const fail = (response: ServerResponse, status: number, code: string, headers = {}): void =>
  json(response, status, { error: { code, message: 'said', requestId: 'r', docs: `d/${code}` } }, headers)

/** A server for one test, and a client for it. */
async function withServer(reply: Reply, use: (client: Comptoir, seen: Seen[]) => Promise<void>, options = {}) {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body }
    seen.push(one)
    reply(one, response, seen.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    await use(new Comptoir({ baseUrl, apiKey: 'pk_1', apiSecret: 'sk_1', ...options }), seen)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const BODY = { amount: '50.00', fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }

test('429, 502, 503, a running key and a lost connection are tried again under one Idempotency-Key', async () => {
  const failures: Reply[] = [
    (_, response) => fail(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '0' }),
    (_, response) => fail(response, 502, 'CHANNEL_UNAVAILABLE', { 'retry-after': '0' }),
    (_, response) => void response.writeHead(503, { 'retry-after': '0' }).end('<html>'),
    (_, response) => fail(response, 409, 'IDEMPOTENCY_IN_PROGRESS', { 'retry-after': '0' }),
    (_, response) => void response.destroy(),
  ]
  const reply: Reply = (request, response, count) =>
    failures[count - 1] ? failures[count - 1]?.(request, response, count) : ok(response, { code: 'abc' })
  await withServer(
    reply,
    async (client, seen) => {
      assert.equal((await client.orders.create(BODY)).code, 'abc')
      assert.equal(seen.length, 6)
      assert.match(String(seen[0]?.headers['idempotency-key']), /^[0-9a-f]{32}$/)
      assert.equal(new Set(seen.map(({ headers }) => headers['idempotency-key'])).size, 1)
      assert.deepEqual([seen[0]?.headers['x-api-key'], seen[0]?.headers['x-api-secret']], ['pk_1', 'sk_1'])
      await client.orders.create(BODY)
      assert.notEqual(seen[6]?.headers['idempotency-key'], seen[0]?.headers['idempotency-key'])
    },
    { maxRetries: 5 },
  )
})

test('an answer that is cut off or stalls is lost and tried again; what is not Comptoir’s is said so at once', async () => {
  const half = (response: ServerResponse) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
      .write('{"success":true,"da')
  const failures: Reply[] = [
    (_, response) => half(response) && void setTimeout(() => response.destroy(), 10),
    (_, response) => void half(response),
  ]
  const reply: Reply = ({ url }, response, count) => {
    if (url.includes('page')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
    if (url.includes('other')) return json(response, 200, ['other'])
    return failures[count - 1] ? failures[count - 1]?.({} as Seen, response, count) : ok(response, { code: 'abc' })
  }
  await withServer(
    reply,
    async (client, seen) => {
      assert.equal((await client.orders.create(BODY)).code, 'abc')
      assert.deepEqual([seen.length, new Set(seen.map(({ headers }) => headers['idempotency-key'])).size], [3, 1])
      const unexpected = (error: unknown) => isComptoirError(error, 'UNEXPECTED_ANSWER') && error.status === 200
      for (const code of ['page', 'other']) await assert.rejects(client.orders.get(code), unexpected)
      await assert.rejects(client.links.list({ search: 'page' }).all(), unexpected)
      assert.equal(seen.length, 6, 'nothing of it is asked again')
    },
    { timeoutMs: 200 },
  )
})

test('an error names the key under which its call may be repeated, and whether it may have been done', async () => {
  const answers: Record<string, Reply> = {
    lost: (_, response) => void response.destroy(),
    gateway: (_, response) => void response.writeHead(502, { 'retry-after': '0' }).end('<html>'),
    page: (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    // busy after a try whose answer was lost: that one may have been done
    later: (_, response, count) =>
      count % 2 ? response.destroy() : fail(response, 503, 'BUSY', { 'retry-after': '0' }),
    // a proxy's page, and a refusal of before the key is looked up, say nothing of the lost try; our own word does
    older: (_, response, count) => (count % 2 ? response.destroy() : fail(response, 422, 'VALIDATION_FAILED')),
    proxied: (_, response, count) => (count % 2 ? response.destroy() : response.writeHead(404).end('<html>')),
    loggedOut: (_, response, count) => (count % 2 ? response.destroy() : fail(response, 401, 'UNAUTHORIZED')),
    undone: (_, response, count) => (count % 2 ? response.destroy() : fail(response, 409, 'ORDER_STATE_CONFLICT')),
    busy: (_, response) => fail(response, 503, 'BUSY', { 'retry-after': '0' }),
    refused: (_, response) => fail(response, 409, 'ORDER_STATE_CONFLICT'),
  }
  const reply: Reply = (asked, response, count) => answers[asked.url.split('/').at(-1) ?? '']?.(asked, response, count)
  await withServer(
    reply,
    async (client, seen) => {
      for (const code of Object.keys(answers)) {
        seen.length = 0
        const options = code === 'refused' ? { idempotencyKey: 'return-7' } : {}
        const error: unknown = await client.orders.refund(code, { amount: '4.00' }, options).catch((thrown) => thrown)
        assert.ok(isComptoirError(error))
        const { idempotencyKey: key = '', mayBeDone, message } = error
        assert.deepEqual(new Set(seen.map(({ headers }) => headers['idempotency-key'])), new Set([key]), code)
        assert.equal(mayBeDone, !['undone', 'busy', 'refused'].includes(code), code)
        assert.equal(
          message.endsWith(` It may have been done. To do it once, repeat it with the idempotencyKey ${key}.`),
          mayBeDone,
        )
      }
      const read: unknown = await client.orders.get('lost').catch((thrown) => thrown)
      assert.ok(isComptoirError(read) && read.idempotencyKey === undefined && !read.mayBeDone)
    },
    { maxRetries: 1 },
  )
})

test('a refusal is not repeated; the error has code, status, request id, details and page', async () => {
  const reply: Reply = (_, response) => fail(response, 404, 'ORDER_NOT_FOUND', { 'x-request-id': 'req-1' })
  await withServer(reply, async (client, seen) => {
    const error: unknown = await client.orders.get('nope').catch((thrown: unknown) => thrown)
    assert.ok(isComptoirError(error, 'ORDER_NOT_FOUND') && !isComptoirError(error, 'FORBIDDEN'))
    const { status, requestId, details, docs, message } = error
    assert.deepEqual([status, requestId, details, docs, message], [404, 'req-1', [], 'd/ORDER_NOT_FOUND', 'said'])
    assert.equal(seen.length, 1)
  })
})

test('a login, which takes no Idempotency-Key, is not repeated after a lost connection', async () => {
  const reply: Reply = (_, response) => void response.destroy()
  await withServer(reply, async (client, seen) => {
    const attempt = client.api.login({ body: { email: 'a@b.example', password: 'x' } })
    await assert.rejects(attempt, (error) => isComptoirError(error, 'CONNECTION_FAILED'))
    assert.equal(seen.length, 1)
    await assert.rejects(client.orders.get('x', { maxRetries: 1 }), ComptoirError)
    assert.equal(seen.length, 3)
  })
})

test('a registration is repeated after a lost connection only with a credential: no key is kept without one', async () => {
  const reply: Reply = (_, response) => void response.destroy()
  const person = { firstName: 'A', lastName: 'B', email: 'a@b.example', password: 'x', role: 'SimpleUser' } as const
  await withServer(reply, async ({ baseUrl }, seen) => {
    for (const [options, tries] of [
      [{}, 1],
      [{ accessToken: 't' }, 3],
      [{ apiSecret: 'sk_1' }, 5],
    ] as const) {
      const { api } = new Comptoir({ baseUrl, ...options })
      await assert.rejects(api.register({ body: person }, { maxRetries: 1 }), ComptoirError)
      assert.equal(seen.length, tries)
    }
    const { api } = new Comptoir({ baseUrl })
    await assert.rejects(api.changeForgottenPassword({ body: { token: 't', newPassword: 'x' } }), ComptoirError)
    assert.equal(seen.length, 6)
  })
})

test('a registration without a credential is repeated only after what says that nothing was done', async () => {
  const person = { firstName: 'A', lastName: 'B', email: 'a@b.example', password: 'x', role: 'SimpleUser' } as const
  const own = (code: string): string => JSON.stringify({ error: { code, message: 'later' } })
  for (const [status, body, tries] of [
    [502, '<h1>Bad gateway</h1>', 1],
    [503, '<h1>Unavailable</h1>', 1],
    [503, own('DATABASE_UNAVAILABLE'), 1],
    [503, own('BUSY'), 2],
    [429, own('RATE_LIMITED'), 2],
  ] as const) {
    const reply: Reply = (_, response) => void response.writeHead(status).end(body)
    await withServer(reply, async ({ baseUrl }, seen) => {
      const { api } = new Comptoir({ baseUrl })
      await assert.rejects(api.register({ body: person }, { maxRetries: 1 }), { status })
      assert.equal(seen.length, tries, `${status} ${body}`)
    })
  }
})

test('a server that hangs is left after timeoutMs, a caller’s signal ends the call at once', async () => {
  await withServer(
    () => {},
    async (client, seen) => {
      const late = client.orders.get('x', { maxRetries: 0 })
      await assert.rejects(late, (error) => isComptoirError(error, 'TIMED_OUT'))
      const given = new AbortController()
      const stopped = client.orders.get('x', { signal: given.signal, timeoutMs: 60_000 })
      given.abort(new Error('enough'))
      await assert.rejects(stopped, /enough/)
      assert.ok(seen.length <= 2)
      const refund = (signal: AbortSignal) => client.orders.refund('x', { amount: '4' }, { signal, timeoutMs: 60_000 })
      await assert.rejects(refund(given.signal), /^Error: enough$/, 'nothing was sent')
      const lost: unknown = await refund(AbortSignal.timeout(50)).catch((error) => error)
      assert.ok(isComptoirError(lost, 'ABORTED') && lost.mayBeDone && lost.cause instanceof DOMException)
      assert.equal(lost.idempotencyKey, seen.at(-1)?.headers['idempotency-key'])
    },
    { timeoutMs: 80 },
  )
})

test('what cannot be sent is a TypeError at once, and no lost connection', async () => {
  const reply: Reply = (_, response) => ok(response, { code: 'abc' })
  await withServer(reply, async (client, seen) => {
    const create = (options: object, body: object = BODY) => client.orders.create(body as typeof BODY, options)
    for (const idempotencyKey of ['Order – 1', '5 €', 'é', 'a\nb', '', 'x'.repeat(256)])
      await assert.rejects(create({ idempotencyKey }), /TypeError: idempotencyKey must be/)
    await assert.rejects(create({}, { ...BODY, amount: 50n }), TypeError)
    await assert.rejects(create({ requestId: 'Order – 1' }), TypeError)
    await assert.rejects(new Comptoir({ baseUrl: client.baseUrl, apiSecret: 'sk_€' }).orders.get('x'), TypeError)
    for (const baseUrl of ['http://', client.baseUrl.replace('//', '//user:secret@')])
      assert.throws(() => new Comptoir({ baseUrl }), TypeError)
    assert.equal(seen.length, 0)
    for (const idempotencyKey of ['x'.repeat(255), 'cart 1 ~'])
      assert.equal((await create({ idempotencyKey })).code, 'abc')
    assert.equal(seen[1]?.headers['idempotency-key'], 'cart 1 ~')
  })
})

test('a timeout longer than any timer is no timeout of a millisecond; one of nothing is refused', async () => {
  const reply: Reply = (_, response) => void setTimeout(() => ok(response, { code: 'abc' }), 100)
  await withServer(
    reply,
    async (client, seen) => {
      assert.equal((await client.orders.get('x')).code, 'abc')
      assert.equal((await client.orders.get('x', { timeoutMs: 2 ** 31 })).code, 'abc')
      for (const timeoutMs of [0, -1, Number.NaN]) {
        await assert.rejects(client.orders.get('x', { timeoutMs }), /TypeError: timeoutMs must be more than 0/)
        assert.throws(() => new Comptoir({ baseUrl: client.baseUrl, timeoutMs }), /TypeError: timeoutMs/)
      }
      assert.equal(seen.length, 2)
    },
    { timeoutMs: Number.POSITIVE_INFINITY, maxRetries: 0 },
  )
})

test('a download may take longer than timeoutMs while it flows, and its reader may be slow; one that stalls is left', async () => {
  const reply: Reply = ({ url }, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' }).write('code\n')
    if (url.includes('stalls')) return
    let rows = 0
    const timer = setInterval(() => {
      response.write(`row ${rows}\n`)
      rows += 1
      if (rows < 30) return
      clearInterval(timer)
      response.end()
    }, 50)
  }
  await withServer(
    reply,
    async (client) => {
      const whole = await client.api.downloadOrders({ format: 'csv' })
      assert.deepEqual([whole.status, whole.headers.get('content-type')], [200, 'text/csv'])
      const reader = whole.body?.getReader()
      await reader?.read()
      await new Promise((resolve) => setTimeout(resolve, 1000))
      let text = ''
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
        text += new TextDecoder().decode(part.value)
      assert.match(text, /row 29\n$/)
      const stalled = await client.api.downloadOrders({ search: 'stalls' })
      const isLate = (error: unknown) =>
        isComptoirError(error, 'TIMED_OUT') && / sent nothing more for /.test(error.message)
      await assert.rejects(stalled.text(), isLate)
      const ended = new AbortController()
      const { signal } = ended
      const left = await client.api.downloadOrders({ search: 'stalls' }, { signal, timeoutMs: 60_000 })
      setTimeout(() => ended.abort(new Error('the tab was closed')), 50)
      await assert.rejects(left.text(), /the tab was closed/)
    },
    { timeoutMs: 700 },
  )
})

test('a login by device goes on while a proxy answers for the service, and ends when it is denied', async () => {
  const code = { deviceCode: 'd', userCode: 'U', intervalSeconds: 0, expiresInSeconds: 600 }
  const reply: Reply = ({ url }, response, count) => {
    if (!url.endsWith('/token')) return ok(response, code)
    if (count <= 5) return void response.writeHead(502, { 'retry-after': '0' }).end('<h1>502</h1>')
    return count === 6 ? ok(response, { apiKey: 'pk_2' }) : fail(response, 400, 'AUTHORIZATION_DENIED')
  }
  await withServer(reply, async ({ baseUrl }) => {
    const login = () => loginByDevice({ baseUrl, clientName: 'test', onCode() {} })
    assert.equal((await login()).apiKey, 'pk_2')
    await assert.rejects(login(), (error) => isComptoirError(error, 'AUTHORIZATION_DENIED'))
  })
})

test('lists read page after page, by cursor, by number and by header, and stop where they end', async () => {
  const reply: Reply = ({ url }, response) => {
    const query = new URL(url, 'http://x').searchParams
    const cursor = query.get('cursor')
    if (url.includes('/links')) {
      const next = cursor === null ? { 'comptoir-next-cursor': 'c2' } : {}
      return json(response, 200, { data: [{ code: cursor ?? 'c1' }] }, next)
    }
    if (url.includes('webhook-deliveries')) {
      const page = Number(query.get('page'))
      return ok(response, { deliveries: page < 3 ? [{ id: `${page}a` }, { id: `${page}b` }] : [] })
    }
    ok(response, { orders: [{ code: cursor ?? 'o1' }], nextCursor: cursor === null ? 'o2' : null })
  }
  await withServer(reply, async (client, seen) => {
    assert.deepEqual(
      (await client.orders.list({ status: ['PAID', 'REFUNDED'] }).all()).map(({ code }) => code),
      ['o1', 'o2'],
    )
    assert.match(seen[0]?.url ?? '', /status=PAID%2CREFUNDED/)
    assert.deepEqual(
      (await client.links.list().all()).map(({ code }) => code),
      ['c1', 'c2'],
    )
    const deliveries = await client.webhooks.deliveries({ limit: 2 }).all()
    assert.deepEqual(
      deliveries.map(({ id }) => id),
      ['1a', '1b', '2a', '2b'],
    )
    const before = seen.length
    assert.deepEqual(
      (await client.orders.list().take(1)).map(({ code }) => code),
      ['o1'],
    )
    assert.equal(seen.length, before + 1)
  })
})

test('what leaves the filter while a list is read takes nothing else out of it', async () => {
  const failed = Array.from({ length: 7 }, (_, index) => `d${index}`)
  const reply: Reply = ({ url, method }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://x')
    if (method === 'POST') failed.splice(failed.indexOf(pathname.split('/').at(-2) ?? ''), 1)
    const from = (Number(searchParams.get('page')) - 1) * 2
    const deliveries = failed.slice(from, from + 2).map((id) => ({ id }))
    ok(response, { deliveries, total: failed.length })
  }
  await withServer(reply, async (client, seen) => {
    const list = client.webhooks.deliveries({ status: ['failed'], limit: 2 })
    const ids = (await list.all()).map(({ id }) => id)
    assert.deepEqual(ids, ['d0', 'd1', 'd2', 'd3', 'd4', 'd5', 'd6'])
    assert.equal(seen.length, 4, 'each page once')
    for await (const { id } of list) if (id !== 'd2') await client.webhooks.redeliver(id)
    assert.deepEqual(failed, ['d2'])
  })
})

test('a wait on the feed of another company sees at its end that the order was paid', async () => {
  let reads = 0
  const reply: Reply = ({ url }, response) => {
    if (url.includes('/events')) return ok(response, { events: [], nextCursor: 'e1' })
    reads += 1
    ok(response, { code: 'o1', status: reads === 1 ? 'AWAITING' : ended })
  }
  let ended = 'PAID'
  await withServer(reply, async ({ orders }) => {
    const options = { timeoutMs: 500, pollMs: 100, companyId: 'f'.repeat(24) }
    assert.equal((await orders.waitUntil('o1', 'PAID', options)).status, 'PAID')
    assert.equal(reads, 2)
    await assert.rejects(orders.waitUntil('o1', 'REFUNDING', options), /is still PAID after 500 ms/)
    ;[reads, ended] = [0, 'EXPIRED']
    await assert.rejects(orders.waitUntil('o1', 'PAID', options), /is EXPIRED; .* can still make it PAID/)
    assert.equal(reads, 2)
  })
})

test('a wait outlives a restart of the service, and ends in time where it does not come back', async () => {
  const start = Date.now()
  let asked = 0
  const reply: Reply = ({ url }, response) => {
    asked += 1
    const isAway = Date.now() - start < 3000 || asked > 40
    if (isAway && asked % 2 === 1) return void response.destroy()
    if (isAway) return json(response, asked % 4 === 0 ? 502 : 503, 'a proxy')
    if (!url.includes('/events')) return ok(response, { code: 'o1', status: 'AWAITING' })
    const isPaid = Date.now() - start > 4000
    ok(response, { events: isPaid ? [{ order: { code: 'o1', status: 'PAID' } }] : [], nextCursor: 'e1' })
  }
  await withServer(reply, async ({ orders }) => {
    const order = await orders.waitUntil('o1', 'PAID', { timeoutMs: 60_000, pollMs: 300 })
    assert.equal(order.status, 'PAID')
    asked = 1000
    await assert.rejects(orders.waitUntil('o1', 'PAID', { timeoutMs: 500, pollMs: 100 }), isTemporary)
  })
})

test('a wait of a second ends also while the service takes requests and does not answer', async () => {
  let asked = 0
  const hangAfter = { requests: 2 }
  const reply: Reply = ({ url }, response) => {
    asked += 1
    if (asked > hangAfter.requests) return
    if (url.includes('/events')) return ok(response, { events: [], nextCursor: 'e1' })
    ok(response, { code: 'o1', status: 'AWAITING' })
  }
  await withServer(reply, async ({ orders }) => {
    const start = Date.now()
    const options = { timeoutMs: 1000, pollMs: 200 }
    const isKnown = (error: unknown) => error instanceof WaitError && error.order.status === 'AWAITING'
    await assert.rejects(orders.waitUntil('o1', 'PAID', options), isKnown)
    const took = Date.now() - start
    assert.ok(took >= 1000 && took < 12_000, `${took} ms`)
    const stop = new AbortController()
    const stopped = orders.waitUntil('o1', 'PAID', { timeoutMs: Infinity, signal: stop.signal })
    setTimeout(() => stop.abort(new Error('the person left')), 100)
    await assert.rejects(stopped, /the person left/)
  })
})

test('a wait ends at once where its call is refused', async () => {
  const reply: Reply = (_, response) => fail(response, 403, 'FORBIDDEN')
  await withServer(reply, async ({ orders }, seen) => {
    await assert.rejects(orders.waitUntil('o1', 'PAID'), /said/)
    assert.equal(seen.length, 1)
  })
})

test('a wait for a state that does not exist is refused, and nothing is sent', async () => {
  const reply: Reply = (_, response) => ok(response, { code: 'o1', status: 'PAID' })
  await withServer(reply, async ({ orders }, seen) => {
    for (const wrong of ['PAYED', 'paid', ['PAID', 'PAYED']] as unknown as OrderStatus[])
      await assert.rejects(
        orders.waitUntil('o1', wrong),
        /TypeError: waitUntil knows no state “.+”. Choose from: .*PAID/,
      )
    await assert.rejects(orders.waitUntil('o1', []), /TypeError: waitUntil needs a state/)
    assert.equal(seen.length, 0)
  })
})

test('without types, a filter with a typo or a missing code is refused, and nothing is sent', async () => {
  const reply: Reply = (_, response) => ok(response, { orders: [], refunds: [], nextCursor: null })
  await withServer(reply, async (client, seen) => {
    const typo = { stauts: ['PAID'] } as object
    await assert.rejects(client.orders.list(typo).all(), /TypeError: listOrders knows no “stauts”. It takes: .*status/)
    await assert.rejects(client.links.list(typo).all(), /listPaymentLinks knows no “stauts”/)
    await assert.rejects(client.refunds.get(undefined as unknown as string), /TypeError: getRefund needs “id”/)
    for (const empty of ['', ' ', '.', '..']) {
      await assert.rejects(client.orders.get(empty), /getOrderByCode needs “code”/)
      await assert.rejects(client.refunds.get(empty), /getRefund needs “id”/)
    }
    assert.equal(seen.length, 0)
    await client.orders.list({ search: undefined } as object).all()
    assert.equal(seen.length, 1)
  })
})

test('what the service ignored is warned of once, or told to onIgnored, which may throw', async (t) => {
  const warn = t.mock.method(console, 'warn', () => {})
  const ignored = { 'comptoir-ignored': 'returnURL, goods.colour%20x' }
  const reply: Reply = (_, response) => json(response, 200, { data: { code: 'a' } }, ignored)
  const body = { ...BODY, returnURL: 'https://shop.example' }
  await withServer(reply, async (client) => {
    for (let calls = 0; calls < 2; calls += 1) assert.equal((await client.orders.create(body)).code, 'a')
    assert.deepEqual(
      warn.mock.calls.map((call) => call.arguments),
      [['Comptoir ignored returnURL, goods.colour x: createOrder knows no such name.']],
    )
  })
  const onIgnored = ({ operation, names }: Ignored): never => {
    throw new Error(`${operation}: ${names.join(' ')}`)
  }
  const use = async (client: Comptoir, seen: Seen[]): Promise<void> => {
    await assert.rejects(client.orders.create(body), /createOrder: returnURL goods.colour x/)
    assert.deepEqual([seen.length, warn.mock.callCount()], [1, 1])
  }
  await withServer(reply, use, { onIgnored })
})

test('nothing in it is of Node alone, so that edge runtimes, Bun and Deno take it as it is', () => {
  const files = globSync('{*,generated/*}.ts', { cwd: import.meta.dirname }).filter(
    (file) => !file.endsWith('.test.ts'),
  )
  assert.ok(files.length > 8)
  const bound = /from 'node:|\brequire\(|\bBuffer\.|\bprocess\.|\b__dirname\b|\bglobal\./
  const wrong = files.filter((file) => bound.test(readFileSync(join(import.meta.dirname, file), 'utf8')))
  assert.deepEqual(wrong, [])
})
