import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Browser, Page } from 'playwright-core'
import { startTestServer } from '../scripts/test/server.ts'

/** Orders of the one company; `BENCH_OFFICE_ORDERS` changes it. */
const ORDERS = Number(process.env.BENCH_OFFICE_ORDERS ?? 100_000)
const CALLS = 30
const LOADS = 5

/** A slow laptop on a slow line: a quarter of this machine's speed, 40 ms latency, 10 Mbit/s. */
const SLOW_CPU = 4
const LATENCY_MS = 40
const BYTES_PER_SECOND = 10_000_000 / 8

const FILL = `
  insert into orders (company_id, id, code, short_code, status, alias, from_asset, from_units, to_asset, to_units, rate,
    quote_id, payment_channel, merchant_identifier, created_at, updated_at, expires_at, paid_at, paid_units)
  select $1, lpad(to_hex(1735689600000 + n * 20), 12, '0') || lpad(to_hex(n), 12, '0'), md5('code' || n),
    upper(substr(md5('short' || n), 1, 8)) || n, case when n % 5 < 3 then 'PAID' else 'EXPIRED' end, 'INV-' || n, 'EUR',
    100 + n % 900000, 'USDC', (100 + n % 900000)::numeric * 10800, 1.08, 'q',
    case when n % 5 < 3 then case when n % 2 = 0 then 'crypto' else 'binance' end end, 'TILL-' || n % 40, at, at,
    at + interval '5 min', case when n % 5 < 3 then at + interval '90 s' end,
    case when n % 5 < 3 then (100 + n % 900000)::numeric * 10800 else 0 end
  from generate_series(1, $2::integer) n, lateral (select now() - n * interval '20 s' as at) as times`

async function fill(databaseUrl: string, companyId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('set session_replication_role = replica')
  await client.query(FILL, [companyId, ORDERS])
  await client.query('analyze')
  await client.end()
}

const at = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
const p95 = (times: readonly number[]): number =>
  at(
    [...times].sort((a, b) => a - b),
    0.95,
  )
const median = (times: readonly number[]): number =>
  at(
    [...times].sort((a, b) => a - b),
    0.5,
  )
const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** The requests of the order list, and the service's response times. */
async function measureList(get: (path: string) => Promise<unknown>): Promise<void> {
  const questions: [string, (n: number) => string][] = [
    ['list', () => ''],
    ['page 300', () => '&page=300'],
    ['by status', () => '&status=EXPIRED'],
    ['by channel and day', () => `&paymentChannel=crypto&from=${new Date(Date.now() - 86_400_000).toISOString()}`],
    ['search a reference', (n) => `&search=INV-${n * 997}`],
    ['search an amount', (n) => `&search=${(n * 3 + 100) / 100}`],
    ['largest first', () => '&sort=-fromAmount'],
  ]
  for (const [name, pathOf] of questions) {
    const times: number[] = []
    for (let n = 0; n < CALLS; n += 1) {
      const startedMs = performance.now()
      await get(`confirm_conversion?limit=25${pathOf(n)}`)
      if (n > 2) times.push(performance.now() - startedMs)
    }
    say(`${name.padEnd(20)} p95 ${String(p95(times)).padStart(4)} ms`)
  }
}

async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: LATENCY_MS },
    ...{ downloadThroughput: BYTES_PER_SECOND, uploadThroughput: BYTES_PER_SECOND },
  })
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW_CPU })
}

/** From the click on a bookmark until the page is usable; with an empty cache. */
async function measureLoad(browser: Browser, baseUrl: string): Promise<void> {
  const times: number[] = []
  for (let turn = 0; turn < LOADS; turn += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-GB' })
    const page = await context.newPage()
    await slowDown(page)
    const startedMs = performance.now()
    await page.goto(`${baseUrl}/app/login`, { waitUntil: 'commit' })
    await page.getByLabel('Email').waitFor()
    times.push(performance.now() - startedMs)
    await context.close()
  }
  say(`login usable         median ${median(times)} ms, slowest ${Math.max(...times.map(Math.round))} ms`)
}

/** With the session's cookie and cached files, as on every normal morning. */
async function measureInside(page: Page, baseUrl: string): Promise<void> {
  await slowDown(page)
  for (const [name, path] of [
    ['home', '/'],
    ['orders', '/orders'],
  ] as const) {
    const times: number[] = []
    for (let turn = 0; turn < LOADS; turn += 1) {
      const startedMs = performance.now()
      await page.goto(`${baseUrl}/app${path}`, { waitUntil: 'commit' })
      await page.locator('#content table tbody tr').filter({ visible: true }).first().waitFor()
      times.push(performance.now() - startedMs)
      await sleep(200)
    }
    say(`${`${name} usable`.padEnd(20)} median ${median(times)} ms, slowest ${Math.max(...times.map(Math.round))} ms`)
  }
}

/** Frame times while the list is scrolled from end to end and paged, on the slow machine. */
async function measureScroll(page: Page): Promise<void> {
  const frames = (await page.evaluate(`new Promise((done) => {
    const times = []
    let last = performance.now()
    let turn = 0
    const step = (now) => {
      times.push(now - last)
      last = now
      scrollBy(0, turn % 120 < 60 ? 24 : -24)
      turn += 1
      if (turn < 240) requestAnimationFrame(step)
      else done(times.slice(1))
    }
    requestAnimationFrame(step)
  })`)) as number[]
  const slow = frames.filter((ms) => ms > 50).length
  say(`scrolling            p95 ${p95(frames)} ms a frame, ${slow} of ${frames.length} frames over 50 ms`)
}

/**
 * npm run bench -- office: how soon the back office is usable on a slow laptop, and how soon a company with 100 000
 * orders sees its list.
 */
export async function run(): Promise<void> {
  const server = await startTestServer()
  Object.assign(process.env, server.env)
  const { openOffice } = await import('../test/harness/office-world.ts')
  const { startBrowser } = await import('../test/harness/browser.ts')
  const { enterOffice } = await import('../test/harness/office.ts')
  const { logIn } = await import('../test/harness/accounts.ts')
  const world = await openOffice()
  const { baseUrl, db } = world.shop.host
  const { email } = world.people.Manager
  const browser = await startBrowser()
  try {
    await measureLoad(browser, baseUrl)
    await fill(db.connectionString, world.shop.merchant.companyId)
    const manager = await logIn(baseUrl, email)
    say(`${ORDERS} orders, as the service answers:`)
    await measureList(async (path) => {
      const { status } = await manager.get(path)
      if (status !== 200) throw new Error(`${path}: HTTP ${status}`)
    })
    const { page } = await enterOffice(browser, baseUrl, { email })
    await measureInside(page, baseUrl)
    await measureScroll(page)
  } finally {
    await browser.close()
    await world.stop()
    await server.stop()
  }
}
