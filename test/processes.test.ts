import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimOf } from '../src/checks/installation-checks.ts'
import { readInstallation } from '../src/db/installation.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder } from './harness/installation.ts'
import { startNoProviders } from './harness/no-providers.ts'
import { programFile } from './harness/programs.ts'
import { type Served, startServed } from './harness/served.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv } from './harness/shop.ts'

const place = newFolder()
let chain: TestChain
let providers: Awaited<ReturnType<typeof startNoProviders>>
let database: TestDatabase
let served: Served
let port: number
let env: Record<string, string>

/** As the systemd unit names it: what the environment itself sets would win, and never changes. */
const settings = join(place.path, 'env')
const setToken = (token: string, more = ''): void => writeFileSync(settings, `METRICS_TOKEN=${token}\n${more}`)

before(async () => {
  ;[database, chain, port, providers] = await Promise.all([
    createTestDatabase(),
    startTestChain(),
    freePort(),
    startNoProviders(),
  ])
  setToken('first-token')
  env = {
    ...{ ...chainEnv(chain), DATABASE_URL: database.connectionString, PORT: String(port), PROCESSES: '3' },
    ...{ BASE_URL: `http://127.0.0.1:${port}`, MASTER_KEY: TEST_MASTER_KEY.toString('base64'), LOG_LEVEL: 'info' },
    ...{ LIMIT_PUBLIC_PER_MINUTE: '0', COMPTOIR_ENV_FILE: settings, DATA_DIR: join(place.path, 'data') },
    // its children are its processes alone
    SANDBOX_PROVIDERS_URL: providers.url,
  }
  served = startServed(env)
})
after(async () => {
  await served?.end('SIGTERM')
  await Promise.all([chain?.stop(), providers?.stop()])
  await database?.drop()
  place.remove()
})

/** A connection of its own, which is lost when it has no answer in 20 s. @returns the status, or the error’s code */
const ask = (path: string, headers: Record<string, string> = {}): Promise<{ outcome: string; text: string }> =>
  new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path, headers, agent: false, timeout: 20_000 }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => {
        text += chunk
      })
      answer.on('end', () => resolve({ outcome: String(answer.statusCode), text }))
      answer.on('error', (error: NodeJS.ErrnoException) => resolve({ outcome: error.code ?? 'error', text }))
    })
    call.on('timeout', () => call.destroy(Object.assign(new Error('no answer'), { code: 'TIMEOUT' })))
    call.on('error', (error: NodeJS.ErrnoException) => resolve({ outcome: error.code ?? 'error', text: '' }))
    call.end()
  })

/** Of four callers: 200 calls a second; more would only take the CPU from the processes that start. */
const CALL_GAP_MS = 20

/** Callers that come all the time, while `work` goes on. @returns how often each outcome was seen */
async function underLoad(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  let going = true
  const callers = Array.from({ length: 4 }, async () => {
    while (going) {
      const { outcome } = await ask('/api/next/confirm_conversion/exchangeInfo?fromAsset=EUR&toAsset=USDC')
      seen[outcome] = (seen[outcome] ?? 0) + 1
      await sleep(CALL_GAP_MS)
    }
  })
  await work()
  going = false
  await Promise.all(callers)
  return seen
}

const metrics = (token: string) => ask('/metrics', { authorization: `Bearer ${token}` })

const childrenOf = (pid: number | undefined): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

const isChild = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(programFile('child'))
const countListening = (): number => served.words().match(/Server listening/g)?.length ?? 0

test('while it starts, SIGHUP changes nothing, and a process that dies after it was ready is replaced', async () => {
  const [first = 0, , worker = 0] = await eventually(
    async () => childrenOf(served.child.pid),
    // one that is stopped before it is a program of its own stops its parent, too
    (pids) => pids.length === 3 && pids.every(isChild),
    60_000,
  )
  process.kill(worker, 'SIGSTOP')
  try {
    served.child.kill('SIGHUP')
    await eventually(
      async () => countListening(),
      (count) => count === 2,
      60_000,
    )
    for (let turn = 0; turn < 5; turn += 1) assert.equal((await ask('/readyz')).outcome, '200')
    process.kill(first, 'SIGKILL')
    await eventually(
      async () => childrenOf(served.child.pid),
      (pids) => !pids.includes(first),
    )
  } finally {
    process.kill(worker, 'SIGCONT')
  }
  await served.ready()
  assert.match(served.words(), /SIGHUP: still starting; nothing was changed/)
  await eventually(
    async () => (await metrics('first-token')).text,
    (text) => ['api-1', 'api-2', 'worker-1'].every((name) => text.includes(`process="${name}"`)),
    30_000,
  )
})

test('/metrics of any process shows all of them, each series with its process', async () => {
  const { outcome, text } = await metrics('first-token')
  assert.equal(outcome, '200')
  for (const name of ['api-1', 'api-2', 'worker-1'])
    assert.match(text, new RegExp(`comptoir_db_pool_waiting\\{process="${name}"\\} \\d+`))
  assert.equal(text.split('# TYPE comptoir_db_pool_waiting gauge').length, 2)
})

test('a process that is killed is replaced, and meanwhile no connection is refused or left hanging', async () => {
  const before_ = childrenOf(served.child.pid)
  assert.equal(before_.length, 3)
  const seen = await underLoad(async () => {
    await sleep(200)
    process.kill(before_[0] ?? 0, 'SIGKILL')
    await eventually(
      async () => (await metrics('first-token')).text,
      (text) => ['api-1', 'api-2', 'worker-1'].every((name) => text.includes(`process="${name}"`)),
      30_000,
    )
  })
  const { ECONNREFUSED: refused = 0, TIMEOUT: hanging = 0, 200: good = 0 } = seen
  assert.deepEqual([refused, hanging], [0, 0], JSON.stringify(seen))
  assert.ok(good > 50, JSON.stringify(seen))
  assert.match(served.words(), /ended \(SIGKILL\) and is started again/)
  assert.equal(childrenOf(served.child.pid).filter((pid) => before_.includes(pid)).length, 2)
})

test('SIGHUP takes new settings into new processes; every request in that time is answered', async () => {
  const before_ = childrenOf(served.child.pid)
  setToken('second-token')
  const seen = await underLoad(async () => {
    served.child.kill('SIGHUP')
    await eventually(
      async () => served.words(),
      (words) => words.includes('SIGHUP: reloaded'),
      40_000,
    )
  })
  assert.deepEqual(Object.keys(seen), ['200'], JSON.stringify(seen))
  assert.deepEqual([(await metrics('first-token')).outcome, (await metrics('second-token')).outcome], ['401', '200'])
  assert.deepEqual(
    childrenOf(served.child.pid).filter((pid) => before_.includes(pid)),
    [],
  )
})

test('SIGHUP with settings that do not hold changes nothing and says why', async () => {
  const before_ = childrenOf(served.child.pid)
  setToken('third-token', 'RATE_MIN_SOURCES=many\n')
  served.child.kill('SIGHUP')
  await eventually(
    async () => served.words(),
    (words) => words.includes('RATE_MIN_SOURCES: must be a whole number'),
  )
  rmSync(settings)
  served.child.kill('SIGHUP')
  await eventually(
    async () => served.words(),
    (words) => words.includes(`${settings} does not exist`),
  )
  assert.equal(served.words().match(/SIGHUP: nothing was changed/g)?.length, 2)
  assert.deepEqual(childrenOf(served.child.pid), before_)
  assert.equal((await metrics('second-token')).outcome, '200')
})

test('SIGTERM ends all processes, with exit code 0', async () => {
  const children = childrenOf(served.child.pid)
  const ended = once(served.child, 'exit')
  served.child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

test('a reload does not move the service, and hears a second signal; what needs a restart is named in the log', async () => {
  const [before_, after_, own] = [await freePort(), await freePort(), join(place.path, 'moving-env')]
  const write = (on: number, token: string): void => writeFileSync(own, `PORT=${on}\nMETRICS_TOKEN=${token}\n`)
  write(before_, 'one')
  const { PORT: _, BASE_URL: __, ...rest } = env
  const other = startServed({ ...rest, PROCESSES: '2', COMPTOIR_ENV_FILE: own })
  const scrape = async (token: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${before_}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status
  const said = (words: string) =>
    eventually(
      async () => other.words(),
      (text) => text.includes(words),
      40_000,
    )
  try {
    await other.ready()
    write(after_, 'two')
    other.child.kill('SIGHUP')
    await said('PORT needs a restart.')
    assert.deepEqual([await scrape('one'), await scrape('two')], [200, 401])
    write(before_, 'two')
    other.child.kill('SIGHUP')
    await said('SIGHUP: starting new processes')
    write(before_, 'three')
    other.child.kill('SIGHUP')
    await eventually(
      () => scrape('three'),
      (status) => status === 200,
      40_000,
    )
    const lines = other.words().split('\n')
    const levels = lines.filter((line) => line.includes('SIGHUP')).map((line) => JSON.parse(line).level)
    assert.deepEqual(levels, [50, 30, 30, 30, 30, 30].slice(0, levels.length))
    assert.ok(levels.length >= 5)
  } finally {
    await other.end('SIGTERM')
  }
})

test('a reload takes a new master key and a new token of METRICS_PORT: the old token ends, and the old key may go', async () => {
  const [next, metricsPort] = [randomBytes(32), await freePort()]
  const own = join(place.path, 'own-env')
  const write = (token: string, keys: Record<string, Buffer>): void => {
    const lines = Object.entries(keys).map(([name, key]) => `${name}=${key.toString('base64')}\n`)
    writeFileSync(own, `METRICS_TOKEN=${token}\n${lines.join('')}`)
  }
  write('leaked', { MASTER_KEY: TEST_MASTER_KEY })
  const { MASTER_KEY: _, ...rest } = env
  const other = startServed({
    ...{ ...rest, PROCESSES: '2', METRICS_PORT: String(metricsPort), HOST: '0.0.0.0', COMPTOIR_ENV_FILE: own },
  })
  const scrape = async (token: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${metricsPort}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status
  try {
    await other.ready()
    assert.deepEqual([await scrape('leaked'), await scrape('fresh')], [200, 401])
    // where others reach the port, it does not open to all
    write('', { MASTER_KEY: TEST_MASTER_KEY })
    other.child.kill('SIGHUP')
    await eventually(
      async () => other.words(),
      (words) => words.includes('The address of METRICS_PORT, which follows from METRICS_TOKEN, needs a restart.'),
      40_000,
    )
    assert.deepEqual([await scrape('leaked'), await scrape('')], [200, 401])
    write('fresh', { MASTER_KEY: next, MASTER_KEY_PREVIOUS: TEST_MASTER_KEY })
    other.child.kill('SIGHUP')
    await eventually(
      async () => other.words(),
      (words) => words.includes('SIGHUP: reloaded'),
      40_000,
    )
    assert.deepEqual([await scrape('leaked'), await scrape('fresh')], [401, 200])
    const { keyMark } = claimOf({ mode: 'sandbox', previousMasterKeys: [], dataDir: '', databaseUrl: null }, next)
    assert.equal((await readInstallation(database.connectionString))?.keyMark, keyMark)
  } finally {
    await other.end('SIGTERM')
  }
})
