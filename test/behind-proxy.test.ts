import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { loadConfig } from '../src/config/config.ts'
import { PROOF_BODY_BYTES } from '../src/refunds/proof/proof-file.ts'
import { freePort } from './harness/free-port.ts'
import { callService, eventually, startTestService, type TestService } from './harness/service.ts'

/* Behind a proxy: the site that deploy/ has for nginx, in a real one where it is installed. */

const SITE = join(import.meta.dirname, '../deploy/nginx.conf')
const PROGRAM = '/usr/sbin/nginx'
const isInstalled = existsSync(PROGRAM)
if (!isInstalled) console.log('left out, not installed: nginx (apt-get install nginx-light)')

let host: TestService
before(async () => {
  host = await startTestService({ env: { TRUST_PROXY: '127.0.0.1', LIMIT_PUBLIC_PER_MINUTE: '2' } })
})
after(() => host?.stop())

/** The site as it stands, with this machine's ports, and folders that belong to the test. */
async function startNginx() {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-nginx-'))
  mkdirSync(join(folder, 'temp'))
  const port = await freePort()
  const site = readFileSync(SITE, 'utf8')
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace('listen [::]:80;', '')
    .replace('127.0.0.1:3000', new URL(host.baseUrl).host)
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, 'temp', name)};`,
  )
  const file = join(folder, 'nginx.conf')
  // its workers write into the test's folder
  const account = process.getuid?.() === 0 ? 'user root;' : ''
  const start = `${account} daemon off; error_log stderr; pid ${join(folder, 'pid')}; events {}`
  writeFileSync(file, `${start}\nhttp {\naccess_log off;\n${temp.join('\n')}\n${site}\n}\n`)
  const child = spawn(PROGRAM, ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => {
    words += chunk.toString()
  })
  const url = `http://127.0.0.1:${port}`
  await eventually(
    async () => (await fetch(`${url}/livez`).catch(() => undefined))?.status ?? words,
    (answer) => typeof answer === 'number',
  )
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await once(child, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
  return { url, stop }
}

test('the site for nginx leads to where the service listens, and lets the largest body through', () => {
  const site = readFileSync(SITE, 'utf8')
  const [, megabytes] = /client_max_body_size (\d+)m;/.exec(site) ?? []
  assert.ok(Number(megabytes) * 2 ** 20 >= PROOF_BODY_BYTES)
  const { host: address, port } = loadConfig({})
  assert.ok(site.includes(`server ${address}:${port};`))
})

test('a proxy that TRUST_PROXY does not name is told of in the log, once, and what to do', async () => {
  const other = await startTestService({ connectionString: host.connectionString })
  try {
    const forwarded = { 'x-forwarded-for': '203.0.113.7' }
    for (const { call } of [host, other, other]) await call('GET', 'status/nope', { headers: forwarded })
    // a check of the machine's own, through its proxy
    await host.call('GET', '/healthz', { headers: { 'x-forwarded-for': '127.0.0.1' } })
    const told = (service: TestService) => service.logLines.filter((line) => line.includes('TRUST_PROXY'))
    assert.equal(told(host).length, 0, 'it is named there')
    assert.equal(told(other).length, 1)
    assert.match(told(other).join(), /Set TRUST_PROXY=127\.0\.0\.1: without it the limits count all visitors as one/)
  } finally {
    await other.stop()
  }
})

if (isInstalled)
  test('behind nginx, as deploy/nginx.conf has it, streams arrive at once, a proof fits, and a visitor cannot choose its address', async () => {
    const { url, stop } = await startNginx()
    try {
      const shop = await host.createMerchant()
      const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
      const made = await callService<{ code: string }>(url, 'POST', 'request', { as: shop, body })
      const { code } = made.data
      const stream = await fetch(`${url}/pay/events?code=${code}`, { signal: AbortSignal.timeout(20_000) })
      assert.match(stream.headers.get('content-type') ?? '', /event-stream/)
      let seen = ''
      const reading = (async () => {
        for await (const chunk of stream.body ?? []) {
          seen += Buffer.from(chunk).toString()
          if (seen.includes('data-state="cancelled"')) return
        }
      })()
      await callService(url, 'POST', `cancel/${code}`, { as: shop })
      await reading
      assert.match(seen, /data-state="cancelled"/)
      const proof = { file: 'A'.repeat(1_300_000) }
      const sent = await callService(url, 'POST', '/api/next/refunds/nope/proof', { as: shop, body: proof })
      assert.notEqual(sent.status, 413, sent.text.slice(0, 200))
      assert.ok(sent.error?.code, sent.text.slice(0, 300))
      const asked: number[] = []
      for (const address of ['6.6.6.1', '6.6.6.2', '6.6.6.3']) {
        const headers = { 'x-forwarded-for': address }
        asked.push((await callService(url, 'GET', `status/${code}`, { headers })).status)
      }
      assert.deepEqual(asked, [200, 200, 429], 'one visitor, whatever it writes')
    } finally {
      await stop()
    }
  })
