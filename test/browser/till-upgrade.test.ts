import assert from 'node:assert/strict'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { visit } from '../harness/browser.ts'
import { openTillWorld, type TillWorld } from '../harness/till-world.ts'

/* A till whose service changes its version while its browser keeps the files of the one before. */

let world: TillWorld
before(async () => {
  world = await openTillWorld()
})
after(() => world?.stop())

/** The worker of the releases whose addresses carried no version, with their list of files made short. */
const EARLIER_WORKER = `
const CACHE = 'till-earlier'
const FILES = ['/till', '/till/app.js', '/till/api.js', '/till/till.css']
self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()))
})
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))
async function answer(request, path) {
  const cache = await caches.open(CACHE)
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(3000) })
    if (response.ok) await cache.put(path, response.clone())
    return response
  } catch {
    return (await cache.match(path)) ?? Response.error()
  }
}
self.addEventListener('fetch', (event) => {
  const { pathname } = new URL(event.request.url)
  if (FILES.includes(pathname)) event.respondWith(answer(event.request, pathname))
})`

/** The worker's scope is larger than its own folder. */
const ALLOWED = { 'service-worker-allowed': '/till' }

type Answers = Readonly<Record<string, { type: string; text: string; slowMs?: number; status?: number }>>
const EARLIER: Answers = {
  '/till': {
    type: 'text/html',
    text: '<!doctype html><link rel="stylesheet" href="/till/till.css"><script type="module" src="/till/app.js"></script>',
  },
  '/till/app.js': {
    type: 'text/javascript',
    text: `import { name } from './api.js'
      document.body.dataset.screen = name
      void navigator.serviceWorker.register('/till/sw.js', { scope: '/till' })`,
  },
  '/till/api.js': { type: 'text/javascript', text: "export const name = 'earlier'" },
  '/till/till.css': { type: 'text/css', text: '' },
  '/till/sw.js': { type: 'text/javascript', text: EARLIER_WORKER },
}

type Line = {
  url: string
  /** What is answered in the service's place. */
  instead: Answers
  /** How long a path takes; null: it has no such file, as a node of another version. */
  delayOf: (path: string) => number | null
  server: Server
}

/** The way to the service, on which this test can put a delay or another version. */
async function openLine(): Promise<Line> {
  const target = new URL(world.shop.host.baseUrl)
  const server = createServer(async (asked, answer) => {
    const { url: path = '', method, headers } = asked
    const instead = line.instead[path]
    if (instead) {
      const { type, text, slowMs = 0, status = 200 } = instead
      answer.writeHead(status, { ...ALLOWED, 'content-type': type }).write(text.slice(0, 100))
      await sleep(slowMs)
      return answer.end(text.slice(100))
    }
    const delayMs = line.delayOf(path)
    if (delayMs === null) return answer.writeHead(404).end()
    await sleep(delayMs)
    const sent = request({ host: target.hostname, port: target.port, path, method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers)
      got.pipe(answer)
    })
    sent.on('error', () => answer.destroy())
    // else the service has a request that nobody waits for, and does not end
    answer.on('close', () => sent.destroy())
    asked.pipe(sent)
  })
  const line: Line = { url: '', instead: {}, delayOf: () => 0, server }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  line.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/till`
  return line
}

const close = ({ server }: Line): void => {
  server.closeAllConnections()
  server.close()
}

for (const [late, delayMs] of [
  ['a script', (path: string) => (path.endsWith('api.js') ? 4000 : 0)],
  ['the page', (path: string) => (path === '/till' ? 4000 : 0)],
] as const)
  test(`a till of the release before opens after the upgrade, also when ${late} comes late`, async () => {
    const line = await openLine()
    line.instead = EARLIER
    const { page, context } = await visit(world.browser, line.url, { serviceWorkers: 'allow' })
    await page.evaluate('navigator.serviceWorker.ready')
    await page.reload()
    await page.locator('body[data-screen=earlier]').waitFor({ state: 'attached' })
    line.instead = {}
    line.delayOf = delayMs
    await page.reload()
    await page.locator('#enrol').waitFor({ timeout: 30_000 })
    await context.close()
    close(line)
  })

test('without a connection the kept page runs with the scripts of its own version', async () => {
  const line = await openLine()
  const { page, context } = await visit(world.browser, line.url, { serviceWorkers: 'allow' })
  await page.locator('#enrol').waitFor()
  await page.evaluate('navigator.serviceWorker.ready')
  // the next version's page is shown, but its scripts are not there yet: it is not kept in the place of this one
  const html = await (await fetch(line.url)).text()
  const version = /\/till\/([0-9a-f]{16})\/app\.js/.exec(html)?.[1] ?? ''
  assert.match(version, /^[0-9a-f]{16}$/)
  const next = html.replaceAll(version, 'fedcba9876543210')
  line.instead = { '/till': { type: 'text/html', text: next } }
  const answered = page.waitForResponse(`**/fedcba9876543210/app.js`)
  await page.reload()
  assert.equal((await answered).status(), 404)
  close(line)
  await page.reload()
  // its script says so
  await page.locator('#lost').waitFor()
  await context.close()
})

test('a page that begins in time and comes slowly, never comes whole, or that the service has not now', async () => {
  const line = await openLine()
  const { page, context } = await visit(world.browser, line.url, { serviceWorkers: 'allow' })
  await page.locator('#enrol').waitFor()
  await page.evaluate('navigator.serviceWorker.ready')
  await page.reload()
  const html = await (await fetch(line.url)).text()
  line.instead = { '/till': { type: 'text/html', text: html.replace('<main>', '<main>slowly'), slowMs: 4000 } }
  await page.reload()
  await page.getByText('slowly').waitFor()
  await page.locator('#enrol').waitFor()
  line.instead = { '/till': { type: 'text/html', text: 'Bad gateway', status: 502 } }
  await page.reload()
  await page.locator('#enrol').waitFor()
  // the connection dies after the first bytes
  line.instead = { '/till': { type: 'text/html', text: html.replace('<main>', '<main>half'), slowMs: 60_000 } }
  await page.reload()
  await page.locator('#enrol').waitFor()
  assert.equal(await page.getByText('half').count(), 0)
  await context.close()
  close(line)
})

test('a page whose scripts another node does not have yet loads again by itself', async () => {
  const line = await openLine()
  let refused = 0
  line.delayOf = (path) => {
    if (!path.endsWith('/app.js') || refused > 0) return 0
    refused += 1
    return null
  }
  const { page, context } = await visit(world.browser, line.url)
  await page.locator('#enrol').waitFor()
  assert.equal(refused, 1)
  await context.close()
  close(line)
})

test('a file is there under its own version alone, and for good; the page names the version', async () => {
  const { baseUrl } = world.shop.host
  for (const path of ['/till', '/till/display']) {
    const html = await (await fetch(baseUrl + path)).text()
    const addresses = [...html.matchAll(/(?:src|href)="(\/till\/[0-9a-f]{16}\/[\w.]+)"/g)].map(([, one]) => one ?? '')
    assert.equal(addresses.length, 2)
    for (const address of addresses) {
      const answer = await fetch(baseUrl + address)
      assert.equal(answer.status, 200)
      assert.match(answer.headers.get('cache-control') ?? '', /immutable/)
      const other = await fetch(baseUrl + address.replace(/[0-9a-f]{16}/, 'fedcba9876543210'))
      assert.equal(other.status, 404)
      assert.doesNotMatch(other.headers.get('cache-control') ?? '', /immutable/)
    }
  }
})
