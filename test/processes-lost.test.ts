import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder } from './harness/installation.ts'
import { startNoProviders } from './harness/no-providers.ts'
import { type Served, startServed } from './harness/served.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'

/* The parent of several processes outlives whatever happens to them, or keeps it from starting others. */

const place = newFolder()
let database: TestDatabase
let providers: Awaited<ReturnType<typeof startNoProviders>>
let served: Served
let port: number

before(async () => {
  ;[database, port, providers] = await Promise.all([createTestDatabase(), freePort(), startNoProviders()])
  served = startServed({
    ...{ DATABASE_URL: database.connectionString, PORT: String(port), PROCESSES: '3', DATA_DIR: place.path },
    ...{ BASE_URL: `http://127.0.0.1:${port}`, MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
    ...{ CHAIN_31337_RPC_URL: 'http://127.0.0.1:9', CHAIN_31337_USDC: `0x${'a'.repeat(40)}` },
    // its children are its processes alone
    ...{ METRICS_TOKEN: 'scrape-me-please', SANDBOX_PROVIDERS_URL: providers.url },
  })
  await served.ready()
})
after(async () => {
  await served?.end('SIGTERM')
  await providers?.stop()
  await database?.drop()
  place.remove()
})

const parentId = (): number => served.child.pid ?? 0

const listProcesses = (): number[] =>
  readFileSync(`/proc/${parentId()}/task/${parentId()}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

/** What one process knows of all, or why it was not said. */
const scrape = (): Promise<string> =>
  new Promise((resolve) => {
    const headers = { authorization: 'Bearer scrape-me-please' }
    const place = { host: '127.0.0.1', port, path: '/metrics', headers, agent: false }
    const call = request({ ...place, timeout: 10_000 }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => {
        text += chunk
      })
      answer.on('end', () => resolve(text)).on('error', (error) => resolve(error.message))
    })
    call.on('timeout', () => call.destroy()).on('error', (error) => resolve(error.message))
    call.end()
  })

/** How many more files the parent may open. */
function limitFiles(more: number): void {
  const used = readdirSync(`/proc/${parentId()}/fd`).length
  const { status } = spawnSync('prlimit', ['--pid', String(parentId()), `--nofile=${used + more}:`])
  assert.equal(status, 0, 'util-linux is installed')
}

const isThere = (): void =>
  assert.equal(served.child.exitCode, null, `the whole service is gone:\n${served.words().slice(-1500)}`)

/** Three processes, and each is ready: the next test begins with what the first had. */
async function untilWhole(): Promise<void> {
  await eventually(
    async () => listProcesses(),
    ({ length }) => length === 3,
    30_000,
  )
  await eventually(
    async () => {
      await sleep(500) // a scrape is work for each of them
      return new Set((await scrape()).match(/process="[a-z]+-\d"/g))
    },
    ({ size }) => size === 3,
    30_000,
  )
}

test('a process that dies while the parent writes to it is replaced, and the parent goes on', async () => {
  const [, , last = 0] = listProcesses()
  process.kill(parentId(), 'SIGSTOP') // a busy machine
  const scraped = scrape()
  await sleep(1500)
  process.kill(last, 'SIGKILL')
  await sleep(200)
  process.kill(parentId(), 'SIGCONT')
  await scraped
  await sleep(1000)
  isThere()
  await untilWhole()
})

test('a process that cannot be replaced now, without files to open, is tried again; the others go on', async () => {
  const [, , last = 0] = listProcesses()
  limitFiles(0)
  process.kill(last, 'SIGKILL')
  await sleep(3000)
  isThere()
  limitFiles(1000)
  await untilWhole()
})

test('a reload that cannot start new processes leaves the old ones', async () => {
  const old = listProcesses()
  limitFiles(1)
  served.child.kill('SIGHUP')
  await eventually(
    async () => served.words(),
    (words) => words.includes('the old ones go on'),
    20_000,
  )
  isThere()
  assert.deepEqual(listProcesses(), old)
})
