import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/*
 * One company at full force, and what another company notices of it: p99 of creating and reading an order, quiet and
 * beside parallel reverts, exports, logins, live streams and slow clients. Goal: at most 3 times its quiet value.
 * Run: npm run bench -- hostile
 */

const SECONDS = 10
const CALLS_PER_SECOND = 40
const WARM_UP_SECONDS = 3

type Facts = {
  baseUrl: string
  providersUrl: string
  manager: { email: string; password: string }
  superAdmin: { email: string; password: string }
  mailboxUrl: string
  apiKey: string
  apiSecret: string
}
type Headers = Record<string, string>

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

async function startService(dataDir: string): Promise<{ child: ChildProcess; facts: Facts }> {
  const limits = Object.fromEntries(
    ['ACCOUNT', 'ADDRESS', 'PUBLIC', 'COMPANY'].map((name) => [`LIMIT_${name}_PER_MINUTE`, '0']),
  )
  const env = { ...process.env, ...limits, DATA_DIR: dataDir, PORT: String(await freePort()), LOG_LEVEL: 'fatal' }
  const main = join(import.meta.dirname, '../src/main.ts')
  const child = spawn(process.execPath, [main, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const chunk of child.stdout) if (String(chunk).includes('is ready')) break
  return { child, facts: JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')) as Facts }
}

async function call<Data>(url: string, headers: Headers, body?: unknown): Promise<{ status: number; data: Data }> {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.includes('json') === true
  return { status: answer.status, data: (isJson ? JSON.parse(text).data : text) as Data }
}

const quantile = (list: number[], share: number): number =>
  [...list].sort((left, right) => left - right)[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0

const ORDERS = '/api/next/confirm_conversion'
const SALE = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }

/** Another merchant of the same service, whose first token is good for selling at once in the sandbox. */
async function registerNeighbour({ baseUrl }: Facts): Promise<Headers> {
  const { data } = await call<{ token: string }>(
    `${baseUrl}/api/next/auth/register`,
    {},
    {
      ...{ email: 'neighbour@demo.invalid', password: 'Correct-Horse-7-Staple', firstName: 'N', lastName: 'B' },
      ...{ role: 'Manager', companyName: 'Neighbour' },
    },
  )
  return { authorization: `Bearer ${data.token}` }
}

type Measured = { create: number[]; read: number[]; failed: number }

/** The neighbour's day: an order and a look at it, at a steady rate whatever the answers take. */
async function measure({ baseUrl }: Facts, neighbour: Headers, seconds: number): Promise<Measured> {
  const measured: Measured = { create: [], read: [], failed: 0 }
  const pending = new Set<Promise<void>>()
  const visit = async (): Promise<void> => {
    const begunAt = performance.now()
    const { status, data } = await call<{ code: string }>(`${baseUrl}${ORDERS}/request`, neighbour, SALE)
    const createdAt = performance.now()
    measured.create.push(createdAt - begunAt)
    if (status !== 200) {
      measured.failed += 1
      return
    }
    const read = await call(`${baseUrl}${ORDERS}/status/${data.code}`, neighbour)
    measured.read.push(performance.now() - createdAt)
    if (read.status !== 200) measured.failed += 1
  }
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) {
    const one = visit()
      .catch(() => {
        measured.failed += 1
      })
      .finally(() => pending.delete(one))
    pending.add(one)
    await sleep(1000 / CALLS_PER_SECOND)
  }
  await Promise.all(pending)
  return measured
}

/** An order of the hostile company that is paid, so that it can be refunded. */
async function makePaid(facts: Facts, hostile: Headers): Promise<string> {
  const { baseUrl, providersUrl } = facts
  const { data } = await call<{ code: string }>(`${baseUrl}${ORDERS}/request`, hostile, SALE)
  const accepted = await call<{ providerReference: string }>(`${baseUrl}${ORDERS}/accept/${data.code}`, hostile, {
    paymentChannel: 'binance',
  })
  await call(`${providersUrl}/payments/${accepted.data.providerReference}/pay`, {}, {})
  for (let tries = 0; tries < 100; tries += 1) {
    const { data: order } = await call<{ status: string }>(`${baseUrl}${ORDERS}/status/${data.code}`, hostile)
    if (order.status === 'PAID') return data.code
    await sleep(100)
  }
  throw new Error('the order was not paid')
}

/** Everything at once that a company with a key, a password and a browser can do. */
function attack(facts: Facts, hostile: Headers, code: string): { stop(): Promise<Record<string, number>> } {
  const { baseUrl, manager } = facts
  const done: Record<string, number> = {}
  let stopped = false
  const abort = new AbortController()
  const repeat = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    while (!stopped) {
      await work().catch(() => sleep(5))
      done[name] = (done[name] ?? 0) + 1
    }
  }
  const workers = (count: number, name: string, work: () => Promise<unknown>): Promise<void>[] =>
    Array.from({ length: count }, () => repeat(name, work))
  const stream = async (): Promise<void> => {
    const answer = await fetch(`${baseUrl}/pay/events?code=${code}`, { signal: abort.signal })
    for await (const _chunk of answer.body ?? []) if (stopped) return
  }
  const sockets: Socket[] = Array.from({ length: 100 }, () => {
    const { hostname, port } = new URL(baseUrl)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write('POST /api/next/auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\n\r\n')
    return socket
  })
  const drip = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('x')
  }, 1000)
  const login = { ...manager, origin: 'dashboard' }
  const running = [
    ...workers(30, 'reverts', () => call(`${baseUrl}${ORDERS}/revert/${code}`, hostile, { amount: '0.000001' })),
    ...workers(10, 'lists', () => call(`${baseUrl}${ORDERS}?limit=100&search=5`, hostile)),
    ...workers(4, 'exports', () => call(`${baseUrl}${ORDERS}/download?format=csv`, hostile)),
    ...workers(20, 'logins', () => call(`${baseUrl}/api/next/auth/login/manager`, {}, login)),
    ...workers(50, 'streams', stream),
  ]
  return {
    async stop() {
      stopped = true
      clearInterval(drip)
      abort.abort()
      for (const socket of sockets) socket.destroy()
      await Promise.all(running)
      return done
    },
  }
}

function print(name: string, { create, read, failed }: Measured): void {
  const show = (times: number[]): string =>
    `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`
  console.log(
    `${name.padEnd(10)} create ${show(create)}   read ${show(read)}   ${create.length} orders, ${failed} failed`,
  )
}

export async function run(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  const { child, facts } = await startService(dataDir)
  try {
    const hostile = { 'x-api-key': facts.apiKey, 'x-api-secret': facts.apiSecret }
    const neighbour = await registerNeighbour(facts)
    const code = await makePaid(facts, hostile)
    await measure(facts, neighbour, WARM_UP_SECONDS)
    const quiet = await measure(facts, neighbour, SECONDS)
    print('quiet', quiet)
    const hostility = attack(facts, hostile, code)
    await sleep(1000)
    const beside = await measure(facts, neighbour, SECONDS)
    const done = await hostility.stop()
    print('beside', beside)
    console.log(
      `the hostile company: ${Object.entries(done)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')}`,
    )
    const times = (kind: 'create' | 'read'): string =>
      (quantile(beside[kind], 0.99) / quantile(quiet[kind], 0.99)).toFixed(1)
    console.log(`p99 beside / quiet: create ${times('create')}, read ${times('read')} (goal: at most 3)`)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
    rmSync(dataDir, { recursive: true, force: true })
  }
}
