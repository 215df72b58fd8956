import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientRequest, createServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { build } from 'vite'
import { PAY_STYLE } from '../src/pages/shared/page-style.ts'
import { PHONE, startBrowser } from '../test/harness/browser.ts'
import { type Facts, quantile, startService } from './service.ts'

/*
 * What a payer waits for: the weight of the pay page, its first paint on a slow phone compared with a React build of
 * the same page, and how soon 2 000 open pages of one order learn that it changed. Run: npm run bench -- pages
 */

const ROUNDS = 5
const LISTENERS = 2000
/** Streams of one order that a single address may open (docs/security.md). */
const OF_ONE_ADDRESS = 20
const SLOW = { latency: 150, downloadThroughput: 200_000, uploadThroughput: 94_000, offline: false }
const CPU_SLOWER = 4

type Accepted = { toAddress: string; tokenAmount: string; paymentUri: string }
type Order = Accepted & { code: string }

async function call<Data>({ baseUrl, apiKey, apiSecret }: Facts, path: string, body: unknown): Promise<Data> {
  const answer = await fetch(`${baseUrl}/api/next/confirm_conversion/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey, 'x-api-secret': apiSecret },
    body: JSON.stringify(body),
  })
  const { data } = (await answer.json()) as { data: Data }
  return data
}

async function createAccepted(facts: Facts): Promise<Order> {
  const order = { amount: '54.00', fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
  const { code } = await call<{ code: string }>(facts, 'request', order)
  const chosen = await call<Accepted>(facts, `accept/${code}`, { paymentChannel: 'crypto' })
  return { code, ...chosen }
}

/* ---- the opponent ---- */

const compress = promisify(brotliCompress)
const TYPES: Record<string, string> = {
  ...{ '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' },
}

/** The React page, built for production and served compressed. */
async function serveReact(order: Order): Promise<{ url: string; bytes: number; stop(): void }> {
  const outDir = mkdtempSync(join(tmpdir(), 'comptoir-react-'))
  const publicDir = join(outDir, 'public')
  mkdirSync(publicDir)
  writeFileSync(join(publicDir, 'page.css'), PAY_STYLE)
  const { toAddress, tokenAmount, paymentUri } = order
  const shown = { toAddress, tokenAmount, paymentUri, merchant: 'Shop', fromAsset: 'EUR', fromAmount: '54.00' }
  writeFileSync(join(publicDir, 'order.json'), JSON.stringify({ ...shown, until: Date.now() + 15 * 60_000 }))
  const dist = join(outDir, 'dist')
  await build({
    ...{ configFile: false, logLevel: 'error', root: join(import.meta.dirname, 'pay-page-react'), publicDir },
    build: { outDir: dist, emptyOutDir: true, modulePreload: { polyfill: false } },
  })
  let bytes = 0
  const server = createServer(async (request, response) => {
    const path = request.url === '/' ? '/index.html' : (request.url ?? '/').split('?')[0]
    try {
      const body = await compress(readFileSync(join(dist, path ?? '')))
      bytes += body.length
      response.writeHead(200, { 'content-type': TYPES[extname(path ?? '')] ?? '', 'content-encoding': 'br' }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const url = `http://127.0.0.1:${port}/`
  const script = /src="([^"]+\.js)"/.exec(await (await fetch(url)).text())?.[1] ?? ''
  for (const path of ['/page.css', '/order.json', script]) await (await fetch(new URL(path, url))).arrayBuffer()
  return {
    url,
    bytes,
    stop() {
      server.close()
      server.closeAllConnections()
      rmSync(outDir, { recursive: true, force: true })
    },
  }
}

/* ---- figures ---- */

async function weigh(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { 'accept-encoding': 'br' } }, (answer) => {
      let sum = 0
      answer.on('data', (chunk: Buffer) => {
        sum += chunk.length
      })
      answer.on('end', () => resolve(sum))
    }).on('error', reject)
  })
}

/** Milliseconds until first paint, and until the QR code can be scanned. */
async function paint(browser: Browser, url: string, code: string): Promise<{ first: number; scannable: number }> {
  const context = await browser.newContext(PHONE)
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', SLOW)
  await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWER })
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator(code).waitFor({ state: 'visible' })
  const scannable = (await page.evaluate('performance.now()')) as number
  const first = (await page.evaluate(
    `new Promise((done) => new PerformanceObserver((list) => {
      const entry = list.getEntries().find(({ name }) => name === 'first-contentful-paint')
      if (entry) done(entry.startTime)
    }).observe({ type: 'paint', buffered: true }))`,
  )) as number
  await context.close()
  return { first, scannable }
}

const show = (list: readonly number[]): string => `${Math.round(quantile(list, 0.5))} ms`

async function measurePaint(facts: Facts): Promise<void> {
  const order = await createAccepted(facts)
  const react = await serveReact(order)
  const browser = await startBrowser()
  const ours = `${facts.baseUrl}/pay?code=${order.code}`
  const times = { ours: [] as number[], react: [] as number[], oursCode: [] as number[], reactCode: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    const one = await paint(browser, ours, '.frame.link svg')
    const other = await paint(browser, react.url, '#qr svg')
    times.ours.push(one.first)
    times.oursCode.push(one.scannable)
    times.react.push(other.first)
    times.reactCode.push(other.scannable)
  }
  const bytes = []
  for (const lang of ['en', 'fr', 'de', 'es', 'it']) bytes.push(await weigh(`${ours}&lang=${lang}`))
  console.log(
    `weight, brotli: ${Math.min(...bytes)} to ${Math.max(...bytes)} bytes in five languages; React ${react.bytes}`,
  )
  console.log(`first contentful paint at a slow phone: ${show(times.ours)}; React ${show(times.react)}`)
  console.log(`the code can be scanned after: ${show(times.oursCode)}; React ${show(times.reactCode)}`)
  await browser.close()
  react.stop()
}

type Listener = { request: ClientRequest; ended: Promise<number> }

/** One open page. `ended` resolves with the time at which it reads that the order is cancelled. */
function listen(url: string, address: string): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers: { 'x-forwarded-for': address } }, (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`a stream answered ${answer.statusCode}`))
      let text = ''
      let tell: (at: number) => void = () => {}
      const ended = new Promise<number>((done) => {
        tell = done
      })
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        const before = text.length
        text += chunk
        if (before < 100 && text.includes('event: state')) resolve({ request, ended })
        if (text.includes('This order was cancelled')) tell(performance.now())
      })
    })
    request.on('error', reject)
  })
}

async function measureListeners(facts: Facts): Promise<void> {
  const { code } = await createAccepted(facts)
  const url = `${facts.baseUrl}/pay/events?code=${code}&lang=en`
  const addressOf = (index: number): string => `198.51.${Math.floor(index / 250)}.${index % 250}`
  const startedAt = performance.now()
  const listeners: Listener[] = []
  for (let from = 0; from < LISTENERS; from += 200) {
    const some = Array.from({ length: 200 }, (_, nth) =>
      listen(url, addressOf(Math.floor((from + nth) / OF_ONE_ADDRESS))),
    )
    listeners.push(...(await Promise.all(some)))
  }
  const openedMs = performance.now() - startedAt
  const capped = await listen(url, addressOf(0)).then(
    () => 'was let in',
    (error: Error) => error.message,
  )
  const changedAt = performance.now()
  await call(facts, `cancel/${code}`, {})
  const ends = await Promise.all(listeners.map(({ ended }) => ended))
  for (const { request } of listeners) request.destroy()
  console.log(`${LISTENERS} open pages of one order: opened in ${Math.round(openedMs)} ms`)
  console.log(
    `all of them updated ${Math.round(Math.max(...ends) - changedAt)} ms after the change was sent (asked 750)`,
  )
  console.log(`the ${OF_ONE_ADDRESS + 1}st of one address: ${capped}`)
}

export async function run(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'comptoir-bench-'))
  const service = await startService(dataDir, { env: { TRUST_PROXY: '127.0.0.1', LIMIT_PAGE_PER_MINUTE: '0' } })
  try {
    await measurePaint(service.facts)
    await measureListeners(service.facts)
  } finally {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  await (await import('./till.ts')).run()
}
