import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ORDER_STATUSES, verifyWebhook, type WebhookHeaders } from '../sdk/index.ts'
import { eventuallyListens } from './harness/bad-uploads.ts'
import { bareEnv } from './harness/bare-env.ts'
import { SECRET } from './harness/broken-receivers.ts'
import { freePort } from './harness/free-port.ts'
import { openDeveloper, type Runner } from './harness/installation.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* What the developer's commands refuse and bear, and that they say why instead of waiting, guessing or praising. */

const BIN = join(import.meta.dirname, '../bin/comptoir.cjs')

let folder: string
let shop: Shop
let developer: Runner

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-refusals-'))
  developer = openDeveloper(folder)
  shop = await openShop()
})
after(async () => {
  await Promise.all([developer?.close(), shop?.stop()])
  rmSync(folder, { recursive: true, force: true })
})

type Done = { code: number | null; out: string; err: string }

function environment(url: string): Record<string, string> {
  const { headers } = shop.merchant
  const key = { COMPTOIR_API_KEY: headers['x-api-key'] ?? '', COMPTOIR_API_SECRET: headers['x-api-secret'] ?? '' }
  return { ...bareEnv(), HOME: folder, COMPTOIR_URL: url, ...key }
}

const start = (args: string[], url: string) =>
  spawn(process.execPath, [BIN, ...args], { cwd: folder, env: environment(url), stdio: ['pipe', 'pipe', 'pipe'] })

const comptoir = (...args: string[]): Promise<Done> => comptoirAt(shop.host.baseUrl, ...args)

const comptoirAt = (url: string, ...args: string[]): Promise<Done> =>
  developer.run({ args, env: environment(url), cwd: folder })

/** A process of its own, as a developer types it: it has to end. */
async function typed(...args: string[]): Promise<Done> {
  const child = start(args, shop.host.baseUrl)
  child.stdin.end()
  const [out, err, [code]] = await Promise.all([child.stdout.toArray(), child.stderr.toArray(), once(child, 'close')])
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }
}

const tryReceiver = (url: string, run = comptoir): Promise<Done> =>
  run('webhooks', 'test', url, '--secret', SECRET, '--timeout', '2')

test('webhooks test praises nothing where nothing listens', async () => {
  const url = `http://127.0.0.1:${await freePort()}/`
  const { code, out, err } = await tryReceiver(url, typed)
  assert.deepEqual([code, out, err], [1, '', `Nothing listens at ${url}. Start the receiver, or check the address.\n`])
  const nowhere = await tryReceiver('nowhere:4000/')
  assert.deepEqual([nowhere.code, nowhere.out], [1, ''])
  assert.match(nowhere.err, /^nowhere:4000\/ cannot be reached: .+\. Start the receiver, or check the address\.\n$/)
})

test('webhooks test praises no receiver that refuses everything, and asks about its secret', async () => {
  const server = createServer(
    (request, response) => void request.resume().on('end', () => response.writeHead(401).end()),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { code, out } = await tryReceiver(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  server.close()
  assert.equal(code, 1)
  assert.match(out, /WRONG takes a good webhook\n +It answered 401 .+ this secret, which ends in .{5}\?\n/)
  assert.doesNotMatch(out, /good +refuses/)
  assert.match(out, /– +refuses a changed body: not tried, for it takes no good webhook\n/)
})

type Fate = 'answer' | 'close'

/** Takes good webhooks; does `fate` with the rest. `breaksForGood`: nothing is answered after the first close. */
async function openClosing(fate: (isGood: boolean) => Fate, breaksForGood = false) {
  let isBroken = false
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray().catch(() => []))
    const isGood = await verifyWebhook(body, request.headers as WebhookHeaders, SECRET).then(
      () => true,
      () => false,
    )
    if (isBroken || fate(isGood) === 'close') {
      isBroken = breaksForGood
      return void request.socket.destroy()
    }
    response.writeHead(isGood ? 204 : 400).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() }
}

test('webhooks test: closing the connection refuses a forged webhook, but takes no good one and is no crash', async () => {
  const closes = await openClosing(() => 'close')
  const silent = await tryReceiver(closes.url)
  closes.close()
  assert.deepEqual([silent.code, /good {2}/.test(silent.out)], [1, false], silent.out)
  assert.match(silent.out, /^WRONG answers in time\n {6}It closed the connection on a good webhook/)

  const refuses = await openClosing((isGood) => (isGood ? 'answer' : 'close'))
  const fine = await tryReceiver(refuses.url)
  refuses.close()
  assert.deepEqual([fine.code, /WRONG/.test(fine.out)], [0, false], fine.out)

  const crashes = await openClosing((isGood) => (isGood ? 'answer' : 'close'), true)
  const crashed = await tryReceiver(crashes.url)
  crashes.close()
  assert.equal(crashed.code, 1)
  assert.match(crashed.out, /WRONG refuses a signature of another secret\n/)
  assert.doesNotMatch(crashed.out, /good {2}refuses/)
})

/** Reads the body where nothing catches that it was cut off. */
const FRAGILE = `
  import { createServer } from 'node:http'
  import { verifyWebhook } from '${new URL('../sdk/index.ts', import.meta.url)}'
  createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    await verifyWebhook(Buffer.concat(chunks), request.headers, '${SECRET}').then(
      () => response.writeHead(204).end(),
      () => response.writeHead(400).end(),
    )
  }).listen(Number(process.env.PORT), '127.0.0.1')`

test('webhooks test finds that a receiver ends with an upload that is cut off', async () => {
  const port = await freePort()
  const args = ['--input-type=module', '--eval', FRAGILE]
  const child = spawn(process.execPath, args, { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' })
  const ended = once(child, 'exit')
  await eventuallyListens(port)
  const { code, out } = await tryReceiver(`http://127.0.0.1:${port}/`)
  child.kill()
  assert.deepEqual([code, (await ended)[0]], [1, 1], out)
  assert.deepEqual(out.match(/WRONG.*\n.*/g), [
    'WRONG survives an upload that is cut off\n      It could not be reached for a good webhook after one that was cut off. Did it crash?',
  ])
})

test('orders export says why a file cannot be written, and leaves no part of one', async () => {
  await shop.create()
  const nowhere = await typed('orders', 'export', '/nonexistent/x.csv')
  assert.deepEqual(
    [nowhere.code, nowhere.out, nowhere.err],
    [1, '', '/nonexistent/x.csv cannot be written: there is no such folder.\n'],
  )
  for (const file of ['full.csv', 'full.xlsx']) {
    // where the parts are collected is as full as this device always is
    symlinkSync('/dev/full', join(folder, `${file}.part`))
    const full = await comptoir('orders', 'export', file)
    assert.deepEqual([full.code, full.err], [1, `${file} cannot be written: the disk is full.\n`])
  }
  assert.ok(existsSync('/dev/full'))
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('full')),
    [],
  )
})

/** Breaks off in the third order of three, is then busy as often as told, and then answers with what is left. */
async function openBreakingExport(busy: number) {
  const rows = ['a', 'b', 'c'].map((letter) => `${letter.repeat(24)},${letter}\r\n`)
  const asked: (string | null)[] = []
  const server = createServer((request, response) => {
    const after = new URL(request.url ?? '', 'http://x').searchParams.get('after')
    asked.push(after)
    const headers = { 'content-type': 'text/csv', 'x-total-count': '3' }
    if (asked.length === 1) {
      response
        .writeHead(200, headers)
        .write(`_id,name\r\n${rows[0]}${rows[1]}ccc`, () => setTimeout(() => response.destroy(), 100))
    } else if (asked.length <= 1 + busy) {
      response.writeHead(503, { 'retry-after': '0' }).end('{"error":{"code":"BUSY","message":"Try again later."}}')
    } else {
      response.writeHead(200, headers).end(rows.slice(after === 'b'.repeat(24) ? 2 : 0).join(''))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close(), rows }
}

test('orders export bears a busy service, and keeps what came from one that stays busy, to be continued', async () => {
  const short = await openBreakingExport(2)
  const done = await comptoirAt(short.url, 'orders', 'export', 'busy.csv')
  short.close()
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /BUSY: Try again later\. Trying again/)
  const whole = `_id,name\r\n${short.rows.join('')}`
  assert.equal(readFileSync(join(folder, 'busy.csv'), 'utf8'), whole)

  const long = await openBreakingExport(6)
  const failed = await comptoirAt(long.url, 'orders', 'export', 'left.csv')
  assert.deepEqual([failed.code, existsSync(join(folder, 'left.csv'))], [1, false])
  assert.match(failed.err, /BUSY: .*\n2 orders are in left\.csv\.part\. For the rest, repeat .* --continue/)
  const continued = await comptoirAt(long.url, 'orders', 'export', 'left.csv', '--continue')
  long.close()
  assert.deepEqual([continued.code, continued.out], [0, '3 orders are in left.csv.\n'], continued.err)
  assert.equal(readFileSync(join(folder, 'left.csv'), 'utf8'), whole)
  assert.deepEqual(long.asked.slice(1), Array(long.asked.length - 1).fill('b'.repeat(24)))

  for (const file of ['none.csv', 'none.xlsx'])
    assert.equal((await comptoirAt(long.url, 'orders', 'export', file, '--continue')).code, 2, file)
})

test('a state that does not exist is refused at once, with those that do', async () => {
  const { code } = await shop.create()
  for (const command of [['wait', code], ['list']]) {
    const startedAt = Date.now()
    const refused = await typed('orders', ...command, '--status', 'PAID,NOPE')
    assert.deepEqual([refused.code, refused.out], [2, ''])
    assert.ok(refused.err.startsWith(`"NOPE" is no state. Choose from: ${ORDER_STATUSES.join(', ')}.`), refused.err)
    assert.ok(Date.now() - startedAt < 30_000, 'it did not wait for it')
  }
  assert.equal((await comptoir('orders', 'wait', code, '--status', 'PAID,INITIAL')).code, 0)
})

test('a limit and an amount of nothing are refused in a sentence', async () => {
  const { code } = await shop.create()
  const list = await comptoir('orders', 'list', '--limit', '0')
  assert.deepEqual([list.code, list.out], [2, ''])
  assert.match(list.err, /^--limit must be at least 1\.\n/)
  for (const command of ['pay', 'refund']) {
    for (const [amount, reason] of [
      ['0', '--amount must be more than 0.'],
      ['0.000', '--amount must be more than 0.'],
      ['many', '--amount takes a decimal like 50.00, not "many".'],
    ] as const) {
      const { code: exit, out, err } = await comptoir('orders', command, code, '--amount', amount)
      assert.deepEqual([exit, out, err.split('\n')[0]], [2, '', reason], `${command} ${amount}`)
    }
  }
})

test('logs fails when no request has the id', async () => {
  const { code, out, err } = await comptoir('logs', '--request', 'zzz')
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /^No request in the log has the id "zzz"\. /)
})

test('an order is found by its reference, also one that looks like a code, or that 100 newer ones begin with', async () => {
  const codeOf = async (reference: string): Promise<string> =>
    JSON.parse((await comptoir('orders', 'show', reference, '--json')).out).code
  const id = '65f1c0ffee65f1c0ffee65f1'
  const byId = await shop.create({ alias: id })
  const old = await shop.create({ alias: 'WC-12' })
  await Promise.all(Array.from({ length: 100 }, (_, index) => shop.create({ alias: `WC-12${100 + index}` })))
  assert.equal(await codeOf(id), byId.code)
  assert.equal(await codeOf('WC-12'), old.code)
  assert.equal(await codeOf(old.code), old.code)
})

/** A service that knows one order, also by a reference of a visitor (`button…`), and loses each answer to a POST. */
async function openLossy() {
  const keys: (string | undefined)[] = []
  const order = { code: 'A'.repeat(24), status: 'PAID', alias: null }
  const server = createServer((request, response) => {
    const { method, url = '', headers } = request
    if (method === 'POST') keys.push(headers['idempotency-key']?.toString())
    if (method === 'POST' && !url.endsWith('/made')) return void response.destroy()
    const isKnown = url.includes(order.code) || url.includes('/status/order/button')
    const data = url.includes('search=')
      ? { orders: [], nextCursor: null }
      : method === 'POST'
        ? { refundId: 'r1' }
        : order
    const isFine = url.includes('search=') || method === 'POST' || isKnown
    const body = isFine ? { data } : { error: { code: 'ORDER_NOT_FOUND', message: 'No such order.' } }
    response.writeHead(isFine ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, keys, code: order.code, close: () => server.close() }
}

test('a refund whose answer was lost is said to be made perhaps, with the command that makes it once', async (t) => {
  const { url, keys, code, close } = await openLossy()
  t.after(close)
  const first = await comptoirAt(url, 'orders', 'refund', code, '--amount', '4', '--reason', "it's cold")
  const [key] = keys
  assert.deepEqual([first.code, first.out, new Set(keys)], [1, '', new Set([key])])
  const lines = first.err.trim().split('\n').slice(-2)
  assert.deepEqual(lines, [
    `Perhaps the refund was made. Look: comptoir orders show ${code}`,
    `To make it once, repeat exactly this: comptoir orders refund ${code} --amount 4 --reason 'it'\\''s cold' --key ${key}`,
  ])
  const again = await comptoirAt(url, 'orders', 'refund', code, '--amount', '4', '--key', 'return 118', '--json')
  assert.equal(keys.at(-1), 'return 118')
  const { idempotencyKey, mayBeDone } = JSON.parse(again.out).error
  assert.deepEqual([again.code, idempotencyKey, mayBeDone], [1, 'return 118', true])
  assert.match(again.err, /repeat exactly this: .* --amount 4 --key 'return 118' --json\n$/)
  const create = await comptoirAt(url, 'orders', 'create', '--amount', '5', '--currency', 'EUR')
  assert.match(create.err, /repeat exactly this: comptoir orders create --amount 5 --currency EUR --key [\w-]{36}\n$/)
  const wrong = await comptoirAt(url, 'orders', 'refund', code, '--key', 'é')
  assert.deepEqual([wrong.code, wrong.err.split('\n')[0]], [2, '--key takes 1 to 255 printable characters of ASCII.'])
})

test('a refund that is ended while it is under way says how to make it once', async () => {
  const keys: (string | undefined)[] = []
  const server = createServer(({ method, headers }, response) => {
    if (method === 'POST') keys.push(headers['idempotency-key']?.toString())
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":{"code":"a","status":"PAID"}}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const code = 'A'.repeat(24)
  const child = start(
    ['orders', 'refund', code, '--amount', '4'],
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  )
  try {
    await eventually(
      async () => keys.length,
      (count) => count === 1,
    )
    child.kill('SIGINT')
    const [err, [exit, signal]] = await Promise.all([child.stderr.toArray(), once(child, 'close')])
    assert.deepEqual([exit, signal], [null, 'SIGINT'])
    assert.equal(
      Buffer.concat(err).toString(),
      `Perhaps the refund was made. Look: comptoir orders show ${code}\n` +
        `To make it once, repeat exactly this: comptoir orders refund ${code} --amount 4 --key ${keys[0]}\n`,
    )
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a reference that only a visitor gave an order of a buy button is no name of it: no money moves by it', async (t) => {
  const { url, keys, code, close } = await openLossy()
  t.after(close)
  for (const command of ['refund', 'wait', 'show']) {
    const { code: exit, out, err } = await comptoirAt(url, 'orders', command, 'button-7')
    const reason = `No order of yours has the reference "button-7". The buy button’s order ${code} carries it: use the code.\n`
    assert.deepEqual([exit, out, err, keys], [1, '', reason, []], command)
  }
})

test('a damaged file of logins is named, and a login repairs it and keeps a copy', async () => {
  const file = join(folder, 'login.json')
  const { 'x-api-key': apiKey = '', 'x-api-secret': apiSecret = '' } = shop.merchant.headers
  const run = async (...args: string[]) => {
    const login = { COMPTOIR_LOGIN_FILE: file, COMPTOIR_API_KEY: '', COMPTOIR_API_SECRET: '' }
    const env = { ...environment(shop.host.baseUrl), ...login }
    return await developer.run({ args, env, cwd: folder, input: `${apiSecret}\n` })
  }
  for (const damaged of ['{"current":"http', 'null']) {
    writeFileSync(file, damaged)
    for (const args of [
      ['orders', 'list'],
      ['login', '--list'],
    ]) {
      const { code, err } = await run(...args)
      assert.deepEqual(
        [code, err.split('\n')[0]],
        [2, `${file} is damaged. Log in again with "comptoir login --url URL"; it keeps a copy.`],
      )
    }
    const login = await run('login', '--url', shop.host.baseUrl, '--api-key', apiKey)
    assert.equal(login.code, 0, login.err)
    assert.equal(readFileSync(`${file}.damaged`, 'utf8'), damaged)
    assert.equal((await run('orders', 'list')).code, 0)
  }
})

type Passed = { path: string; text: string }

/** A proxy before the service; `answers` may answer instead of it. */
async function openFront() {
  const front = { url: '', passed: [] as Passed[], answers: (_path: string): string | undefined => undefined }
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const page = front.answers(path)
    const headers = { 'x-api-key': '', 'x-api-secret': '', ...shop.merchant.headers }
    const answer = page === undefined ? await fetch(`${shop.host.baseUrl}${path}`, { headers }) : undefined
    const text = page ?? (await answer?.text()) ?? ''
    response.writeHead(answer?.status ?? 502, { 'retry-after': '0' }).end(text)
    front.passed.push({ path, text })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  front.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { front, close: () => server.close() }
}

test('listen refuses a secret that cannot sign before it listens', async () => {
  const { code, err } = await typed('listen', '--forward-to', 'http://127.0.0.1:1', '--secret', 'foo')
  assert.equal(code, 2)
  assert.match(err, /^--secret: /)
})

test('listen says that it listens only after the service took the cursor', async () => {
  const { code, err } = await typed('listen', '--forward-to', 'http://127.0.0.1:1', '--after', 'nonsense')
  assert.equal(code, 1)
  assert.doesNotMatch(err, /Listening/)
})

test('what an order carries does not steer the terminal', async () => {
  const { code } = await shop.create({ alias: 'WC-\u001b[31m\u009b2J\u0007-9' })
  for (const args of [
    ['orders', 'list'],
    ['orders', 'show', code],
    ['logs', code],
    ['explain', code],
  ]) {
    const { out, err } = await comptoir(...args)
    assert.doesNotMatch(out + err, /(?!\n)\p{Cc}/u, args.join(' '))
  }
  const { out } = await comptoir('orders', 'list')
  assert.match(out, /WC-\ufffd\[31m\ufffd2J\ufffd-9/)
})

test('listen --json begins with the secret that it made, and each event is signed with it', async () => {
  const { front, close } = await openFront()
  const received: Promise<string>[] = []
  const server = createServer(async (request, response) => {
    const { secret } = JSON.parse(heard.split('\n')[0] ?? '') as { secret: string }
    const body = Buffer.concat(await request.toArray().catch(() => []))
    received.push(verifyWebhook(body, request.headers as WebhookHeaders, secret).then(({ type }) => type))
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const listener = start(['listen', '--forward-to', own, '--after', 'start', '--json'], front.url)
  let heard = ''
  listener.stdout.on('data', (chunk: Buffer) => {
    heard += chunk.toString()
  })
  try {
    await shop.create()
    await eventually(
      async () => received.length,
      (count) => count > 0,
    )
    assert.equal(await received[0], 'order.initial')
    const { listening, secret } = JSON.parse(heard.split('\n')[0] ?? '') as { listening: boolean; secret: string }
    assert.equal(listening, true)
    assert.match(secret, /^whsec_.{40,}$/)
  } finally {
    listener.kill()
    server.close()
    close()
  }
})

test('listen replays from the start, loses no event to a failed read, and goes on while a proxy answers', async () => {
  const { code: old } = await shop.create()
  const { front, close } = await openFront()
  const listener = start(['listen', '--forward-to', 'http://127.0.0.1:1', '--after', 'start', '--json'], front.url)
  let heard = ''
  listener.stdout.on('data', (chunk: Buffer) => {
    heard += chunk.toString()
  })
  const hears = (code: string) =>
    eventually(
      async () => heard.includes(code),
      (isHeard) => isHeard,
    )
  const TRIES = 4
  try {
    await hears(old)

    front.answers = (path) => (path.includes('/kyc') ? '<h1>502</h1>' : undefined)
    const { code: missed } = await shop.create()
    const failsAfter = async () => {
      const from = front.passed.findIndex(({ text }) => text.includes(missed))
      return from < 0 ? 0 : front.passed.slice(from).filter(({ path }) => path.includes('/kyc')).length
    }
    await eventually(failsAfter, (times) => times >= TRIES)
    front.answers = () => undefined
    await hears(missed)

    const before = front.passed.length
    front.answers = () => '<h1>502</h1>'
    await eventually(
      async () => front.passed.length - before,
      (times) => times > TRIES,
    )
    front.answers = () => undefined
    await hears((await shop.create()).code)
  } finally {
    listener.kill()
    close()
  }
})
