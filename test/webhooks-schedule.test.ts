import assert from 'node:assert/strict'
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import type { Sender } from '../src/webhooks/sender/sender.ts'
import { type ReceivedWebhook, type Receiver, startReceiver, waitFor } from './harness/receiver.ts'
import { openWebhookWorld, type WebhookWorld } from './harness/webhook-world.ts'

/* Real time: the waits of all tests in this file run beside each other. */

type AttemptRow = {
  number: number
  startedAt: Date
  durationMs: number
  statusCode: number | null
  errorCode: string | null
  responseBody: string | null
}

let world: WebhookWorld
let receiver: Receiver
let canary: Receiver
let sender: Sender
let companyId: string
const sockets = new Set<Socket>()
const tcpServers: TcpServer[] = []

before(async () => {
  world = await openWebhookWorld()
  receiver = await startReceiver()
  canary = await startReceiver()
  companyId = (await world.newCompany()).id
  sender = await world.start()
})

after(async () => {
  await world.close()
  await Promise.all([receiver.close(), canary.close()])
  for (const socket of sockets) socket.destroy()
  for (const server of tcpServers) server.close()
})

async function send(url: string): Promise<string> {
  // a company of its own, so that the tests do not share a lane
  const { id } = await world.newCompany()
  const delivery = world.newDelivery(id, url)
  await world.insert([delivery])
  sender.wake()
  return delivery.id
}

const attemptsOf = (id: string) =>
  world.db.many<AttemptRow>(sql`
    select number, started_at, duration_ms, status_code, error_code, response_body from delivery_attempts
    where delivery_id = ${id} order by number`)

async function attemptOf(id: string, number = 1): Promise<AttemptRow> {
  await waitFor(`attempt ${number}`, async () => (await attemptsOf(id)).length >= number, 40_000)
  const row = (await attemptsOf(id))[number - 1]
  assert.ok(row)
  return row
}

/** A server that speaks TCP as told. */
async function startTcp(talk: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    talk(socket)
  })
  tcpServers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`
}

/** Seconds from the end of each request to the next. */
const gapsOf = (requests: ReceivedWebhook[]): number[] =>
  requests.slice(1).map((request, index) => (request.atMs - (requests[index]?.endedAtMs ?? Number.NaN)) / 1000)

describe('the schedule', { concurrency: true }, () => {
  test('a receiver that always answers 500 gets exactly five attempts, 2, 4, 8 and 16 s after the end of the one before', async () => {
    receiver.answer('/500', (_request, response) => setTimeout(() => response.writeHead(500).end('no'), 300))
    const id = await send(`${receiver.url}/500`)
    await waitFor('the end', async () => (await world.statusOf(id)) === 'failed', 60_000)
    const requests = receiver.at('/500')
    assert.equal(requests.length, 5)
    for (const [index, gap] of gapsOf(requests).entries()) {
      const planned = 2 ** (index + 1)
      // the receiver sees its own end up to a millisecond later than the sender; at most 1 s late is the promise
      assert.ok(gap >= planned - 0.005 && gap <= planned + 3, `gap ${index + 1} was ${gap} s`)
    }
    assert.equal(new Set(requests.map((request) => request.body)).size, 1)
    assert.equal(new Set(requests.map((request) => request.headers['service-webhook-id'])).size, 1)
    assert.equal(new Set(requests.map((request) => request.headers['service-signature'])).size, 5)
    for (const request of requests) {
      const t = Number(/^t=(\d+),/.exec(request.headers['service-signature'] ?? '')?.[1])
      assert.ok(Math.abs(request.atMs / 1000 - 0.3 - t) <= 2, 't is the time of the attempt')
    }
    const { count } = await world.db.one<{ count: bigint }>(
      sql`select count(*) as count from delivery_due where delivery_id = ${id}`,
    )
    assert.equal(count, 0n)
    await new Promise((resolve) => setTimeout(resolve, 2000))
    assert.equal(receiver.at('/500').length, 5)
  })

  test('a receiver that hangs is cut off after 10 s, five times, and the delivery then failed', async () => {
    receiver.answer('/hang', () => {})
    const id = await send(`${receiver.url}/hang`)
    await waitFor('the end', async () => (await world.statusOf(id)) === 'failed', 100_000)
    const attempts = await attemptsOf(id)
    assert.deepEqual(
      attempts.map((attempt) => attempt.errorCode),
      Array(5).fill('timeout'),
    )
    for (const { durationMs } of attempts) assert.ok(durationMs >= 10_000 && durationMs <= 12_000, `${durationMs} ms`)
    const [first, last] = [attempts[0], attempts[4]]
    const wholeMs = (last?.startedAt.getTime() ?? 0) + (last?.durationMs ?? 0) - (first?.startedAt.getTime() ?? 0)
    assert.ok(wholeMs >= 80_000 && wholeMs <= 95_000, `${wholeMs} ms`)
  })

  test('a receiver that drips its header, a byte every 300 ms, is cut off after 10 s', async () => {
    const url = await startTcp((socket) => {
      const drip = setInterval(() => socket.write('H'), 300)
      socket.write('HTTP/1.1 200 OK\r\nX-')
      socket.on('close', () => clearInterval(drip))
    })
    const attempt = await attemptOf(await send(url))
    assert.deepEqual([attempt.errorCode, attempt.statusCode], ['timeout', null])
    assert.ok(attempt.durationMs >= 10_000 && attempt.durationMs <= 12_000, `${attempt.durationMs} ms`)
  })

  test('200 and then a body that never ends is a success, and its connection is closed long before the deadline of an attempt', async () => {
    let closedAfterMs = Number.NaN
    receiver.answer('/drip', (_request, response) => {
      const startedAtMs = performance.now()
      response.writeHead(200)
      const drip = setInterval(() => response.write('.'), 100)
      response.on('close', () => {
        clearInterval(drip)
        closedAfterMs = performance.now() - startedAtMs
      })
    })
    const id = await send(`${receiver.url}/drip`)
    await waitFor('success', async () => (await world.statusOf(id)) === 'delivered')
    await waitFor('the end of the connection', () => !Number.isNaN(closedAfterMs))
    assert.ok(closedAfterMs < 8000, `${closedAfterMs} ms`)
  })

  test('of an answer of 1 GB about 64 KiB are read and 1 KiB is kept', async () => {
    let writtenBytes = 0
    receiver.answer('/gigabyte', (_request, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const write = (): void => {
        while (writtenBytes < 1e9 && !response.destroyed) {
          writtenBytes += chunk.length
          if (!response.write(chunk)) return void response.once('drain', write)
        }
        if (!response.destroyed) response.end()
      }
      response.writeHead(200)
      write()
    })
    const id = await send(`${receiver.url}/gigabyte`)
    const attempt = await attemptOf(id)
    assert.equal(await world.statusOf(id), 'delivered')
    assert.equal(attempt.responseBody?.length, 1024)
    // what left the receiver's process fills the sockets' buffers; the rest of the gigabyte was never asked for
    assert.ok(writtenBytes < 20e6, `${writtenBytes} bytes left the receiver`)
  })

  test('every status but 2xx fails its attempt, 2xx ends the delivery, and interim answers do not count', async () => {
    const good = [200, 201, 202, 204, 299]
    const bad = [300, 301, 302, 303, 307, 308, 400, 401, 404, 408, 410, 429, 500, 503, 599]
    for (const status of [...good, ...bad]) {
      receiver.answer(`/status/${status}`, (_request, response) => {
        response.writeProcessing()
        response.writeEarlyHints({ link: '</x>; rel=preload' })
        response.writeHead(status, { location: `${canary.url}/canary` }).end()
      })
    }
    const ids = await Promise.all([...good, ...bad].map((status) => send(`${receiver.url}/status/${status}`)))
    const attempts = await Promise.all(ids.map((id) => attemptOf(id)))
    assert.deepEqual(
      attempts.map((attempt) => attempt.statusCode),
      [...good, ...bad],
    )
    const failures = attempts.map((attempt) => attempt.errorCode)
    const redirects = (status: number): string => (status < 400 ? 'redirect_refused' : 'http_status')
    assert.deepEqual(failures, [...good.map(() => null), ...bad.map(redirects)])
    await Promise.all(ids.slice(good.length).map((id) => attemptOf(id, 3)))
    assert.equal(canary.received.length, 0, 'a redirect was followed')
  })

  test('an answer with 60 kB of header counts by its status', async () => {
    receiver.answer('/debug', (_request, response) => {
      for (let count = 0; count < 15; count += 1) response.setHeader(`x-debug-${count}`, 'y'.repeat(4000))
      response.writeHead(200).end()
    })
    const id = await send(`${receiver.url}/debug`)
    assert.equal((await attemptOf(id)).statusCode, 200)
    assert.equal(await world.statusOf(id), 'delivered')
  })

  test('each way to fail below HTTP has its own error code', async () => {
    const closed = await startTcp(() => {})
    await new Promise<void>((resolve) => tcpServers.at(-1)?.close(() => resolve()))
    const cases: [string, string][] = [
      [closed, 'connection_refused'],
      [await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy())), 'connection_reset'],
      [await startTcp((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 O'))), 'answer_cut_off'],
      [await startTcp((socket) => socket.once('data', () => socket.end('SSH-2.0-x\r\n\r\n'))), 'bad_answer'],
      [
        await startTcp((socket) =>
          socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`)),
        ),
        'bad_answer',
      ],
      [
        await startTcp((socket) =>
          socket.once('data', () =>
            socket.end(
              'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
            ),
          ),
        ),
        'bad_answer',
      ],
      ['http://webhooks.invalid/', 'dns_not_found'],
      ['http://10.1.2.3/', 'address_refused'],
      [closed.replace('http:', 'https:').replace(/:\d+\//, `:${receiver.port}/`), 'tls_failed'],
    ]
    const attempts = await Promise.all(cases.map(async ([url]) => attemptOf(await send(url))))
    assert.deepEqual(
      attempts.map((attempt) => attempt.errorCode),
      cases.map(([, code]) => code),
    )
  })

  test('the address is decided anew for each attempt, and an http address is not called where http is not allowed', async () => {
    const strict = await openWebhookWorld()
    const { id: company } = await strict.newCompany()
    const deliveries = [strict.newDelivery(company, `${receiver.url}/strict`)]
    await strict.insert(deliveries)
    const config = { webhooks: { allowHttp: false, allowedRanges: ['127.0.0.0/8'] }, port: 0 }
    await strict.start({ config })
    const attempted = () => strict.db.many<AttemptRow>(sql`select error_code from delivery_attempts`)
    await waitFor('the attempt', async () => (await attempted()).length === 1)
    assert.equal((await attempted())[0]?.errorCode, 'scheme_refused')
    assert.equal(receiver.at('/strict').length, 0)
    await strict.close()
  })

  test('a node whose clock is ten minutes wrong keeps the schedule and raises an alarm', async () => {
    const skewed = await openWebhookWorld()
    const { id: company } = await skewed.newCompany()
    receiver.answer('/skewed', 500)
    await skewed.insert([skewed.newDelivery(company, `${receiver.url}/skewed`)])
    await skewed.start({ clock: () => Date.now() - 600_000, metrics: skewed.metrics })
    await waitFor('three attempts', () => receiver.at('/skewed').length === 3)
    const gaps = gapsOf(receiver.at('/skewed'))
    assert.deepEqual(
      gaps.map((gap) => Math.floor(gap + 0.005)),
      [2, 4],
    )
    assert.ok(skewed.log.lines.some((line) => line.level === 'error' && line.text.includes('clock')))
    assert.match(await skewed.metrics.metrics(), /clock_skew_seconds -(599|600)/)
    await skewed.close()
  })

  test('two deliveries of one pair are one; a second refund is a delivery of its own', async () => {
    const part = { orderId: 'a'.repeat(24), event: 'order.refunded' as const }
    const url = `${receiver.url}/pair`
    const once = world.newDelivery(companyId, url, { ...part, refundId: 'r1' })
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => world.insert([once, once])))
    }
    await world.insert([world.newDelivery(companyId, url, { ...part, refundId: 'r2' })])
    sender.wake()
    await waitFor('both', () => receiver.at('/pair').length >= 2)
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.equal(new Set(receiver.at('/pair').map((request) => request.headers['service-webhook-id'])).size, 2)
    assert.equal(receiver.at('/pair').length, 2)
  })
})
