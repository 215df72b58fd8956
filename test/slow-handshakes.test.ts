import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import dns from 'node:dns'
import { once } from 'node:events'
import { connect, getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openProviderHttp } from '../src/channels/provider-http.ts'
import { waitForEachAddress } from '../src/kernel/process/address-attempts.ts'
import { AttemptSender } from '../src/webhooks/sender/attempt.ts'
import { createWebhookAgent } from '../src/webhooks/sender/connector.ts'

const ROOT = join(import.meta.dirname, '..')

/** The second address of the receivers here: nothing listens there, which is known at once. */
const ADDRESSES: { address: string; family: 4 | 6 }[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

const SERVER = `
const server = require('node:http').createServer((request, response) => response.end('ok'))
server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => console.log(server.address().port))`

/** A receiver that drops what comes first, so that the connection stands with TCP's second try, a second later. */
async function startSlow(t: TestContext): Promise<number> {
  const server: ChildProcess = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => server.kill('SIGKILL'))
  assert.ok(server.stdout)
  const [chunk] = (await once(server.stdout, 'data')) as [Buffer]
  const port = Number(chunk.toString())
  server.kill('SIGSTOP')
  const queue = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  t.after(() => queue.map((socket) => socket.destroy()))
  await sleep(100)
  void sleep(600).then(() => server.kill('SIGCONT'))
  return port
}

test('a receiver with two addresses, of which only the slow one is within reach, gets its webhook', async (t) => {
  const port = await startSlow(t)
  const sender = new AttemptSender(
    createWebhookAgent({ allowedRanges: ['127.0.0.0/8', '::1/128'], resolve: async () => ADDRESSES }),
  )
  const { statusCode, failure, durationMs } = await sender.send({
    url: `http://shop.example:${port}/`,
    headers: ['content-type', 'application/json'],
    body: '{}',
  })
  await sender.close()
  assert.deepEqual([statusCode, failure], [200, null])
  assert.ok(durationMs > 500, `${durationMs} ms: it was not slow`)
})

test('so does a provider', async (t) => {
  const [before, order] = [getDefaultAutoSelectFamilyAttemptTimeout(), dns.getDefaultResultOrder()]
  t.after(() => {
    setDefaultAutoSelectFamilyAttemptTimeout(before)
    dns.setDefaultResultOrder(order)
  })
  waitForEachAddress()
  const port = await startSlow(t)
  t.mock.method(
    dns,
    'lookup',
    (_name: string, _options: object, done: (error: null, addresses: typeof ADDRESSES) => void) =>
      done(null, ADDRESSES),
  )
  const { http, close } = openProviderHttp({ secrets: [] })
  t.after(close)
  const { status } = await http({ method: 'GET', url: `http://provider.example:${port}/`, headers: {} })
  assert.equal(status, 200)
})

test('every process of ours waits longer for an address than Node does, and tries IPv4 first', async () => {
  const report =
    'data:text/javascript,import net from "node:net"; import dns from "node:dns"; process.on("exit", () => ' +
    'console.error(net.getDefaultAutoSelectFamilyAttemptTimeout(), dns.getDefaultResultOrder()))'
  const cases: [string, ...string[]][] = [
    ['src/main.ts', '--version'],
    ['cli/entry.ts', 'orders', '--help'],
    ['src/commands/serve/child.ts'],
  ]
  for (const [entry, ...args] of cases) {
    const child = spawn(process.execPath, ['--import', report, join(ROOT, entry), ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    assert.ok(child.stderr)
    child.once('message', () => child.disconnect())
    assert.equal((await text(child.stderr)).trim(), '2000 ipv4first', entry)
  }
})
